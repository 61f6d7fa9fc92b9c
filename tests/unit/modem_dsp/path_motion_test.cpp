// SPDX-License-Identifier: Apache-2.0
// How the movement of a channel's paths is measured, and how the pace of reading follows it.
#include "modem/dsp/path_motion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace s5066::modem::dsp {
namespace {

constexpr std::size_t kWidth = 60;

// Pulses of paths at these places, as wide as those of a symbol at half-symbol steps.
std::vector<float> paths_at(std::vector<double> places) {
  std::vector<float> row(kWidth);
  for (std::size_t k = 0; k < kWidth; ++k) {
    for (const double place : places) {
      const double t = (static_cast<double>(k) - place) / 1.5;
      row[k] += static_cast<float>(std::exp(-t * t));
    }
  }
  return row;
}

TEST(PathMotion, is_told_between_steps_in_either_direction) {
  for (const double moved : {-5.0, -1.3, -0.2, 0.0, 0.4, 2.75, 5.0}) {
    const auto now = moved_since(paths_at({20, 33}), paths_at({20 + moved, 33 + moved}));
    ASSERT_TRUE(now) << moved;
    EXPECT_NEAR(*now, moved, 0.15);
  }
}

TEST(PathMotion, is_told_by_the_path_that_is_left_when_another_fades) {
  const auto now = moved_since(paths_at({20, 33}), paths_at({20.5}));
  ASSERT_TRUE(now);
  EXPECT_NEAR(*now, 0.5, 0.15);
}

TEST(PathMotion, is_not_told_by_another_path_or_by_silence) {
  EXPECT_FALSE(moved_since(paths_at({20}), paths_at({33})));
  EXPECT_FALSE(moved_since(paths_at({20}), paths_at({})));
  EXPECT_FALSE(moved_since(paths_at({}), paths_at({20})));
}

TEST(PathMotion, is_told_from_many_rows_though_paths_fade) {
  for (const double by_row : {-0.4, -0.2, 0.25, 0.4}) {
    std::vector<float> rows;
    for (int r = 0; r < 20; ++r) {
      std::vector<double> places;
      if (r % 7 < 5) places.push_back(20 + r * by_row);
      if (r % 5 < 3) places.push_back(33 + r * by_row);
      const auto row = paths_at(places);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    EXPECT_NEAR(moved_by_row(rows, kWidth, 10), by_row, 0.03);
  }
}

TEST(PathMotion, is_none_where_paths_that_stand_still_fade) {
  std::vector<float> rows;
  for (int r = 0; r < 20; ++r) {
    std::vector<double> places;
    if (r % 7 < 5) places.push_back(20);
    if (r % 5 < 3) places.push_back(33);
    const auto row = paths_at(places);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  EXPECT_EQ(moved_by_row(rows, kWidth, 10), 0);
}

// A receiver whose clock is off: what it measures in each block is the mean place of the paths.
TEST(PaceLoop, learns_the_drift_and_brings_the_paths_back_to_their_place) {
  for (const double seconds : {0.2, 0.6, 4.8}) {
    for (const double drift : {-300e-6, 300e-6}) {
      const double samples = seconds * 4800;
      PaceLoop loop(samples, seconds);
      double place = 0;
      double farthest = 0;
      for (double t = 0; t < 60; t += seconds) {
        const double end = place + (drift - loop.pace()) * samples;
        loop.add_block((place + end) / 2);
        place = end;
        farthest = std::max(farthest, std::abs(place));
      }
      EXPECT_NEAR(place, 0, 0.05) << seconds;
      EXPECT_NEAR(loop.drift(), drift, 3e-6) << seconds;
      EXPECT_LT(farthest, seconds < 1 ? 3 : 8) << seconds;
    }
  }
}

TEST(PaceLoop, goes_on_as_it_was_while_nothing_is_measured) {
  PaceLoop loop(2880, 0.6);
  loop.start(200e-6);
  for (int i = 0; i < 100; ++i) loop.add_block(std::nullopt);
  EXPECT_DOUBLE_EQ(loop.pace(), 200e-6);
}

TEST(PaceLoop, follows_no_clock_that_is_farther_off_than_clocks_are) {
  PaceLoop loop(2880, 0.6);
  for (int i = 0; i < 100; ++i) loop.add_block(6.0);
  EXPECT_LE(loop.drift(), PaceLoop::kDriftMax);
}

}  // namespace
}  // namespace s5066::modem::dsp
