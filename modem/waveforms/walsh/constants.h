// SPDX-License-Identifier: Apache-2.0
// The constants that the files of the demodulator share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "modem/api/airtime.h"
#include "modem/waveforms/walsh/signal.h"

namespace s5066::modem::walsh {

inline constexpr int kReach = 56;  // half-symbol samples, 11.7 ms to either side
inline constexpr std::size_t kDelays = 2 * kReach + 1;
inline constexpr double kFrameSeconds = static_cast<double>(kSetSymbols) / kSymbolRate;
inline constexpr float kNoiseMinShare = 1e-5F;  // least share of noise in the signal
inline constexpr float kTiny = 1e-20F;

inline float log_sum(const std::array<float, 4>& x) {
  const float top = *std::max_element(x.begin(), x.end());
  float sum = 0;
  for (const float value : x) sum += std::exp(value - top);
  return top + std::log(sum);
}

}  // namespace s5066::modem::walsh
