// Moves real audio at 9600/s from a carrier down to zero frequency and halves its rate: two complex
// samples for each symbol at 2400 Bd. The band stays flat, so that noise stays white in it;
// matching to the pulse is left to the equaliser, which learns the pulse together with the channel.
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
  /// Output m stands for the input 2m + 1 - kDelay, where numbers count from 0.
  static constexpr std::size_t kDelay = (kTaps - 1) / 2;

  /// Carrier 1800 Hz at 9600/s, which turns in 16 samples.
  Downconverter();

  /// More samples at once than this take memory for themselves.
  static constexpr std::size_t kPortion = 1024;
  /// An even number of samples; appends half as many.
  void process(std::span<const float> in, std::vector<Complex>& out);

  /// As if no sample had come.
  void restart();

  /// Power of white noise behind the filter over what it would be without: the part of the output
  /// band that is open.
  float noise_share() const { return noise_share_; }

 private:
  static constexpr std::size_t kCarrierPeriod = 16;

  std::array<float, kTaps> real_taps_{};  // reversed and turned up to the carrier
  std::array<float, kTaps> imag_taps_{};
  std::array<Complex, kCarrierPeriod> turn_{};
  std::vector<float> line_;
  std::size_t phase_ = 0;
  float noise_share_ = 1;
};

}  // namespace s5066::modem::dsp
