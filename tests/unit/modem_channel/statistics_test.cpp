// SPDX-License-Identifier: Apache-2.0
// These tests compare the channel with the figures of its definition (ITU-R F.1487;
// MIL-STD-188-110C appendix E): delay, Doppler spectrum and envelope of fading paths, and the
// effects of radios and clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modem/channel/impairments.h"
#include "modem/channel/watterson.h"

namespace s5066::modem::channel {
namespace {

using std::numbers::pi;
constexpr double kRate = 9600;

std::vector<float> tone(double hz, std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples[i] = static_cast<float>(std::sin(2 * pi * hz * static_cast<double>(i) / kRate));
  }
  return samples;
}

double power(std::span<const float> samples) {
  double sum = 0;
  for (const float x : samples) sum += static_cast<double>(x) * static_cast<double>(x);
  return sum / static_cast<double>(samples.size());
}

double decibels(double ratio) {
  return 10 * std::log10(ratio);
}

// Returns the gains that the process makes, 64 for each 1 / spread.
std::vector<std::complex<double>> gains(double spread_hz, std::size_t count, std::uint64_t seed) {
  FadingGain gain(spread_hz, 64 * spread_hz, Rng(seed));
  std::vector<std::complex<double>> values(count);
  for (auto& value : values) value = std::complex<double>(gain.next());
  return values;
}

TEST(FadingStatistics, the_envelope_is_rayleigh) {
  for (const double spread_hz : {0.5, 1.0, 20.0}) {
    std::vector<double> envelope;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      for (const auto& g : gains(spread_hz, 64 * 4000, seed)) envelope.push_back(std::abs(g));
    }
    std::sort(envelope.begin(), envelope.end());
    for (const double level_db : {-20.0, -10.0, -3.0, 0.0, 3.0, 6.0}) {
      const double level = std::pow(10, level_db / 20);
      const auto below = std::lower_bound(envelope.begin(), envelope.end(), level);
      const double share =
          static_cast<double>(below - envelope.begin()) / static_cast<double>(envelope.size());
      const double expected = 1 - std::exp(-level * level);
      EXPECT_NEAR(share / expected, 1, 0.08) << spread_hz << " Hz, " << level_db << " dB";
    }
  }
}

// The spectrum is right within 1.5 dB where it is 20 dB down, and within 2 dB where it is 30 dB
// down.
TEST(FadingStatistics, the_doppler_spectrum_is_gaussian_far_down) {
  const double spread_hz = 1;
  constexpr std::size_t kBlock = 64 * 16;  // 16 units of 1 / spread, 16 s here
  std::vector<double> at_hz = {0.0, 0.25, 0.5, 1.0, 1.52, 1.86};
  std::vector<double> spectrum(at_hz.size());
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto g = gains(spread_hz, 100 * kBlock, seed);
    for (std::size_t block = 0; block < 100; ++block) {
      for (std::size_t f = 0; f < at_hz.size(); ++f) {
        for (const double sign : {-1.0, 1.0}) {
          std::complex<double> sum;
          for (std::size_t i = 0; i < kBlock; ++i) {
            const double hann = 0.5 - 0.5 * std::cos(2 * pi * static_cast<double>(i) / kBlock);
            sum += hann * g[block * kBlock + i] *
                   std::polar(1.0, sign * 2 * pi * at_hz[f] * static_cast<double>(i) / 64);
          }
          spectrum[f] += std::norm(sum);
        }
      }
    }
  }
  for (std::size_t f = 1; f < at_hz.size(); ++f) {
    const double expected = decibels(std::exp(-2 * at_hz[f] * at_hz[f]));
    EXPECT_NEAR(decibels(spectrum[f] / spectrum[0]), expected, expected < -25 ? 2 : 1.5)
        << at_hz[f];
  }
}

TEST(FadingStatistics, a_tap_forgets_itself_as_the_spread_says) {
  for (const double spread_hz : {0.5, 10.0}) {
    double now = 0;
    double later = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto g = gains(spread_hz, 64 * 4000, seed);
      const std::size_t lag = 9;  // 9 / 64 of 1 / spread
      for (std::size_t i = 0; i + lag < g.size(); ++i) {
        now += std::norm(g[i]);
        later += (std::conj(g[i]) * g[i + lag]).real();
      }
    }
    EXPECT_NEAR(later / now, std::exp(-pi * pi * std::pow(9.0 / 64, 2) / 2), 0.01);
  }
}

