// SPDX-License-Identifier: Apache-2.0
// Converts an equalised symbol to soft bits, and to the mean symbol with its variance.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::ms110a {

struct SoftSymbol {
  dsp::Complex mean;
  float variance = 1;
};

/// `estimate` is the symbol, scrambled by `scrambler`, plus noise of variance `variance`. Writes a
/// log-likelihood ratio for each bit, positive for 0, first bit first; returns the symbol's mean
/// and variance, still scrambled.
SoftSymbol demap(unsigned bits_per_symbol, dsp::Complex estimate, float variance,
                 std::uint8_t scrambler, std::span<float> llr);

/// Works as demap(), for bits with prior information: `prior` holds their log-likelihood ratios.
/// `llr` gets the information without a bit's own prior; the symbol includes all of it.
SoftSymbol demap_again(std::span<const float> prior, dsp::Complex estimate, float variance,
                       std::uint8_t scrambler, std::span<float> llr);

/// Returns the symbol's mean and variance by the ratios of its bits.
SoftSymbol symbol_of(std::span<const float> llr, std::uint8_t scrambler);

}  // namespace s5066::modem::ms110a
