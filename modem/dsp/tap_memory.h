// SPDX-License-Identifier: Apache-2.0
// How long a tap of a fading channel stays as it is.
#pragma once

#include <cmath>

namespace s5066::modem::dsp {

/// Returns the correlation of a tap with itself over a time. It is first-order and equal to that of
/// the Gaussian spectrum where that is 0.9.
inline float tap_memory(double seconds, double doppler_hz) {
  return static_cast<float>(std::pow(0.9, seconds * doppler_hz / 0.146));
}

}  // namespace s5066::modem::dsp