TEST(WattersonStatistics, both_paths_come_with_their_delay_and_half_of_the_power) {
  Watterson channel({.paths = {Path{.spread_hz = 1}, Path{.delay_ms = 5, .spread_hz = 1}}}, Rng(3));
  // The pulses are 50 ms apart, so that the echo of each is seen by itself.
  std::vector<float> samples(480 * 20000, 0.0F);
  for (std::size_t i = 0; i < samples.size(); i += 480) samples[i] = 1;
  channel.process(samples);
  std::vector<double> mean(480);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    mean[i % 480] += static_cast<double>(samples[i]) * static_cast<double>(samples[i]) / 20000;
  }
  const std::size_t first = Watterson::kDelaySamples;
  const std::size_t second = first + 48;
  // The Hilbert transform spreads half of a pulse's power, so the test compares the peaks.
  EXPECT_NEAR(decibels(mean[second] / mean[first]), 0, 0.7);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (i == first || i == second) continue;
    EXPECT_LT(mean[i], mean[first]) << i;
  }
}

TEST(RigFilter, passes_the_voice_band_and_nothing_else) {
  for (const double hz : {400.0, 1000.0, 1800.0, 2500.0, 2900.0}) {
    RigFilter filter({});
    auto samples = tone(hz, 9600);
    filter.process(samples);
    EXPECT_NEAR(decibels(2 * power(std::span(samples).subspan(400))), 0, 0.1) << hz;
  }
  for (const double hz : {50.0, 100.0, 3200.0, 4000.0, 4700.0}) {
    RigFilter filter({});
    auto samples = tone(hz, 9600);
    filter.process(samples);
    EXPECT_LT(decibels(2 * power(std::span(samples).subspan(400))), -40) << hz;
  }
}

TEST(ClockSkew, yields_samples_by_the_ratio_of_the_clocks_and_keeps_tones_clean) {
  for (const double ppm : {-100.0, 0.0, 100.0}) {
    ClockSkew skew(ppm);
    const auto in = tone(3400, 200000);
    std::vector<float> out;
    for (std::size_t at = 0; at < in.size(); at += 1000) {
      skew.process(std::span(in).subspan(at, 1000), out);
    }
    EXPECT_NEAR(static_cast<double>(out.size()), 200000 * (1 + ppm * 1e-6), 40);
    // The rest is what remains after the tone at its present frequency is subtracted.
    const double step = 2 * pi * 3400 / (1 + ppm * 1e-6) / kRate;
    std::complex<double> sum;
    const std::size_t skip = 100;
    for (std::size_t i = skip; i < out.size(); ++i) {
      sum += static_cast<double>(out[i]) * std::polar(1.0, -step * static_cast<double>(i));
    }
    sum *= 2.0 / static_cast<double>(out.size() - skip);
    EXPECT_NEAR(std::abs(sum), 1, 0.01);
    double rest = 0;
    for (std::size_t i = skip; i < out.size(); ++i) {
      const double expected = (sum * std::polar(1.0, step * static_cast<double>(i))).real();
      rest += std::pow(static_cast<double>(out[i]) - expected, 2);
    }
    EXPECT_LT(decibels(2 * rest / static_cast<double>(out.size() - skip)), -50) << ppm;
  }
}

TEST(ImpulseNoise, comes_as_often_and_as_long_as_asked) {
  ImpulseNoise noise({.per_second = 4, .mean_length_s = 0.01, .deviation = 2}, Rng(1));
  std::vector<float> samples(9600 * 500, 0.0F);
  noise.process(samples);
  std::size_t crashes = 0;
  std::size_t loud = 0;
  bool before = false;
  for (const float x : samples) {
    const bool now = x != 0;
    crashes += now && !before;
    loud += now;
    before = now;
  }
  const double quiet_seconds = 500 - static_cast<double>(loud) / kRate;
  EXPECT_NEAR(static_cast<double>(crashes) / quiet_seconds, 4, 0.4);
  EXPECT_NEAR(static_cast<double>(loud) / static_cast<double>(crashes) / kRate, 0.01, 0.001);
  EXPECT_NEAR(power(samples) * static_cast<double>(samples.size()) / static_cast<double>(loud), 4,
              0.2);
}

}  // namespace
}  // namespace s5066::modem::channel
