// SPDX-License-Identifier: Apache-2.0
// The constellations that STANAG 4539, STANAG 4285 and 110D share: two, four and eight phases, and
// squares of 16 to 256 points with their corners moved in.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::framed {

inline constexpr unsigned kPhasePoints = 8;

/// Returns one of the eight phases.
dsp::Complex phase(unsigned number);
/// Returns all eight phases.
std::span<const dsp::Complex> constellation_of_phases();
/// Returns the phase for a group of one, two or three bits, first bit most significant.
std::uint8_t phase_number(unsigned bits_per_symbol, unsigned bits);

/// For 1 to 3 bits, returns the phases for each group; for 4, 5, 6 or 8 bits, the points by number.
std::span<const dsp::Complex> constellation(unsigned bits_per_symbol);

/// A 9-bit register of x^9 + x^4 + 1 whose last bits scramble data symbols: they are added to a
/// phase, or exclusive-ored to the number of another point. After each value the register is
/// shifted once for each bit.
void scrambler_values(unsigned seed, unsigned bits, std::span<std::uint8_t> values);
template <std::size_t kCount>
std::array<std::uint8_t, kCount> scrambler_values(unsigned seed, unsigned bits) {
  std::array<std::uint8_t, kCount> values{};
  scrambler_values(seed, bits, values);
  return values;
}

}  // namespace s5066::modem::framed
