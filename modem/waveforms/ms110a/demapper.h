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

/// The same for bits of which something is known before: `prior` holds their log-likelihood ratios.
/// What goes to `llr` leaves out a bit's own prior; the symbol is what all of it together says.
SoftSymbol demap_again(std::span<const float> prior, dsp::Complex estimate, float variance,
                       std::uint8_t scrambler, std::span<float> llr);

/// The symbol as far as the ratios of its bits tell.
SoftSymbol symbol_of(std::span<const float> llr, std::uint8_t scrambler);

}  // namespace s5066::modem::ms110a
