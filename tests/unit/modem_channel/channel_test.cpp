// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "modem/channel/awgn.h"
#include "modem/channel/watterson.h"

namespace s5066::modem::channel {
namespace {

constexpr double kRate = 9600;

std::vector<float> tone(double frequency, double amplitude, std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * frequency * static_cast<double>(i) / kRate;
    samples[i] = static_cast<float>(amplitude * std::cos(angle));
  }
  return samples;
}

// Returns the complex amplitude of a tone over all samples. The tone's power is half its square.
std::complex<double> amplitude(std::span<const float> samples, double frequency) {
  std::complex<double> sum;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double angle = 2 * std::numbers::pi * frequency * static_cast<double>(i) / kRate;
    sum += static_cast<double>(samples[i]) * std::polar(1.0, -angle);
  }
  return 2.0 * sum / static_cast<double>(samples.size());
}

double power(std::span<const float> samples) {
  double sum = 0;
  for (const float x : samples) sum += double{x} * x;
  return sum / static_cast<double>(samples.size());
}

// [MIL-STD-188-110C E.5] The signal-to-noise ratio of a tone is within 0.25 dB.
TEST(Awgn, a_tone_has_the_ratio_that_was_asked_for) {
  for (const double snr_db : {-5.0, 3.0, 10.0, 25.0}) {
    std::vector<float> samples(960000, 0.0F);
    Awgn noise(noise_deviation(0.5, snr_db, kRate), Rng(7));
    noise.process(samples);
    const double in_3_khz = power(samples) * kNoiseBandwidthHz / (kRate / 2);
    EXPECT_NEAR(10 * std::log10(0.5 / in_3_khz), snr_db, 0.25);
  }
}

TEST(Awgn, is_white) {
  std::vector<float> samples(200000, 0.0F);
  Awgn noise(1, Rng(8));
  noise.process(samples);
  for (std::size_t lag = 1; lag < 20; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < samples.size(); ++i) sum += double{samples[i]} * samples[i - lag];
    EXPECT_NEAR(sum / 200000, 0, 0.012) << lag;
  }
}

TEST(Watterson, a_path_without_spread_delays_and_nothing_else) {
  for (const double frequency : {250.0, 600.0, 1800.0, 3000.0, 3400.0}) {
    Watterson channel({.paths = {Path{.delay_ms = 2}}}, Rng(1));
    auto samples = tone(frequency, 0.5, 20000);
    channel.process(samples);
    const std::size_t skip = 9600;
    const auto got = amplitude(std::span(samples).subspan(skip, 9600), frequency);
    const double delay = Watterson::kDelaySamples + 19;  // 2 ms are 19.2 samples
    const auto expected =
        std::polar(0.5, 2 * std::numbers::pi * frequency * (skip - delay) / kRate);
    EXPECT_LT(std::abs(got - expected), 0.01) << frequency;
  }
}

TEST(Watterson, an_offset_moves_a_tone) {
  Watterson channel({.offset_hz = 75}, Rng(1));
  auto samples = tone(1800, 0.5, 19200);
  channel.process(samples);
  EXPECT_NEAR(std::abs(amplitude(std::span(samples).subspan(9600), 1875)), 0.5, 0.005);
  EXPECT_NEAR(std::abs(amplitude(std::span(samples).subspan(9600), 1725)), 0, 0.005);
}

TEST(Watterson, output_does_not_depend_on_portions) {
  Rng rng(3);
  std::vector<float> whole(20000);
  for (float& x : whole) x = static_cast<float>(rng.gaussian());
  std::vector<float> pieces = whole;
  const Watterson::Config config{.paths = paths_by_name("poor"), .offset_hz = 5};
  Watterson(config, Rng(9)).process(whole);
  Watterson channel(config, Rng(9));
  for (std::size_t at = 0; at < pieces.size();) {
    const std::size_t count = std::min<std::size_t>(1 + rng.below(500), pieces.size() - at);
    channel.process(std::span(pieces).subspan(at, count));
    at += count;
  }
  EXPECT_EQ(pieces, whole);
}

// [MIL-STD-188-110C E.5] The test checks power and Doppler spread of a path. The spread follows
// from the autocorrelation exp(-pi^2 d^2 tau^2 / 2) of the gain.
TEST(FadingGain, has_unit_power_and_the_spread_that_was_asked_for) {
  for (const double spread : {0.5, 1.0, 5.0, 20.0}) {
    const double rate = 320 * spread;  // every case sees as many fades
    FadingGain fading(spread, rate, Rng(11));
    std::vector<std::complex<float>> gain(320 * 6000);
    for (auto& g : gain) g = fading.next();

    double mean = 0;
    double fourth = 0;
    for (const auto& g : gain) {
      mean += std::norm(g);
      fourth += std::norm(g) * std::norm(g);
    }
    mean /= static_cast<double>(gain.size());
    fourth /= static_cast<double>(gain.size());
    EXPECT_NEAR(mean, 1, 0.04) << spread;
    EXPECT_NEAR(fourth / (mean * mean), 2, 0.1) << spread;  // ratio of a Rayleigh envelope

    for (const double tau : {0.1, 0.2, 0.3}) {  // in units of 1 / spread
      const auto lag = static_cast<std::size_t>(tau / spread * rate);
      std::complex<double> sum;
      for (std::size_t i = lag; i < gain.size(); ++i) {
        sum += std::complex<double>(gain[i]) * std::conj(std::complex<double>(gain[i - lag]));
      }
      const double correlation = sum.real() / static_cast<double>(gain.size() - lag) / mean;
      const double expected = std::exp(-std::pow(std::numbers::pi * tau, 2) / 2);
      EXPECT_NEAR(correlation, expected, 0.025) << spread << " Hz, tau " << tau;
      const double measured = std::sqrt(-2 * std::log(correlation)) / (std::numbers::pi * tau);
      EXPECT_NEAR(measured, 1, 0.05) << spread << " Hz, tau " << tau;
    }
  }
}

TEST(Watterson, two_fading_paths_are_independent_and_keep_the_mean_power) {
  Watterson channel({.paths = paths_by_name("flutter"), .sample_rate = kRate}, Rng(4));
  double sum = 0;
  constexpr int kSeconds = 300;
  for (int i = 0; i < kSeconds; ++i) {
    auto samples = tone(1800, 1, 9600);
    channel.process(samples);
    sum += power(samples);
  }
  EXPECT_NEAR(10 * std::log10(sum / kSeconds / 0.5), 0, 0.5);
}

TEST(Watterson, knows_the_channels_by_name) {
  for (const auto name : channel_names()) EXPECT_EQ(paths_by_name(name).size(), 2u) << name;
  EXPECT_EQ(paths_by_name("poor")[1].delay_ms, 2);
  EXPECT_TRUE(paths_by_name("fine").empty());
}

}  // namespace
}  // namespace s5066::modem::channel
