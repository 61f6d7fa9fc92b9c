// SPDX-License-Identifier: Apache-2.0
#include "modem/channel/simulated_channel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace s5066::modem::channel {
namespace {

double power_of(const std::vector<float>& samples) {
  double sum = 0;
  for (const float x : samples) sum += static_cast<double>(x) * static_cast<double>(x);
  return sum / static_cast<double>(samples.size());
}

std::vector<float> through(const SimulatedChannel::Config& config, std::vector<float> samples) {
  Rng rng(5);
  SimulatedChannel channel(config, rng);
  channel.process(samples);
  return samples;
}

TEST(SimulatedChannel, a_path_that_changes_nothing_adds_no_delay) {
  Rng rng(1);
  const SimulatedChannel channel({.snr_db = 300}, rng);
  EXPECT_EQ(channel.delay_samples(), 0U);
  const std::vector<float> ones(100, 1.0F);
  EXPECT_EQ(through({.snr_db = 300}, ones), ones);
}

TEST(SimulatedChannel, its_parts_draw_as_they_do_alone) {
  const std::vector<float> silence(5000);
  Rng rng(5);
  Watterson fading({.paths = paths_by_name("poor"), .offset_hz = 10}, rng.fork());
  Awgn noise(noise_deviation(0.5, 6, 9600), rng.fork());
  std::vector<float> alone(5000, 0.3F);
  fading.process(alone);
  noise.process(alone);
  const SimulatedChannel::Config config{
      .paths = paths_by_name("poor"), .offset_hz = 10, .signal_power = 0.5, .snr_db = 6};
  EXPECT_EQ(through(config, std::vector<float>(5000, 0.3F)), alone);
}

TEST(SimulatedChannel, noise_is_as_strong_as_the_ratio_says_and_the_filter_takes_its_share) {
  const std::vector<float> silence(400000);
  SimulatedChannel::Config config{.signal_power = 0.01, .snr_db = 0};
  EXPECT_NEAR(10 * std::log10(power_of(through(config, silence))), -20 + 2.04, 0.05);
  config.filter.emplace();  // the filter passes 2700 of 4800 Hz
  EXPECT_NEAR(10 * std::log10(power_of(through(config, silence))), -20 - 0.46, 0.1);
}

TEST(SimulatedChannel, crashes_of_static_come_on_top) {
  const std::vector<float> silence(400000);
  SimulatedChannel::Config config{.signal_power = 0.01, .snr_db = 300};
  EXPECT_LT(power_of(through(config, silence)), 1e-9);
  config.impulses = ImpulseNoise::Config{.per_second = 10, .mean_length_s = 0.01, .deviation = 1};
  // The noise is on for 0.01 s in every 0.11 s.
  EXPECT_NEAR(power_of(through(config, silence)), 1.0 / 11, 0.02);
}

TEST(SimulatedChannel, a_faster_clock_of_the_receiver_makes_more_samples) {
  const std::vector<float> silence(100000);
  EXPECT_NEAR(static_cast<double>(through({.skew_ppm = 1000}, silence).size()), 100100, 25);
  EXPECT_NEAR(static_cast<double>(through({.skew_ppm = -1000}, silence).size()), 99900, 25);
}

}  // namespace
}  // namespace s5066::modem::channel
