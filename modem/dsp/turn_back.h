// Takes a carrier's offset out of complex samples.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

/// Samples from number `first` on, turned back by so many turns in a sample; the phase is 0 at
/// sample 0 of the stream. As many go out as come in.
void turn_back(std::span<const Complex> samples, std::int64_t first, double turns,
               std::span<Complex> out);

}  // namespace s5066::modem::dsp
