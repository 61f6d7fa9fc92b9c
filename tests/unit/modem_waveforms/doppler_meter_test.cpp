// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/doppler_meter.h"

#include <gtest/gtest.h>

#include "modem/channel/watterson.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::framed {
namespace {

constexpr double kStepSeconds = 41.0 / 2400;
constexpr std::size_t kTaps = 2;

// Returns the Doppler spread measured on two fading taps with noise of a tenth of their power,
// given to the meter in blocks of `steps` steps.
double measured(double spread_hz, std::size_t steps, double seconds, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<channel::FadingGain> gains;
  for (std::size_t i = 0; i < kTaps; ++i) {
    gains.emplace_back(std::max(spread_hz, 0.001), 1 / kStepSeconds, rng.fork());
  }
  const std::array<float, kTaps> weight = {1, 1};
  DopplerMeter meter(1);
  for (double at = 0; at < seconds; at += static_cast<double>(steps) * kStepSeconds) {
    std::vector<dsp::Complex> responses;
    for (std::size_t i = 0; i < steps * kTaps; ++i) {
      const dsp::Complex gain = spread_hz > 0 ? gains[i % kTaps].next() : dsp::Complex(1);
      const auto noise = [&] { return static_cast<float>(0.22 * rng.gaussian()); };
      responses.push_back(gain + dsp::Complex(noise(), noise()));
    }
    meter.add(responses, weight, kStepSeconds);
  }
  return meter.doppler_hz();
}

TEST(DopplerMeter, measures_long_blocks_to_within_a_third) {
  for (const double spread_hz : {0.5, 1.0, 3.0, 8.0}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const double hz = measured(spread_hz, 300, 60, seed);
      EXPECT_GT(hz, spread_hz / 1.5) << spread_hz;
      EXPECT_LT(hz, spread_hz * 1.5) << spread_hz;
    }
  }
}

TEST(DopplerMeter, puts_short_blocks_together) {
  for (const double spread_hz : {2.0, 8.0}) {
    const double hz = measured(spread_hz, 7, 60, 4);
    EXPECT_GT(hz, spread_hz / 2) << spread_hz;
    EXPECT_LT(hz, spread_hz * 2) << spread_hz;
  }
}

TEST(DopplerMeter, tells_a_channel_that_stands_still) {
  EXPECT_LT(measured(0, 300, 30, 5), 0.2);
  EXPECT_LT(measured(0, 36, 30, 6), 0.7);
}

TEST(DopplerMeter, expects_what_it_was_told_until_there_is_enough_to_measure) {
  DopplerMeter meter(0.4);
  EXPECT_DOUBLE_EQ(meter.doppler_hz(), 0.4);
  const std::vector<dsp::Complex> responses(3 * kTaps, 1);
  meter.add(responses, std::array<float, kTaps>{1, 1}, kStepSeconds);
  EXPECT_DOUBLE_EQ(meter.doppler_hz(), 0.4);
}

}  // namespace
}  // namespace s5066::modem::framed
