// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/key_guard.h"

#include <gtest/gtest.h>

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTick{1};
constexpr Duration kStart = seconds(100);
constexpr KeyGuard::Config kConfig{.hang_max = seconds(3), .repeat = milliseconds(500)};

TEST(KeyGuard, a_key_that_is_up_has_no_deadline) {
  KeyGuard guard(kConfig);
  guard.on_alive(kStart);
  EXPECT_FALSE(guard.next_deadline());
  EXPECT_FALSE(guard.on_deadline(kStart + seconds(1000)));
}

TEST(KeyGuard, an_owner_that_shows_life_may_key_to_its_limit_and_not_beyond) {
  KeyGuard guard(kConfig);
  guard.on_keying(kStart, seconds(10));
  for (int second = 1; second < 10; ++second) {
    const Duration now = kStart + seconds(second);
    EXPECT_FALSE(guard.on_deadline(now));
    guard.on_alive(now);
  }
  guard.on_keying(kStart + seconds(9), seconds(10));  // a second call gives no more time
  EXPECT_FALSE(guard.on_deadline(kStart + seconds(10) - kTick));
  EXPECT_TRUE(guard.on_deadline(kStart + seconds(10)));
  EXPECT_EQ(guard.tripped(), KeyTrip::too_long);
}

TEST(KeyGuard, a_burst_behind_another_has_a_limit_of_its_own_but_not_behind_one_that_was_too_long) {
  KeyGuard guard(kConfig);
  guard.on_next_burst(kStart, seconds(5));  // nothing is keyed
  EXPECT_FALSE(guard.next_deadline());
  guard.on_keying(kStart, seconds(2));
  guard.on_alive(kStart + seconds(1));
  guard.on_next_burst(kStart + seconds(2) - kTick, seconds(2));
  EXPECT_FALSE(guard.on_deadline(kStart + seconds(4) - 2 * kTick));
  // The time of the first burst is over.
  guard.on_next_burst(kStart + seconds(4) - kTick, seconds(2));
  EXPECT_TRUE(guard.on_deadline(kStart + seconds(4) - kTick));
  EXPECT_EQ(guard.tripped(), KeyTrip::too_long);
  guard.on_next_burst(kStart + seconds(4), seconds(2));
  EXPECT_TRUE(guard.tripped());
  EXPECT_TRUE(guard.on_deadline(kStart + seconds(5)));
}

TEST(KeyGuard, an_owner_without_a_sign_of_life_is_unkeyed_at_the_limit_and_not_before) {
  KeyGuard guard(kConfig);
  guard.on_keying(kStart, seconds(100));
  guard.on_alive(kStart + seconds(1));
  EXPECT_FALSE(guard.on_deadline(kStart + seconds(4) - kTick));
  EXPECT_TRUE(guard.on_deadline(kStart + seconds(4)));
  EXPECT_EQ(guard.tripped(), KeyTrip::owner_hangs);
}

TEST(KeyGuard, unkeying_is_repeated_until_the_owner_has_unkeyed) {
  KeyGuard guard(kConfig);
  guard.on_keying(kStart, seconds(1));
  ASSERT_TRUE(guard.on_deadline(kStart + seconds(1)));
  EXPECT_FALSE(guard.on_deadline(kStart + milliseconds(1500) - kTick));
  guard.on_alive(kStart + milliseconds(1400));  // a late sign of life changes nothing
  EXPECT_TRUE(guard.on_deadline(kStart + milliseconds(1500)));
  EXPECT_TRUE(guard.on_deadline(kStart + seconds(2)));
  guard.on_unkeyed();
  EXPECT_FALSE(guard.tripped());
  EXPECT_FALSE(guard.next_deadline());
  guard.on_keying(kStart + seconds(3), seconds(1));
  EXPECT_FALSE(guard.on_deadline(kStart + seconds(4) - kTick));
}

}  // namespace
}  // namespace s5066::modem
