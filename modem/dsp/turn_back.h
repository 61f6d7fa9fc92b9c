// SPDX-License-Identifier: Apache-2.0
// Removes a carrier's offset from complex samples.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

/// The samples from number `first` on are turned back by `turns` turns in a sample; the phase is 0
/// at sample 0 of the stream. The output has as many samples as the input.
void turn_back(std::span<const Complex> samples, std::int64_t first, double turns,
               std::span<Complex> out);

}  // namespace s5066::modem::dsp
