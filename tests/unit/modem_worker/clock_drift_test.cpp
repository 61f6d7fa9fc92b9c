// SPDX-License-Identifier: Apache-2.0
#include "modem/worker/clock_drift.h"

#include <gtest/gtest.h>

#include "s5066d/base/rng.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kBlock = milliseconds(20);

/// Plays a card that is `ppm` fast and whose blocks come up to 30 ms late. Returns the time at the
/// end.
Duration listen(ClockDrift& drift, double ppm, Duration from, Duration to) {
  Rng rng(7);
  Duration samples = from;
  Duration now = from;
  while (now < to) {
    samples += kBlock;
    now = from + from_seconds(to_seconds(samples - from) / (1 + ppm * 1e-6));
    drift.on_block(now + from_seconds(0.03 * rng.uniform()), samples);
  }
  return now;
}

TEST(ClockDrift, is_found_though_blocks_come_late_and_not_before_there_is_enough) {
  for (const double ppm : {-80.0, 0.0, 3.0, 100.0}) {
    ClockDrift drift({});
    Duration now = listen(drift, ppm, seconds(1000), seconds(1100));
    EXPECT_FALSE(drift.ppm());
    ClockDrift whole({});
    now = listen(whole, ppm, seconds(1000), seconds(2000));
    ASSERT_TRUE(whole.ppm());
    EXPECT_NEAR(*whole.ppm(), ppm, 1.5);
  }
}

TEST(ClockDrift, follows_a_clock_that_changes) {
  ClockDrift drift({});
  const Duration now = listen(drift, 50, seconds(0), seconds(1800));
  EXPECT_NEAR(*drift.ppm(), 50, 1.5);
  listen(drift, -20, now, now + seconds(2400));
  EXPECT_NEAR(*drift.ppm(), -20, 2.5);
}

TEST(ClockDrift, forgets_what_was_before_a_jump) {
  ClockDrift drift({});
  listen(drift, 50, seconds(0), seconds(1000));
  drift.reset();
  EXPECT_FALSE(drift.ppm());
  listen(drift, -50, seconds(5000), seconds(6000));
  EXPECT_NEAR(*drift.ppm(), -50, 1.5);
}

}  // namespace
}  // namespace s5066::modem
