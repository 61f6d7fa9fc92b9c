// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/level_watch.h"

#include <gtest/gtest.h>

#include <vector>

namespace s5066::modem {
namespace {

using Verdict = LevelMeter::Verdict;
using std::chrono::seconds;

constexpr unsigned kRate = 100;
constexpr float kGood = 0.1F;
constexpr float kLow = 0.0005F;
constexpr float kLoud = 1.0F;

constexpr LevelWatch::Config kConfig{
    .rate_hz = kRate, .window = seconds(1), .repeat = seconds(10), .good_windows = 3};

/// The watch uses windows of 1 s, repeats a verdict after 10 s, and needs three good windows for
/// "good".
struct Bench {
  LevelWatch watch{kConfig};

  /// Feeds the samples in blocks of 30, which do not divide the window.
  void hear(float amplitude, unsigned samples = kRate) {
    std::vector<float> block;
    for (unsigned n = 0; n < samples; ++n) block.push_back(n % 2 == 0 ? amplitude : -amplitude);
    for (std::size_t at = 0; at < block.size(); at += 30) {
      const std::size_t count = std::min<std::size_t>(30, block.size() - at);
      watch.process(std::span(block).subspan(at, count));
    }
  }
  std::vector<Verdict> told(unsigned windows, float amplitude) {
    std::vector<Verdict> verdicts;
    for (unsigned n = 0; n < windows; ++n) {
      hear(amplitude);
      if (const auto notice = watch.take_notice()) verdicts.push_back(notice->verdict);
    }
    return verdicts;
  }
};

TEST(LevelWatch, says_nothing_of_a_good_level_and_nothing_before_a_window_is_over) {
  Bench bench;
  bench.hear(kLoud, kRate - 1);
  EXPECT_FALSE(bench.watch.reading());
  EXPECT_FALSE(bench.watch.take_notice());
  bench.hear(kLoud, 1);
  EXPECT_EQ(bench.watch.take_notice()->verdict, Verdict::clipping);
  EXPECT_FALSE(bench.watch.take_notice());
  Bench good;
  EXPECT_EQ(good.told(20, kGood), std::vector<Verdict>{});
  EXPECT_NEAR(power_db(good.watch.reading()->power), -20, 0.1);
  EXPECT_EQ(good.watch.clipped(), 0U);
}

TEST(LevelWatch, says_what_is_wrong_and_what_to_do_and_counts_what_was_clipped) {
  Bench bench;
  bench.hear(0);
  EXPECT_NE(bench.watch.take_notice()->text.find("silent: check cable"), std::string::npos);
  bench.hear(kLow);
  const auto low = bench.watch.take_notice();
  EXPECT_NE(low->text.find("too low: -66.0 dB of full scale, raise"), std::string::npos)
      << low->text;
  bench.hear(kLoud);
  const auto loud = bench.watch.take_notice();
  EXPECT_NE(loud->text.find("clips: 100 of 100 samples, lower"), std::string::npos) << loud->text;
  EXPECT_EQ(bench.watch.clipped(), 100U);
}

TEST(LevelWatch, the_same_is_said_again_only_after_its_time) {
  Bench bench;
  EXPECT_EQ(bench.told(10, kLoud), (std::vector{Verdict::clipping}));
  EXPECT_EQ(bench.told(10, kLoud), (std::vector{Verdict::clipping}));
  EXPECT_EQ(bench.told(1, kLow), (std::vector{Verdict::too_low}));
}

TEST(LevelWatch, a_level_is_good_again_once_it_stays_so_and_going_to_and_fro_fills_no_log) {
  Bench bench;
  EXPECT_EQ(bench.told(1, kLoud), (std::vector{Verdict::clipping}));
  EXPECT_EQ(bench.told(2, kGood), std::vector<Verdict>{});
  EXPECT_EQ(bench.told(1, kLoud), std::vector<Verdict>{});
  EXPECT_EQ(bench.told(2, kGood), std::vector<Verdict>{});
  EXPECT_EQ(bench.told(2, kGood), (std::vector{Verdict::good}));
  // The watch gave the same verdict less than 10 s ago.
  EXPECT_EQ(bench.told(1, kLoud), std::vector<Verdict>{});
  EXPECT_EQ(bench.told(5, kGood), std::vector<Verdict>{});
  EXPECT_EQ(bench.told(1, kLoud), (std::vector{Verdict::clipping}));
}

}  // namespace
}  // namespace s5066::modem
