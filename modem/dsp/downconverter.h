// SPDX-License-Identifier: Apache-2.0
// Moves real audio at 9600 samples/s from a carrier to zero frequency and halves its rate, so that
// each symbol at 2400 Bd has two complex samples. The band stays flat, so that noise stays white.
// The equaliser matches the pulse, because it learns the pulse together with the channel.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

class Downconverter {
 public:
  static constexpr unsigned kDecimation = 2;
  static constexpr std::size_t kTaps = 97;
  /// Output m belongs to input 2m + 1 - kDelay; both count from 0.
  static constexpr std::size_t kDelay = (kTaps - 1) / 2;

  /// The carrier is 1800 Hz at 9600 samples/s, which has a period of 16 samples.
  Downconverter();

  /// More samples at once than this need extra memory.
  static constexpr std::size_t kPortion = 1024;
  /// `in` has an even number of samples; half as many are appended.
  void process(std::span<const float> in, std::vector<Complex>& out);

  /// Sets the state from before the first sample.
  void restart();

  /// Returns the power of white noise behind the filter relative to that before it, which is the
  /// open part of the output band.
  float noise_share() const { return noise_share_; }

 private:
  static constexpr std::size_t kCarrierPeriod = 16;

  std::array<float, kTaps> real_taps_{};  // reversed and shifted up to the carrier
  std::array<float, kTaps> imag_taps_{};
  std::array<Complex, kCarrierPeriod> turn_{};
  std::vector<float> line_;
  std::size_t phase_ = 0;
  float noise_share_ = 1;
};

}  // namespace s5066::modem::dsp
