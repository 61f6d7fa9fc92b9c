// SPDX-License-Identifier: Apache-2.0
// ModeOffsets learns what all modes need on a link from a few of them.
#include "s5066d/dts/mode_offsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "s5066d/dts/rate_selector.h"

namespace s5066::dts {
namespace {

using modem::Interleaver;
using modem::Mode;
using modem::Waveform;

const std::vector<Mode>& modes() {
  static const auto all =
      modes_to_choose_from({.rate_bps = 300, .interleaver = Interleaver::short_}, {});
  return all;
}

std::size_t at(const Mode& mode) {
  return static_cast<std::size_t>(std::find(modes().begin(), modes().end(), mode) -
                                  modes().begin());
}

const Mode k4800{Waveform::stanag4539, 4800, Interleaver::short_};
const Mode k6400{Waveform::stanag4539, 6400, Interleaver::short_};
const Mode k75{Waveform::ms110a, 75, Interleaver::short_};

TEST(ModeOffsets, what_is_seen_of_one_mode_holds_most_for_its_neighbours) {
  ModeOffsets offsets(modes());
  const double before = offsets.expected_db(at(k75));
  for (int i = 0; i < 20; ++i) offsets.observe(at(k4800), 8, 0.5);
  EXPECT_NEAR(offsets.expected_db(at(k4800)), 8, 0.3);
  EXPECT_GT(offsets.expected_db(at(k6400)), offsets.expected_db(at(k75)) + 0.3);
  EXPECT_GT(offsets.expected_db(at(k75)), before + 1);
  EXPECT_LT(offsets.variance(at(k4800)), 0.1);
  EXPECT_GT(offsets.variance(at(k75)), 1);
}

TEST(ModeOffsets, a_bound_moves_what_contradicts_it_and_hardly_what_does_not) {
  ModeOffsets offsets(modes());
  const double before = offsets.expected_db(at(k4800));
  offsets.observe_bound(at(k4800), before + 15, 0.5, true);
  EXPECT_NEAR(offsets.expected_db(at(k4800)), before, 0.01);
  offsets.observe_bound(at(k4800), before - 15, 0.5, false);
  EXPECT_NEAR(offsets.expected_db(at(k4800)), before, 0.01);
  offsets.observe_bound(at(k4800), before + 3, 0.5, false);
  EXPECT_GT(offsets.expected_db(at(k4800)), before + 2);
  for (int i = 0; i < 5; ++i) offsets.observe_bound(at(k4800), before - 2, 0.5, true);
  EXPECT_LT(offsets.expected_db(at(k4800)), before - 1.5);
}

// The bounds are far outside the expected range, and each contradicts the one before.
TEST(ModeOffsets, nothing_that_is_seen_makes_a_variance_negative) {
  ModeOffsets offsets(modes());
  for (int i = 0; i < 1000; ++i) {
    const std::size_t mode = static_cast<std::size_t>(i * 7) % modes().size();
    offsets.observe_bound(mode, i % 2 == 0 ? 60 : -60, 0.01, i % 2 == 1);
    offsets.observe(mode, i % 3 == 0 ? -40 : 40, 0.01);
    if (i % 50 == 0) offsets.forget(0.03);
    for (std::size_t m = 0; m < modes().size(); ++m) {
      ASSERT_GE(offsets.variance(m), 0) << i << ' ' << m;
      ASSERT_LT(std::abs(offsets.expected_db(m)), 200) << i << ' ' << m;
    }
  }
}

TEST(ModeOffsets, what_is_forgotten_is_learnt_anew_as_fast_as_at_first) {
  ModeOffsets offsets(modes());
  const double first = offsets.variance(at(k4800));
  for (int i = 0; i < 20; ++i) offsets.observe(at(k4800), 8, 0.5);
  offsets.forget(1);
  EXPECT_NEAR(offsets.variance(at(k4800)), first, 1e-9);
  EXPECT_NEAR(offsets.expected_db(at(k4800)), 8, 0.3);
}

TEST(ModeOffsets, without_fading_less_is_expected_and_what_was_learnt_stays) {
  ModeOffsets offsets(modes());
  const double expected_db = offsets.expected_db(at(k75));
  const double variance = offsets.variance(at(k75));
  offsets.set_steadiness(1);
  EXPECT_LT(offsets.expected_db(at(k75)), expected_db - 2);
  EXPECT_LT(offsets.variance(at(k75)), variance / 10);
  offsets.set_steadiness(0);
  EXPECT_NEAR(offsets.expected_db(at(k75)), expected_db, 1e-9);
  EXPECT_NEAR(offsets.variance(at(k75)), variance, 1e-9);
  for (int i = 0; i < 20; ++i) offsets.observe(at(k4800), 8, 0.5);
  offsets.set_steadiness(1);
  EXPECT_NEAR(offsets.expected_db(at(k4800)), 8, 0.3);
}

TEST(ModeOffsets, a_mode_that_is_not_among_them_is_taken_for_the_most_similar) {
  const ModeOffsets offsets(modes());
  EXPECT_EQ(offsets.nearest(k4800), at(k4800));
  const Mode very_long{Waveform::stanag4539, 4800, Interleaver::very_long};
  EXPECT_EQ(modes()[offsets.nearest(very_long)],
            (Mode{Waveform::stanag4539, 4800, Interleaver::long_}));
}

}  // namespace
}  // namespace s5066::dts
