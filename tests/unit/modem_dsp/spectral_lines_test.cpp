// SPDX-License-Identifier: Apache-2.0
// SpectralLines tells how much of the power of a sound lies in a few lines of its spectrum.
#include "modem/dsp/spectral_lines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::dsp {
namespace {

constexpr double kRate = 4800;
using Sound = std::vector<Complex>;

void add_tone(Sound& sound, double hz, double amplitude) {
  for (std::size_t i = 0; i < sound.size(); ++i) {
    const double angle = 2 * std::numbers::pi * hz / kRate * static_cast<double>(i);
    sound[i] += Complex(std::polar(amplitude, angle));
  }
}
void add_noise(Sound& sound, double deviation) {
  Rng rng(1);
  for (auto& sample : sound) {
    const double real = rng.gaussian();
    sample += Complex(std::complex<double>(deviation * real, deviation * rng.gaussian()));
  }
}
float share_of(const Sound& sound) {
  return SpectralLines().share(sound);
}

TEST(SpectralLines, hold_nearly_all_of_steady_tones_wherever_they_lie) {
  for (const double hz : {0.0, 1.1, 300.0, -777.7}) {
    Sound sound(SpectralLines::kSamples);
    add_tone(sound, hz, 1);
    EXPECT_GT(share_of(sound), 0.99F) << hz;
    // These are the harmonics of a square wave.
    for (int i = 1; i < 12; ++i) add_tone(sound, hz + 200 * i, 1.0 / (2 * i + 1));
    EXPECT_GT(share_of(sound), 0.98F) << hz;
  }
}

TEST(SpectralLines, hold_the_share_of_the_tone_where_noise_is_added) {
  Sound sound(SpectralLines::kSamples);
  add_tone(sound, 123, 1);
  add_noise(sound, std::sqrt(0.5));
  EXPECT_NEAR(share_of(sound), 0.5F + 0.5F * 0.15F, 0.05F);
}

TEST(SpectralLines, hold_little_of_noise_and_nothing_of_silence) {
  Sound sound(SpectralLines::kSamples);
  EXPECT_EQ(share_of(sound), 0);
  add_noise(sound, 1);
  EXPECT_LT(share_of(sound), 0.2F);
}

}  // namespace
}  // namespace s5066::modem::dsp
