// SPDX-License-Identifier: Apache-2.0
// Byte strings: big-endian reads and writes, hex for people and tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/result.h"

namespace s5066 {

using Bytes = std::vector<std::uint8_t>;
using ByteSpan = std::span<const std::uint8_t>;

/// A run of octets: of a U_PDU, a C_PDU, …, counted from its first octet.
struct OctetRange {
  std::uint16_t offset = 0;
  std::uint16_t octets = 0;
  friend bool operator==(const OctetRange&, const OctetRange&) = default;
};

void put_u16(Bytes& out, std::uint16_t value);
void put_u32(Bytes& out, std::uint32_t value);
void append(Bytes& out, ByteSpan more);

/// Reads two or four octets at `at`, which must exist.
std::uint16_t get_u16(ByteSpan from, std::size_t at);
std::uint32_t get_u32(ByteSpan from, std::size_t at);

/// Returns text like "90 EB 00".
std::string to_hex(ByteSpan bytes);
/// Reads pairs of hex digits; white space between octets is ignored.
Result<Bytes> from_hex(std::string_view text);

}  // namespace s5066
