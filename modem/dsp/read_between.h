// SPDX-License-Identifier: Apache-2.0
// Reads a stream of complex samples at times between those of its samples.
#pragma once

#include "modem/dsp/complex_math.h"
#include "modem/dsp/history.h"

namespace s5066::modem::dsp {

/// Number of samples of the stream on either side that play a part in one between them.
inline constexpr std::int64_t kBetweenReach = 10;

/// Reads the samples at `from`, `from + step` and so on. The history holds kBetweenReach samples
/// before the first and behind the last. A signal within 0.7 of half the rate of the samples is
/// read with an error of -50 dB at most, and as it is at whole numbers.
void read_between(const History<Complex>& history, double from, double step,
                  std::span<Complex> out);

}  // namespace s5066::modem::dsp
