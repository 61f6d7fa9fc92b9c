// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/clock_follower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "s5066d/base/rng.h"

namespace s5066 {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kBlock = milliseconds(20);

/// Reads a clock after each block. Each reading is late by up to 30 ms.
struct Reader {
  explicit Reader(double clock_ppm = 0, const ClockFollower::Config& config = {})
      : follower(config), ppm(clock_ppm) {}

  /// Takes one reading that is later than usual by `late`. A loss that the follower finds is added
  /// to the clock.
  void read(Duration late = {}) {
    ours += kBlock;
    theirs += from_seconds(to_seconds(kBlock) * (1 + ppm * 1e-6));
    const Duration jitter = from_seconds(0.03 * rng.uniform());
    const Duration lost = follower.on_reading(ours + late + jitter, theirs);
    if (lost == Duration::zero()) return;
    ++losses;
    theirs += lost;
  }
  void read_for(Duration duration, Duration late = {}) {
    for (Duration passed{}; passed < duration; passed += kBlock) read(late);
  }
  /// Returns the difference between the follower and the true offset.
  Duration error() const { return follower.ahead() - (theirs - ours); }

  ClockFollower follower;
  double ppm;
  Duration ours = seconds(1000);
  Duration theirs{};
  int losses = 0;
  Rng rng{7};
};

TEST(ClockFollower, believes_the_first_reading_and_each_that_is_less_late) {
  ClockFollower follower({});
  EXPECT_FALSE(follower.known());
  EXPECT_EQ(follower.on_reading(seconds(70), seconds(10)), Duration::zero());
  EXPECT_TRUE(follower.known());
  EXPECT_EQ(follower.ahead(), -seconds(60));
  follower.on_reading(seconds(71), milliseconds(11'300));
  EXPECT_EQ(follower.ahead(), -milliseconds(59'700));
}

TEST(ClockFollower, drift_is_followed_smoothly_and_is_no_loss) {
  for (const double ppm : {-500.0, -100.0, 0.0, 100.0, 500.0}) {
    SCOPED_TRACE(ppm);
    Reader reader(ppm);
    reader.read_for(seconds(10));
    Duration last = reader.follower.ahead();
    for (int n = 0; n < 60'000; ++n) {
      reader.read();
      EXPECT_LE(std::chrono::abs(reader.follower.ahead() - last), milliseconds(5));
      last = reader.follower.ahead();
      EXPECT_LE(std::chrono::abs(reader.error()), milliseconds(5));
    }
    EXPECT_EQ(reader.losses, 0);
  }
}

TEST(ClockFollower, a_clock_that_stood_still_is_noticed_within_seconds_and_not_sooner) {
  for (const Duration lost : {Duration(milliseconds(140)), Duration(milliseconds(500)),
                              Duration(seconds(5)), Duration(minutes(1))}) {
    SCOPED_TRACE(to_seconds(lost));
    Reader reader;
    reader.read_for(seconds(10));
    reader.ours += lost;
    reader.read_for(seconds(3));
    EXPECT_EQ(reader.losses, 0);
    reader.read_for(milliseconds(60));
    EXPECT_EQ(reader.losses, 1);
    EXPECT_LE(std::chrono::abs(reader.error()), milliseconds(5));
    reader.read_for(minutes(5));
    EXPECT_EQ(reader.losses, 1);
    EXPECT_LE(std::chrono::abs(reader.error()), milliseconds(2));
  }
}

TEST(ClockFollower, many_small_losses_are_noticed_before_they_add_up) {
  Reader reader;
  for (int n = 0; n < 50; ++n) {
    reader.ours += milliseconds(60);
    reader.read_for(seconds(4));
    EXPECT_LE(reader.error(), milliseconds(100 + 60));
  }
  EXPECT_GE(reader.losses, 15);
}

TEST(ClockFollower, a_loss_at_the_limit_is_forgotten_slowly_and_one_above_it_is_told) {
  const auto told = [](Duration lost) {
    ClockFollower follower({});
    Duration ours{};
    Duration theirs{};
    follower.on_reading(ours, theirs);
    ours += lost;
    int losses = 0;
    for (int n = 0; n < 500; ++n) {
      ours += kBlock;
      theirs += kBlock;
      if (follower.on_reading(ours, theirs) > Duration::zero()) ++losses;
    }
    return losses;
  };
  EXPECT_EQ(told(milliseconds(100)), 0);
  EXPECT_EQ(told(milliseconds(105)), 1);  // the follower forgets 3 ms in the meantime
}

TEST(ClockFollower, a_follower_that_comes_late_and_catches_up_has_lost_nothing) {
  Reader reader;
  reader.read_for(seconds(10));
  // The readings are late for a while, but one reading in time is enough.
  for (int n = 0; n < 20; ++n) {
    reader.read_for(milliseconds(2900), milliseconds(400));
    reader.read();
  }
  // No reading comes for 10 s, and then all of them come at once.
  const auto catch_up = [&](Duration from) {
    for (Duration late = from; late > kBlock; late -= kBlock) reader.read(late);
    reader.read_for(seconds(2));
  };
  catch_up(seconds(10));
  // Very few readings come for a while.
  for (int n = 1; n <= 3; ++n) reader.read(n * seconds(4));
  catch_up(seconds(12));
  EXPECT_EQ(reader.losses, 0);
  EXPECT_LE(std::chrono::abs(reader.error()), milliseconds(2));
}

TEST(ClockFollower, what_falls_back_for_good_is_followed_from_then_on) {
  ClockFollower follower({});
  follower.on_reading(seconds(10), seconds(10));
  Duration lost{};
  for (int s = 11; s < 20; ++s) {
    const Duration found = follower.on_reading(seconds(s), seconds(s - 2));
    follower.fall_back(found);
    lost += found;
  }
  EXPECT_LE(std::chrono::abs(lost - seconds(2)), milliseconds(10));
  EXPECT_LE(std::chrono::abs(follower.ahead() + seconds(2)), milliseconds(10));
}

}  // namespace
}  // namespace s5066
