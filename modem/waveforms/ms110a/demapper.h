// From an equalised symbol to soft bits, and to the symbol as far as it is known by itself.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::ms110a {

struct SoftSymbol {
  dsp::Complex mean;
  float variance = 1;
};

/// `estimate` is the symbol plus noise of that variance, scrambled by `scrambler`. Writes a
/// log-likelihood ratio for each bit, positive for 0, first bit first; returns the symbol's mean
/// and variance, still scrambled.
SoftSymbol demap(unsigned bits_per_symbol, dsp::Complex estimate, float variance,
                 std::uint8_t scrambler, std::span<float> llr);

}  // namespace s5066::modem::ms110a
