// SPDX-License-Identifier: Apache-2.0
// These tests follow the length of segments, and the unused part of a transmission.
#include "s5066d/dts/segment_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

TEST(SegmentSize, the_best_length_is_where_shorter_and_longer_yield_less) {
  const auto yield = [](double n, double b) {
    return n / (n + 22) * std::pow(1 - b, 8 * (n + 22));
  };
  for (const double b : {1e-3, 3e-4, 1e-4, 3e-5, 1e-5}) {
    const auto best = static_cast<double>(best_segment_octets(b, 22));
    EXPECT_GT(yield(best, b), yield(best * 0.8, b));
    EXPECT_GT(yield(best, b), yield(best * 1.25, b));
  }
  EXPECT_EQ(best_segment_octets(0, 22), pdu::kSegmentOctetsMax);
}

/// Marks the first `lost` of `sent` frames of a transmission as lost.
std::vector<bool> first_lost(std::size_t sent, std::size_t lost) {
  std::vector<bool> frames(sent);
  std::fill_n(frames.begin(), lost, true);
  return frames;
}

TEST(SegmentSize, it_doubles_at_most_and_halves_at_most_with_each_answer) {
  SegmentSize size({.start = 200, .min = 50, .max = 1023});
  size.on_answer(first_lost(10, 0), 2220);
  EXPECT_EQ(size.octets(), 400u);
  size.on_answer(first_lost(10, 10), 4220);
  EXPECT_EQ(size.octets(), 200u);
  for (int i = 0; i < 5; ++i) size.on_answer(first_lost(10, 10), 2220);
  EXPECT_EQ(size.octets(), 50u);
  for (int i = 0; i < 20; ++i) size.on_answer(first_lost(100, 0), 7200);
  EXPECT_GT(size.octets(), 400u);
}

// A block of the interleaver takes eight frames with it, or frames are lost one by one.
TEST(SegmentSize, frames_lost_side_by_side_say_less_against_long_ones_than_as_many_apart) {
  SegmentSize bursts({.start = 400, .min = 50, .max = 1023});
  SegmentSize singles({.start = 400, .min = 50, .max = 1023});
  std::vector<bool> together(96);
  std::vector<bool> apart(96);
  for (std::size_t i = 0; i < 96; ++i) {
    together[i] = i % 32 >= 8 && i % 32 < 16;
    apart[i] = i % 4 == 1;
  }
  ASSERT_EQ(std::count(together.begin(), together.end(), true), 24);
  ASSERT_EQ(std::count(apart.begin(), apart.end(), true), 24);
  for (int i = 0; i < 10; ++i) {
    bursts.on_answer(together, 96 * 422);
    singles.on_answer(apart, 96 * 422);
  }
  EXPECT_GT(bursts.octets(), 2 * singles.octets());
  EXPECT_LT(singles.octets(), 200u);
}

TEST(SegmentSize, one_that_is_fixed_stays) {
  SegmentSize size({.start = 200, .min = 200, .max = 200});
  size.on_answer(first_lost(10, 0), 2220);
  size.on_answer(first_lost(10, 10), 2220);
  EXPECT_EQ(size.octets(), 200u);
}

/// Returns the time that ten C_PDUs take at 75 bit/s.
Duration time_of_bulk(bool offered) {
  Config config{.mode = {modem::Waveform::ms110a, 75, modem::Interleaver::short_}};
  config.offer_extensions = offered;
  DtsWorld world(2, {}, 1, config);
  world.connect(0, 1);
  const Instant begin = world.now();
  for (std::uint64_t i = 0; i < 10; ++i) world.send(0, 1, i, pattern(2054, i));
  while (world[0].confirmed.size() < 10 && world.now() < begin + 2h) world.run_for(1s);
  EXPECT_EQ(world[0].confirmed.size(), 10u);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(world[1].received[i].cpdu, pattern(2054, i));
  return world.now() - begin;
}

// Goal:   segments of any length use transmissions better than those of one length.
TEST(SegmentSize, with_a_peer_that_takes_any_length_bulk_is_through_sooner) {
  const Duration any = time_of_bulk(true);
  const Duration one = time_of_bulk(false);
  RecordProperty("seconds",
                 std::to_string(to_seconds(any)) + ' ' + std::to_string(to_seconds(one)));
  EXPECT_LT(any, one);
}

}  // namespace
}  // namespace s5066::dts
