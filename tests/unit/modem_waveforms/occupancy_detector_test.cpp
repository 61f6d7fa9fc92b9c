// SPDX-License-Identifier: Apache-2.0
// A sound card also gives sound that is not a radio signal.
#include "modem/waveforms/occupancy_detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "modem/channel/awgn.h"
#include "modem/waveforms/burst_events.h"

namespace s5066::modem {
namespace {

constexpr double kPatience = 151;  // seconds until the floor has followed

std::vector<float> samples_of(double seconds, float value = 0) {
  return std::vector<float>(static_cast<std::size_t>(seconds * kSampleRate), value);
}

std::vector<float> noise(double seconds, double power_db, std::uint64_t seed) {
  std::vector<float> samples = samples_of(seconds);
  channel::Awgn(std::pow(10, power_db / 20), Rng(seed)).process(samples);
  return samples;
}

std::vector<float> tone(double seconds, double power_db, double hz = 1000) {
  std::vector<float> samples = samples_of(seconds);
  const double peak = std::sqrt(2) * std::pow(10, power_db / 20);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double cycles = std::fmod(hz * static_cast<double>(i) / kSampleRate, 1.0);
    samples[i] = static_cast<float>(peak * std::sin(2 * std::numbers::pi * cycles));
  }
  return samples;
}

bool occupied_after(OccupancyDetector& detector, const std::vector<float>& samples) {
  detector.process(samples);
  return detector.occupied();
}

std::vector<float> joined(std::vector<float> first, const std::vector<float>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Returns the times at which the state changes, to one sample.
std::vector<double> changes(OccupancyDetector& detector, const std::vector<float>& samples) {
  std::vector<double> at;
  bool occupied = detector.occupied();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    detector.process(std::span(samples).subspan(i, 1));
    if (detector.occupied() == occupied) continue;
    occupied = !occupied;
    at.push_back(static_cast<double>(i + 1) / kSampleRate);
  }
  return at;
}

TEST(OccupancyDetector, is_occupied_a_quarter_of_a_second_into_a_signal_and_free_as_soon_after_it) {
  OccupancyDetector detector;
  detector.process(noise(10, -50, 1));
  const auto at =
      changes(detector, joined(joined(noise(2, -50, 2), tone(3, -30)), noise(2, -50, 3)));
  ASSERT_EQ(at.size(), 2u);
  EXPECT_GE(at[0], 2.2);
  EXPECT_LE(at[0], 2.28);
  EXPECT_GE(at[1], 5.3);
  EXPECT_LE(at[1], 5.4);
}

TEST(OccupancyDetector, says_the_same_however_the_samples_are_portioned) {
  const auto all = joined(joined(noise(3, -50, 1), tone(1, -35)), noise(2, -50, 2));
  OccupancyDetector by_sample;
  const auto expected = changes(by_sample, all);
  ASSERT_EQ(expected.size(), 2u);
  for (const std::size_t portion : {7U, 191U, 192U, 193U, 1000U}) {
    OccupancyDetector detector;
    for (std::size_t at = 0; at < all.size(); at += portion) {
      const std::size_t end = std::min(at + portion, all.size());
      detector.process(std::span(all).subspan(at, end - at));
      const double now = static_cast<double>(end) / kSampleRate;
      const bool should = now >= expected[0] && now < expected[1];
      ASSERT_EQ(detector.occupied(), should) << portion << " at " << now;
    }
    EXPECT_EQ(detector.floor_db(), by_sample.floor_db());
  }
}

TEST(OccupancyDetector, five_decibels_over_the_floor_are_needed_for_twelve_blocks) {
  for (const double over_db : {4.5, 5.5}) {
    OccupancyDetector detector;
    detector.process(tone(30, -50));
    EXPECT_NEAR(detector.floor_db(), -50, 0.2);
    EXPECT_EQ(occupied_after(detector, tone(0.5, -50 + over_db)), over_db > 5);
  }
  for (const double seconds : {0.22, 0.24}) {
    OccupancyDetector detector;
    detector.process(tone(30, -50));
    EXPECT_EQ(occupied_after(detector, tone(seconds, -30)), seconds > 0.23);
  }
}

TEST(OccupancyDetector, three_decibels_over_the_floor_keep_a_channel_occupied_and_less_do_not) {
  for (const double over_db : {2.5, 3.5}) {
    OccupancyDetector detector;
    detector.process(tone(30, -50));
    ASSERT_TRUE(occupied_after(detector, tone(0.5, -30)));
    EXPECT_EQ(occupied_after(detector, tone(0.6, -50 + over_db)), over_db > 3);
  }
}

TEST(OccupancyDetector, hears_only_the_band_of_a_voice_channel) {
  for (const double hz : {50.0, 100.0, 300.0, 1500.0, 3000.0, 4500.0}) {
    OccupancyDetector detector;
    detector.process(noise(10, -50, 1));
    const bool inside = hz >= 300 && hz <= 3000;
    EXPECT_EQ(occupied_after(detector, joined(tone(0.5, -40, hz), {})), inside) << hz;
  }
}

TEST(OccupancyDetector, nothing_that_stays_as_it_is_occupies_the_channel_for_ever) {
  const std::vector<std::pair<const char*, std::vector<float>>> rests = {
      {"noise that is 10 dB louder", noise(kPatience, -40, 2)},
      {"noise that is 60 dB louder", noise(kPatience, 10, 2)},
      {"a carrier", tone(kPatience, -20)},
      {"noise that clips", noise(kPatience, 3, 2)},
  };
  for (const auto& [what, rest] : rests) {
    OccupancyDetector detector;
    detector.process(noise(200, -50, 1));
    EXPECT_TRUE(occupied_after(detector, {rest.begin(), rest.begin() + 10 * kSampleRate})) << what;
    EXPECT_FALSE(occupied_after(detector, {rest.begin() + 10 * kSampleRate, rest.end()})) << what;
  }
}

TEST(OccupancyDetector, the_silence_of_a_card_that_begins_is_forgotten) {
  OccupancyDetector detector;
  detector.process(samples_of(0.5));
  EXPECT_FALSE(occupied_after(detector, noise(15, -40, 1)));
  detector.restart();
  detector.process(samples_of(300));
  EXPECT_EQ(detector.floor_db(), OccupancyDetector::kFloorMinDb);
  EXPECT_TRUE(occupied_after(detector, noise(1, -40, 1)));
  EXPECT_FALSE(occupied_after(detector, noise(kPatience, -40, 2)));
}

TEST(OccupancyDetector, samples_that_are_no_numbers_and_a_constant_voltage_are_silence) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    OccupancyDetector detector;
    detector.process(noise(10, -50, 1));
    detector.process(samples_of(1, value));
    EXPECT_FALSE(occupied_after(detector, noise(20, -50, 2)));
    EXPECT_TRUE(occupied_after(detector, tone(0.5, -30)));
  }
  OccupancyDetector detector;
  detector.process(samples_of(60, 0.7F));
  EXPECT_FALSE(detector.occupied());
  EXPECT_EQ(detector.floor_db(), OccupancyDetector::kFloorMinDb);
}

