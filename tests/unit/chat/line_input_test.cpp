// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/line_input.h"

#include <gtest/gtest.h>

#include <vector>

namespace s5066::chat {
namespace {

/// Returns the lines that the keys enter; "<end>" for Ctrl-D.
std::vector<std::string> entered(LineInput& input, std::string_view keys) {
  input.on_octets(keys);
  std::vector<std::string> lines;
  while (const auto event = input.poll_event()) {
    const auto* line = std::get_if<LineInput::Entered>(&*event);
    lines.push_back(line == nullptr ? "<end>" : line->line);
  }
  return lines;
}

std::vector<std::string> entered(std::string_view keys) {
  LineInput input{{}};
  return entered(input, keys);
}

using Lines = std::vector<std::string>;

TEST(ChatLineInput, a_line_is_edited_with_backspace_and_control_keys) {
  EXPECT_EQ(entered("hello\r"), Lines{"hello"});
  EXPECT_EQ(entered("helxx\x7F\x08lo\n"), Lines{"hello"});
  EXPECT_EQ(entered("\x7Fo\r"), Lines{"o"});
  EXPECT_EQ(entered("one\x15two\r"), Lines{"two"});
  EXPECT_EQ(entered("one two \x17six\r"), Lines{"one six"});
  EXPECT_EQ(entered("a\x01\x02z\r"), Lines{"az"});
}

TEST(ChatLineInput, backspace_takes_a_whole_character_away) {
  EXPECT_EQ(entered("aä\x7F\r"), Lines{"a"});
  EXPECT_EQ(entered("a\xF0\x9F\x98\x80\x7F\r"), Lines{"a"});
}

TEST(ChatLineInput, ctrl_d_ends_only_an_empty_line) {
  EXPECT_EQ(entered("\x04"), Lines{"<end>"});
  EXPECT_EQ(entered("a\x04\r"), Lines{"a"});
}

TEST(ChatLineInput, arrows_bring_former_lines_back_and_other_sequences_do_nothing) {
  EXPECT_EQ(entered("one\rtwo\r\x1B[A\x1B[A!\r"), (Lines{"one", "two", "one!"}));
  EXPECT_EQ(entered("one\r\x1BOA\x1BOB\r"), (Lines{"one", ""}));
  EXPECT_EQ(entered("\x1B[Ax\x1B[3~\x1B[1;5Cy\r"), Lines{"xy"});
}

TEST(ChatLineInput, limits_hold_at_their_edge) {
  LineInput input{{.octets_max = 3, .recalled_max = 2}};
  EXPECT_EQ(entered(input, "abc\r"), Lines{"abc"});
  EXPECT_EQ(entered(input, "abcd\r"), Lines{"abc"});
  EXPECT_EQ(entered(input, "1\r2\r3\r\x1B[A\x1B[A\x1B[A\r"), (Lines{"1", "2", "3", "2"}));
}

TEST(ChatLineInput, the_end_of_a_long_line_is_drawn) {
  LineInput input{{}};
  input.on_octets("grüßen");
  EXPECT_EQ(input.drawn("> ", 10), "\r\x1B[K> grüßen");
  EXPECT_EQ(input.drawn("> ", 4), "\r\x1B[K> üßen");
  EXPECT_EQ(input.drawn("> ", 0), "\r\x1B[K> ");
}

}  // namespace
}  // namespace s5066::chat
