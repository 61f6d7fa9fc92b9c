// SPDX-License-Identifier: Apache-2.0
// The source rules that a program can check. Each check takes text and returns its problems.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/tidy/source_text.h"

namespace s5066::tidy {

inline constexpr std::size_t kColumnsMax = 100;

struct Problem {
  std::string path;
  std::size_t line = 0;
  std::string text;
};

/// Returns the problem as "s5066d/pdu/data.cpp:12: text".
std::string to_string(const Problem& problem);

using Problems = std::vector<Problem>;

Problems check_top_level(const std::vector<std::string>& names);
/// Every include follows the table of layers and names a file that exists.
Problems check_includes(const std::vector<SourceFile>& tree);
/// Cores know no clock, thread, randomness, socket, file or exception.
Problems check_banned_tokens(const SourceFile& file);
/// A line of C++ has at most kColumnsMax columns.
Problems check_length(const SourceFile& file);
/// No absolute paths of one machine, no notes to do something later.
Problems check_leftovers(const SourceFile& file);
/// Reports a binary file, because a change of it cannot be read.
Problems check_binary(const SourceFile& file);
/// A header opens with a comment, then `#pragma once`.
Problems check_header_opening(const SourceFile& file);
/// Reports a source whose first line, or second behind `#!`, does not name the licence.
Problems check_licence(const SourceFile& file);
/// No two headers define the same constant, because a program that includes both would use one of
/// the values for all of its code.
Problems check_constants(const std::vector<SourceFile>& tree);
/// Every folder with sources defines a target and is reached from the root.
Problems check_targets(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