TEST(OccupancyDetector, very_quiet_sound_occupies_nothing) {
  OccupancyDetector detector;
  detector.process(samples_of(60));
  EXPECT_FALSE(occupied_after(detector, noise(1, -88, 1)));
}

TEST(OccupancyDetector, after_a_pause_it_begins_anew_with_the_floor_that_it_has) {
  OccupancyDetector detector;
  detector.process(noise(60, -50, 1));
  const double floor_db = detector.floor_db();
  ASSERT_TRUE(occupied_after(detector, tone(1, -30)));
  detector.pause();
  EXPECT_FALSE(detector.occupied());
  EXPECT_NEAR(detector.floor_db(), floor_db, 0.1);
  EXPECT_FALSE(occupied_after(detector, tone(0.22, -30)));
  EXPECT_TRUE(occupied_after(detector, tone(0.02, -30)));
}

// A relay or the gain of a receiver takes some time to settle after each of our transmissions.
TEST(OccupancyDetector, a_receiver_that_is_quiet_behind_our_own_transmissions_pulls_no_floor_down) {
  for (const double sag_s : {0.15, 0.25}) {
    OccupancyDetector detector;
    unsigned seed = 1;
    detector.process(noise(60, -50, seed));
    for (int turn = 0; turn < 100; ++turn) {
      detector.pause();  // stands for 10 s
      const auto sag = noise(sag_s, -70, ++seed);
      EXPECT_FALSE(occupied_after(detector, sag));
      const auto rest = noise(3 - sag_s, -50, ++seed);
      ASSERT_TRUE(changes(detector, rest).empty()) << sag_s << " s, turn " << turn;
    }
    EXPECT_NEAR(detector.floor_db(), -53.5, 1);
  }
}

TEST(OccupancyDetector, what_is_quiet_for_longer_behind_a_pause_is_the_channel) {
  OccupancyDetector detector;
  detector.process(noise(160, -50, 1));
  detector.pause();
  detector.process(noise(0.3, -70, 2));
  const double floor_db = detector.floor_db();
  detector.process(noise(9, -70, 3));
  EXPECT_NEAR(floor_db, -53.5, 1);
  EXPECT_LT(detector.floor_db(), -70);
}

}  // namespace
}  // namespace s5066::modem
