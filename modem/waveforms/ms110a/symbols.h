// SPDX-License-Identifier: Apache-2.0
// Makes the 8-PSK symbols of a whole transmission from octets: preamble, coded and interleaved data
// with end-of-message mark and flush, probes, scrambling (MIL-STD-188-110A 5.3.2). Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "modem/waveforms/ms110a/parameters.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem::ms110a {

inline constexpr unsigned kFlushBits = 144;

/// Returns the tribits of one preamble segment.
std::array<std::uint8_t, kSegmentSymbols> preamble_segment(std::uint8_t d1, std::uint8_t d2,
                                                           unsigned count);

/// Returns the tribits 0..7 of the transmission, one for each symbol. Octets go out least
/// significant bit first.
/// first.
std::vector<std::uint8_t> symbols(const Parameters& p, ByteSpan bytes);

}  // namespace s5066::modem::ms110a
