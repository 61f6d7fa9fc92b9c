// SPDX-License-Identifier: Apache-2.0
// Extracts the commands that a page shows and checks them against the programs themselves.
//
// A page shows a command in a fenced block marked `sh`, or between backticks in a sentence. The
// check skips a block marked `sh not-run`. A block without a mark must not begin a line with one of
// our programs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace s5066::live {

struct ShownCommand {
  std::size_t line = 0;
  bool in_block = false;           // false: in a sentence, where words may be placeholders
  std::vector<std::string> words;  // the program first, without the folders before it
};

struct ShownCommands {
  std::vector<ShownCommand> commands;
  std::vector<std::string> problems;  // blocks without a mark
};

ShownCommands commands_of(std::string_view page);

/// Output and exit status of a program that is called with some words.
struct Answer {
  int status = -1;
  std::string text;
};
using Ask = std::function<Answer(const std::vector<std::string>& words)>;

/// Returns the fault of a command: a subcommand, option or request that the program does not know.
/// Empty if there is none.
std::string wrong_with(const ShownCommand& command, const Ask& ask);

}  // namespace s5066::live
