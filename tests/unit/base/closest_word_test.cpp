// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/closest_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace s5066 {
namespace {

TEST(ClosestWord, a_letter_that_is_wrong_missing_added_or_swapped_counts_once) {
  EXPECT_EQ(word_distance("shore", "shore"), 0u);
  EXPECT_EQ(word_distance("shore", "SHORE"), 0u);
  EXPECT_EQ(word_distance("shore", "shone"), 1u);
  EXPECT_EQ(word_distance("shore", "shoe"), 1u);
  EXPECT_EQ(word_distance("shore", "shored"), 1u);
  EXPECT_EQ(word_distance("shore", "shroe"), 1u);
  EXPECT_EQ(word_distance("", "shore"), 5u);
}

TEST(ClosestWord, a_third_of_the_letters_may_differ) {
  const std::vector<std::string> words = {"lead", "turnaround_ms", "tail"};
  EXPECT_EQ(closest_word("turnaruond_sm", words), "turnaround_ms");
  EXPECT_EQ(closest_word("lead_", words), "lead");
  EXPECT_EQ(closest_word("xxad", words), "");
  EXPECT_EQ(closest_word(std::string(kComparedOctetsMax + 1, 'x'), words), "");
}

TEST(ClosestWord, the_question_is_asked_only_for_a_word_that_is_close) {
  EXPECT_EQ(did_you_mean("tial", {"lead", "tail"}), "; did you mean tail?");
  EXPECT_EQ(did_you_mean("something", {"lead", "tail"}), "");
}

}  // namespace
}  // namespace s5066
