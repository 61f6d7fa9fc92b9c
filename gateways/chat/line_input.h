// SPDX-License-Identifier: Apache-2.0
// The line that a user types at a terminal without echo: takes the octets of the keyboard and keeps
// the line, so that output of the program can be written above it.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace s5066::chat {

class LineInput {
 public:
  struct Config {
    std::size_t octets_max = 4096;  // of a line; further characters are not taken
    std::size_t recalled_max = 100;
  };
  /// The user has entered a line.
  struct Entered {
    std::string line;
  };
  /// The user has pressed Ctrl-D in an empty line.
  struct Ended {};
  using Event = std::variant<Entered, Ended>;

  explicit LineInput(const Config& config) : config_(config) {}

  /// Takes octets of the keyboard: characters, Backspace, Ctrl-U (empties the line), Ctrl-W (takes
  /// the last word away), the arrows up and down (former lines), Enter and Ctrl-D. Other keys do
  /// nothing.
  void on_octets(std::string_view octets);
  std::optional<Event> poll_event();

  /// Returns the octets that draw the line anew behind the prompt, at most `columns` characters of
  /// its end.
  std::string drawn(std::string_view prompt, std::size_t columns) const;
  /// Returns the octets that remove what drawn() has drawn.
  static std::string_view removed() { return "\r\x1b[K"; }

 private:
  enum class State { text, escape, sequence };

  void on_octet(char octet);
  void on_sequence_end(char octet);
  void enter();
  void recall(bool older);
  void take_last_character();
  void take_last_word();

  const Config config_;
  State state_ = State::text;
  std::string line_;
  std::deque<std::string> entered_;  // the newest last
  std::size_t recalled_ = 0;         // lines back from the newest; 0: the line is a new one
  std::deque<Event> events_;
};

}  // namespace s5066::chat
