// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/nearest.h"

#include <gtest/gtest.h>

namespace s5066 {
namespace {

TEST(Nearest, counts_letters_that_differ_and_swapped_neighbours_once) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("address", "address"), 0u);
  EXPECT_EQ(edit_distance("adress", "address"), 1u);
  EXPECT_EQ(edit_distance("listne", "listen"), 1u);
  EXPECT_EQ(edit_distance("INFO", "info"), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(Nearest, finds_a_word_if_a_third_of_its_letters_differ_and_no_more) {
  const std::vector<std::string> known = {"status", "counters", "queue"};
  EXPECT_EQ(nearest("statsu", known), "status");
  EXPECT_EQ(nearest("stasuu", known), "status");  // two of six letters
  EXPECT_EQ(nearest("stxxxs", known), std::nullopt);
  EXPECT_EQ(nearest("q", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(did_you_mean("quene", known), "; did you mean queue?");
  EXPECT_EQ(did_you_mean("x", {"y"}), "") << "no letter is right";
}

TEST(Nearest, words_of_any_length_are_compared_by_their_beginning) {
  const std::string longest(kNearestOctetsMax, 'a');
  EXPECT_EQ(edit_distance(longest + "b", longest + "c"), 0u);
  EXPECT_EQ(edit_distance(std::string(100'000, 'x'), longest), kNearestOctetsMax);
}

}  // namespace
}  // namespace s5066
