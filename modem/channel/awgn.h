// SPDX-License-Identifier: Apache-2.0
// White Gaussian noise for real samples. Its level is absolute, because noise is present whether or
// not a station transmits. For a signal-to-noise ratio the power of the signal must be known.
#pragma once

#include <span>

#include "s5066d/base/rng.h"

namespace s5066::modem::channel {

/// Signal-to-noise ratios of HF waveforms count the noise in this bandwidth.
inline constexpr double kNoiseBandwidthHz = 3000;

/// Returns the standard deviation of white noise that gives a signal of mean power `signal_power`
/// the ratio `snr_db` in 3 kHz.
double noise_deviation(double signal_power, double snr_db, double sample_rate);

class Awgn {
 public:
  Awgn(double deviation, const Rng& rng) : deviation_(deviation), rng_(rng) {}

  void set_deviation(double deviation) { deviation_ = deviation; }
  /// This function adds the noise in place.
  void process(std::span<float> samples);

 private:
  double deviation_;
  Rng rng_;
};

}  // namespace s5066::modem::channel
