// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/level_meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace s5066::modem {
namespace {

using Verdict = LevelMeter::Verdict;

LevelMeter::Reading reading_of(const std::vector<float>& samples) {
  LevelMeter meter;
  meter.process(samples);
  return meter.take();
}

std::vector<float> tone(double amplitude) {
  std::vector<float> samples(9600);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<float>(amplitude * std::sin(0.7 * static_cast<double>(i)));
  }
  return samples;
}

TEST(LevelMeter, tells_power_and_peak_without_a_constant_voltage) {
  std::vector<float> samples = tone(0.5);
  for (float& sample : samples) sample += 0.25F;
  const auto reading = reading_of(samples);
  EXPECT_NEAR(power_db(reading.power), 10 * std::log10(0.125), 0.01);
  EXPECT_NEAR(reading.peak, 0.75, 1e-3);
  EXPECT_NEAR(reading.mean, 0.25, 1e-3);
  EXPECT_EQ(reading.verdict(), Verdict::good);
}

TEST(LevelMeter, each_verdict_begins_where_it_says) {
  EXPECT_EQ(reading_of(std::vector<float>(100)).verdict(), Verdict::silent);
  EXPECT_EQ(reading_of({}).verdict(), Verdict::silent);
  const double edge = std::sqrt(2e-6);  // amplitude of a sine of -60 dB
  EXPECT_EQ(reading_of(tone(1.01 * edge)).verdict(), Verdict::good);
  EXPECT_EQ(reading_of(tone(0.99 * edge)).verdict(), Verdict::too_low);
  std::vector<float> samples(200000, 0.1F);
  samples[0] = samples[1] = 0.998F;
  samples[2] = 0.9979F;
  EXPECT_EQ(reading_of(samples).verdict(), Verdict::good);
  samples[2] = -0.998F;
  EXPECT_EQ(reading_of(samples).clipped, 3U);
  EXPECT_EQ(reading_of(samples).verdict(), Verdict::clipping);
}

TEST(LevelMeter, what_is_no_number_is_counted_and_left_out) {
  std::vector<float> samples = tone(0.5);
  samples[7] = std::numeric_limits<float>::quiet_NaN();
  samples[8] = std::numeric_limits<float>::infinity();
  const auto reading = reading_of(samples);
  EXPECT_EQ(reading.not_numbers, 2U);
  EXPECT_EQ(reading.samples, samples.size() - 2);
  EXPECT_TRUE(std::isfinite(reading.power));
  EXPECT_EQ(reading.verdict(), Verdict::good);
}

TEST(LevelMeter, begins_anew_after_each_reading) {
  LevelMeter meter;
  meter.process(tone(1));
  EXPECT_EQ(meter.take().verdict(), Verdict::clipping);
  meter.process(tone(0.1));
  EXPECT_EQ(meter.take().verdict(), Verdict::good);
  EXPECT_EQ(meter.take().samples, 0U);
}

}  // namespace
}  // namespace s5066::modem
