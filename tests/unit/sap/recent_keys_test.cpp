// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/recent_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace s5066::sap {
namespace {

TEST(RecentKeys, holds_the_newest_up_to_its_limit) {
  RecentKeys keys(2);
  EXPECT_FALSE(keys.contains(7));
  for (const std::uint64_t key : {7, 8, 9}) keys.add(key);
  EXPECT_FALSE(keys.contains(7));
  EXPECT_TRUE(keys.contains(8));
  EXPECT_TRUE(keys.contains(9));
}

TEST(RecentKeys, a_key_that_is_there_takes_no_place_again) {
  RecentKeys keys(2);
  for (const std::uint64_t key : {7, 8, 8, 8}) keys.add(key);
  EXPECT_TRUE(keys.contains(7));
}

TEST(RecentKeys, nothing_is_there_that_was_not_put_in) {
  RecentKeys keys(4);
  EXPECT_FALSE(keys.contains(0));
  keys.add(0);
  EXPECT_TRUE(keys.contains(0));
}

// The keys are few and differ only in bits that the table does not use. They make long runs that
// wrap round the end of the table, with gaps in them.
TEST(RecentKeys, agrees_with_a_plain_list) {
  std::mt19937_64 random(1);
  for (const std::size_t limit : {1, 3, 8, 13}) {
    RecentKeys keys(limit);
    std::deque<std::uint64_t> newest;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t key = (random() % 8) << 60 | (random() % 2 == 0 ? 15 : 1 + random() % 15);
      const auto there = [&](std::uint64_t k) {
        return std::find(newest.begin(), newest.end(), k) != newest.end();
      };
      ASSERT_EQ(keys.contains(key), there(key)) << limit << ' ' << i;
      keys.add(key);
      if (there(key)) continue;
      newest.push_back(key);
      if (newest.size() > limit) newest.pop_front();
    }
  }
}

}  // namespace
}  // namespace s5066::sap
