// SPDX-License-Identifier: Apache-2.0
// Measures how fast the response of a channel changes, by the fall of its correlation with its
// later values.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::framed {

class DopplerMeter {
 public:
  static constexpr double kMinHz = 0.1;
  static constexpr double kMaxHz = 15;

  /// The spread is `expected_hz` until responses were received.
  explicit DopplerMeter(double expected_hz) : doppler_hz_(expected_hz) {}

  /// Adds a stretch of responses with `taps` values each, at this interval. Each must be raw, which
  /// means measured by itself, because smoothed ones would show the expectation of the smoother.
  /// `weight` is the power of each tap.
  void add(std::span<const dsp::Complex> responses, std::span<const float> weight,
           double step_seconds);
  /// Returns two standard deviations of the spectrum.
  double doppler_hz() const { return doppler_hz_; }

 private:
  static constexpr std::size_t kLags = 8;  // 1, 2, 4 ... steps

  double measured(double step_seconds) const;

  double doppler_hz_;
  std::array<std::complex<double>, kLags> sums_{};
  std::array<double, kLags> pairs_{};
};

}  // namespace s5066::modem::framed
