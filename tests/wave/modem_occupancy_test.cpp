// SPDX-License-Identifier: Apache-2.0
// Tests the occupancy detector with the signals that may occupy a channel.
#include <algorithm>

#include "modem/api/airtime.h"
#include "modem/waveforms/occupancy_detector.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

/// Returns for each block of 20 ms whether the channel was occupied behind it.
std::vector<bool> watch(OccupancyDetector& detector, std::span<const float> samples) {
  constexpr std::size_t kBlock = kSampleRate / 50;
  std::vector<bool> occupied;
  for (std::size_t at = 0; at + kBlock <= samples.size(); at += kBlock) {
    detector.process(samples.subspan(at, kBlock));
    occupied.push_back(detector.occupied());
  }
  return occupied;
}

double share(const std::vector<bool>& occupied) {
  const auto count = std::count(occupied.begin(), occupied.end(), true);
  return static_cast<double>(count) / static_cast<double>(occupied.size());
}

/// Returns noise of this power in the whole bandwidth of the samples.
std::vector<float> noise(double seconds, double power_db, std::uint64_t seed) {
  std::vector<float> samples(static_cast<std::size_t>(seconds * kSampleRate), 0.0F);
  channel::Awgn(std::pow(10, power_db / 20), Rng(seed)).process(samples);
  return samples;
}

/// Returns ten seconds of noise, the signal in noise with this ratio in 3 kHz, and noise.
Tape in_noise(std::span<const float> signal, double snr_db, std::uint64_t seed) {
  Tape tape;
  tape.silence(10);
  tape.samples().insert(tape.samples().end(), signal.begin(), signal.end());
  tape.silence(2);
  double squares = 0;
  for (const float sample : signal) squares += static_cast<double>(sample) * sample;
  const double deviation =
      channel::noise_deviation(squares / static_cast<double>(signal.size()), snr_db, kSampleRate);
  channel::Awgn(deviation, Rng(seed)).process(tape.samples());
  return tape;
}

/// Returns 8PSK at 2400 Bd on 1800 Hz with no cycle or preamble that our receivers detect.
std::vector<float> strange_modem(double seconds, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<dsp::Complex> symbols(static_cast<std::size_t>(seconds * 2400));
  for (auto& symbol : symbols) {
    const double angle = std::numbers::pi / 4 * rng.below(8);
    symbol = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  Tape tape;
  tape.burst(std::move(symbols));
  return tape.samples();
}

std::vector<float> rtty(double seconds, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> samples;
  double phase = 0;
  while (samples.size() < static_cast<std::size_t>(seconds * kSampleRate)) {
    const double hz = rng.chance(0.5) ? 1275 : 1445;
    for (std::size_t i = 0; i < kSampleRate / 50; ++i) {
      phase = std::fmod(phase + hz / kSampleRate, 1.0);
      samples.push_back(static_cast<float>(0.1 * std::sin(2 * std::numbers::pi * phase)));
    }
  }
  return samples;
}

TEST(ModemOccupancy, noise_of_any_level_occupies_nothing_for_half_an_hour) {
  for (const double power_db : {-80.0, -50.0, -20.0, -6.0}) {
    OccupancyDetector detector;
    const auto occupied = watch(detector, noise(1800, power_db, 1));
    EXPECT_EQ(share(occupied), 0) << power_db;
  }
}

TEST(ModemOccupancy, noise_that_rises_and_falls_slowly_by_three_decibels_occupies_nothing) {
  for (const double period_s : {5.0, 20.0, 90.0, 600.0}) {
    auto samples = noise(1200, -40, 2);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / kSampleRate / period_s;
      samples[i] *= static_cast<float>(std::pow(10, 1.5 * std::sin(angle) / 20));
    }
    OccupancyDetector detector;
    EXPECT_EQ(share(watch(detector, samples)), 0) << period_s;
  }
}

