// SPDX-License-Identifier: Apache-2.0
// Measures how much of the power of a sound lies in a few lines of its spectrum. It is nearly all
// with steady tones, also with many of them as in a square wave, and little with noise, speech and
// data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

class SpectralLines {
 public:
  /// These are half-symbol samples for 0.43 s, so a line is 2.3 Hz wide.
  static constexpr std::size_t kSamples = 2048;
  /// The strongest lines are counted; each tone fills four.
  static constexpr std::size_t kLines = 64;

  SpectralLines();

  /// Returns the share for kSamples samples, from 0 to 1; it is 0 in silence.
  float share(std::span<const Complex> samples);

 private:
  void transform();

  std::vector<float> window_;
  std::vector<Complex> turns_;  // roots of unity
  std::vector<Complex> spectrum_;
  std::vector<float> powers_;
};

}  // namespace s5066::modem::dsp
