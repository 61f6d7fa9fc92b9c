// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "modem/dsp/downconverter.h"
#include "modem/dsp/history.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::dsp {
namespace {

std::vector<Complex> convert(std::span<const float> samples) {
  Downconverter converter;
  std::vector<Complex> out;
  converter.process(samples, out);
  return out;
}

std::vector<float> tone(double frequency, std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * frequency * static_cast<double>(i) / 9600;
    samples[i] = static_cast<float>(std::cos(angle));
  }
  return samples;
}

double power_after_start(const std::vector<Complex>& samples) {
  double sum = 0;
  for (std::size_t i = 100; i < samples.size(); ++i) sum += std::norm(samples[i]);
  return sum / static_cast<double>(samples.size() - 100);
}

TEST(Downconverter, passes_the_signal_with_an_offset_and_stops_its_image) {
  for (const double frequency : {180.0, 700.0, 1800.0, 2900.0, 3495.0}) {
    const auto out = convert(tone(frequency, 9600));
    EXPECT_NEAR(10 * std::log10(power_after_start(out)), 0, 0.3) << frequency;
    double turned = 0;  // gives the frequency of the output
    for (std::size_t i = 101; i < out.size(); ++i)
      turned += std::arg(out[i] * std::conj(out[i - 1]));
    turned *= 4800 / (2 * std::numbers::pi) / static_cast<double>(out.size() - 101);
    EXPECT_NEAR(turned, frequency - 1800, 2) << frequency;
  }
  EXPECT_LT(10 * std::log10(power_after_start(convert(tone(4200, 9600)))), -45);
}

TEST(Downconverter, keeps_its_promises_on_delay_and_noise) {
  std::vector<float> pulse(960, 0.0F);
  for (int i = 0; i < 960; ++i) {
    const double t = (i - 401.0) / 12;
    pulse[static_cast<std::size_t>(i)] = static_cast<float>(
        std::exp(-t * t) * std::cos(2 * std::numbers::pi * 1800 * (i - 401) / 9600.0));
  }
  const auto out = convert(pulse);
  double weight = 0;
  double moment = 0;
  for (std::size_t m = 0; m < out.size(); ++m) {
    weight += std::norm(out[m]);
    moment += std::norm(out[m]) * (2.0 * static_cast<double>(m) + 1 - Downconverter::kDelay);
  }
  EXPECT_NEAR(moment / weight, 401, 0.05);

  Rng rng(1);
  std::vector<float> noise(960000);
  for (float& x : noise) x = static_cast<float>(rng.gaussian());
  // Real noise of variance 1 has variance 2 in the whole complex band of 4800 Hz.
  EXPECT_NEAR(power_after_start(convert(noise)), 2 * Downconverter().noise_share(), 0.02);
}

TEST(Downconverter, gives_the_same_for_any_portions) {
  const auto samples = tone(1000, 2000);
  const auto whole = convert(samples);
  Downconverter converter;
  std::vector<Complex> out;
  for (std::size_t at = 0; at < samples.size();) {
    const std::size_t count = std::min<std::size_t>(2 * (1 + at % 37), samples.size() - at);
    converter.process(std::span(samples).subspan(at, count), out);
    at += count;
  }
  EXPECT_EQ(out, whole);
}

TEST(History, holds_exactly_its_capacity) {
  History<int> history(8);
  std::vector<int> numbers(29);
  for (int i = 0; i < 29; ++i) numbers[static_cast<std::size_t>(i)] = i;
  history.push(numbers);
  EXPECT_EQ(history.end(), 29);
  EXPECT_TRUE(history.holds(21, 29));
  EXPECT_FALSE(history.holds(20, 29));
  EXPECT_FALSE(history.holds(25, 30));
  const auto window = history.window(21, 8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(window[static_cast<std::size_t>(i)], 21 + i);
}

}  // namespace
}  // namespace s5066::modem::dsp
