// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/spectral_lines.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {
constexpr float kTiny = 1e-20F;
}

SpectralLines::SpectralLines()
    : window_(kSamples), turns_(kSamples / 2), spectrum_(kSamples), powers_(kSamples) {
  for (std::size_t i = 0; i < kSamples; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / kSamples;
    window_[i] = static_cast<float>(0.5 - 0.5 * std::cos(angle));
    if (i >= turns_.size()) continue;
    turns_[i] = {static_cast<float>(std::cos(angle)), static_cast<float>(-std::sin(angle))};
  }
}

float SpectralLines::share(std::span<const Complex> samples) {
  S5066_ASSERT(samples.size() == kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) spectrum_[i] = samples[i] * window_[i];
  transform();
  float total = kTiny;
  for (std::size_t i = 0; i < kSamples; ++i) {
    powers_[i] = std::norm(spectrum_[i]);
    total += powers_[i];
  }
  const auto strongest = powers_.begin() + kLines;
  std::nth_element(powers_.begin(), strongest, powers_.end(), std::greater<>());
  float lines = 0;
  for (auto power = powers_.begin(); power != strongest; ++power) lines += *power;
  return lines / total;
}

// Computes a Fourier transform in place; the size is a power of two.
void SpectralLines::transform() {
  for (std::size_t i = 0, j = 0; i < kSamples; ++i) {
    if (i < j) std::swap(spectrum_[i], spectrum_[j]);
    std::size_t bit = kSamples / 2;
    for (; bit > 0 && (j & bit) != 0; bit /= 2) j ^= bit;
    j |= bit;
  }
  for (std::size_t half = 1; half < kSamples; half *= 2) {
    const std::size_t step = turns_.size() / half;
    for (std::size_t first = 0; first < kSamples; first += 2 * half) {
      for (std::size_t i = 0; i < half; ++i) {
        Complex& a = spectrum_[first + i];
        Complex& b = spectrum_[first + half + i];
        const Complex turned = mul(b, turns_[step * i]);
        b = a - turned;
        a += turned;
      }
    }
  }
}

}  // namespace s5066::modem::dsp
