// SPDX-License-Identifier: Apache-2.0
// The two cyclic redundancy checks of a D_PDU (C.3.2.8, C.3.2.11). Both are right-shift registers
// that start at 0, take the least significant bit of each octet first, and are not inverted; on
// the wire the low octet comes first.
#pragma once

#include <cstdint>
#include <span>

namespace s5066 {

/// Polynomial 0x19949; covers the header without the sync octets.
std::uint16_t header_crc(std::span<const std::uint8_t> bytes);

/// Polynomial 0x10AA725CF; covers the segment. An empty segment gives 0.
std::uint32_t segment_crc(std::span<const std::uint8_t> bytes);

}  // namespace s5066