TEST(ModemOccupancy, noise_that_is_10_dB_louder_from_one_moment_on_is_free_again_after_150_s) {
  OccupancyDetector detector;
  watch(detector, noise(300, -50, 1));
  const auto occupied = watch(detector, noise(600, -40, 2));
  ASSERT_TRUE(occupied[15]);
  const auto last = std::find(occupied.rbegin(), occupied.rend(), true).base() - occupied.begin();
  EXPECT_LE(last, 151 * 50);
  watch(detector, noise(300, -50, 1));
  EXPECT_EQ(share(watch(detector, noise(60, -50, 3))), 0);
}

TEST(ModemOccupancy, speech_occupies_the_channel_and_its_pauses_do_for_a_third_of_a_second) {
  auto tape = in_noise(speech_like(60, 1), 10, 1);
  OccupancyDetector detector;
  const auto occupied = watch(detector, tape.samples());
  const std::vector<bool> during(occupied.begin() + 520, occupied.begin() + 3500);
  EXPECT_GT(share(during), 0.9);
  EXPECT_EQ(share({occupied.begin(), occupied.begin() + 500}), 0);
  EXPECT_EQ(share({occupied.begin() + 3525, occupied.end()}), 0);
}

TEST(ModemOccupancy, a_modem_that_no_receiver_knows_occupies_the_channel_at_6_dB) {
  const auto signal = strange_modem(30, 1);
  Tape tape = in_noise(signal, 6, 1);
  EXPECT_TRUE(listen(tape).empty());
  OccupancyDetector detector;
  const auto occupied = watch(detector, tape.samples());
  EXPECT_EQ(share({occupied.begin(), occupied.begin() + 500}), 0);
  EXPECT_EQ(share({occupied.begin() + 525, occupied.begin() + 2000}), 1);
  EXPECT_EQ(share({occupied.begin() + 2025, occupied.end()}), 0);
}

TEST(ModemOccupancy, teletype_and_a_carrier_occupy_the_channel_at_6_dB) {
  std::vector<float> carrier(20 * kSampleRate);
  for (std::size_t i = 0; i < carrier.size(); ++i) {
    const double cycles = std::fmod(1000.0 * static_cast<double>(i) / kSampleRate, 1.0);
    carrier[i] = static_cast<float>(0.1 * std::sin(2 * std::numbers::pi * cycles));
  }
  for (const auto& signal : {rtty(20, 1), carrier}) {
    auto tape = in_noise(signal, 6, 1);
    OccupancyDetector detector;
    const auto occupied = watch(detector, tape.samples());
    EXPECT_EQ(share({occupied.begin() + 525, occupied.begin() + 1500}), 1);
    EXPECT_EQ(share({occupied.begin() + 1525, occupied.end()}), 0);
  }
}

TEST(ModemOccupancy, each_of_our_own_waveforms_occupies_the_channel_within_half_a_second) {
  for (const Mode& mode : all_modes()) {
    Tape burst;
    burst.burst(mode, random_octets(std::max<std::size_t>(10, capacity(mode, from_seconds(1))), 1));
    for (const double snr_db : {6.0, 20.0}) {
      auto tape = in_noise(burst.samples(), snr_db, 1);
      OccupancyDetector detector;
      const auto occupied = watch(detector, tape.samples());
      const auto first = std::find(occupied.begin(), occupied.end(), true) - occupied.begin();
      EXPECT_GE(first, 500) << to_string(mode);
      EXPECT_LE(first, 525) << to_string(mode) << " " << snr_db;
      EXPECT_FALSE(occupied.back()) << to_string(mode);
    }
  }
}

TEST(ModemOccupancy, a_signal_that_fades_as_on_a_poor_channel_is_noticed_and_mostly_kept) {
  Tape tape;
  tape.silence(10);
  const auto signal = strange_modem(60, 2);
  tape.samples().insert(tape.samples().end(), signal.begin(), signal.end());
  tape.through({.paths = channel::paths_by_name("poor")}, 3).noise(10, 4);
  OccupancyDetector detector;
  const auto occupied = watch(detector, tape.samples());
  EXPECT_GT(share({occupied.begin() + 525, occupied.end()}), 0.9);
}

}  // namespace
}  // namespace s5066::modem
