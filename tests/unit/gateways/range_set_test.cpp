// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/range_set.h"

#include <gtest/gtest.h>

#include "s5066d/base/rng.h"

namespace s5066::gateways {
namespace {

using Ranges = std::vector<FileRange>;

TEST(RangeSet, ranges_that_touch_or_overlap_become_one) {
  RangeSet set;
  set.add({10, 20});
  set.add({30, 40});
  EXPECT_EQ(set.ranges(), (Ranges{{10, 20}, {30, 40}}));
  set.add({20, 30});
  EXPECT_EQ(set.ranges(), (Ranges{{10, 40}}));
  set.add({5, 12});
  set.add({39, 50});
  EXPECT_EQ(set.ranges(), (Ranges{{5, 50}}));
  set.add({7, 7});
  EXPECT_EQ(set.octets(), 45u);
}

TEST(RangeSet, a_removed_range_leaves_both_ends) {
  RangeSet set(FileRange{0, 100});
  set.remove({40, 60});
  EXPECT_EQ(set.ranges(), (Ranges{{0, 40}, {60, 100}}));
  set.remove({0, 10});
  set.remove({90, 200});
  set.remove({40, 60});
  EXPECT_EQ(set.ranges(), (Ranges{{10, 40}, {60, 90}}));
  EXPECT_TRUE(set.contains({10, 40}));
  EXPECT_FALSE(set.contains({10, 41}));
  EXPECT_FALSE(set.contains({39, 61}));
}

TEST(RangeSet, it_is_the_set_that_single_octets_make) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    RangeSet set;
    std::vector<bool> octets(64);
    for (int step = 0; step < 30; ++step) {
      const FileRange range{rng.below(64), rng.below(65)};
      const bool adds = rng.chance(0.6);
      if (adds) {
        set.add(range);
      } else {
        set.remove(range);
      }
      for (std::size_t i = range.begin; i < range.end; ++i) octets[i] = adds;
    }
    for (std::size_t i = 0; i < octets.size(); ++i) {
      ASSERT_EQ(set.contains({i, i + 1}), octets[i]) << round << " " << i;
    }
    const Ranges ranges = set.ranges();
    for (std::size_t i = 1; i < ranges.size(); ++i) ASSERT_GT(ranges[i].begin, ranges[i - 1].end);
  }
}

}  // namespace
}  // namespace s5066::gateways
