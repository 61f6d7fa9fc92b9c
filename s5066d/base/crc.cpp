// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/crc.h"

#include <array>
#include <cstddef>

namespace s5066 {
namespace {

template <typename Word>
constexpr std::array<Word, 256> make_table(Word reflected_polynomial) {
  std::array<Word, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    Word word = static_cast<Word>(i);
    for (int bit = 0; bit < 8; ++bit) {
      word = static_cast<Word>(word & 1 ? (word >> 1) ^ reflected_polynomial : word >> 1);
    }
    table[i] = word;
  }
  return table;
}

constexpr auto kHeaderTable = make_table<std::uint16_t>(0x9299);
constexpr auto kSegmentTable = make_table<std::uint32_t>(0xF3A4E550u);

/// Segments are long, and their CRC is the main cost of a D_PDU, so it processes eight octets at a
/// time: table k has the effect of an octet followed by k more octets.
constexpr std::size_t kSlices = 8;
constexpr auto kSegmentSlices = [] {
  std::array<std::array<std::uint32_t, 256>, kSlices> slices{};
  slices[0] = kSegmentTable;
  for (std::size_t k = 1; k < kSlices; ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t before = slices[k - 1][i];
      slices[k][i] = before >> 8 ^ kSegmentTable[before & 0xFF];
    }
  }
  return slices;
}();
static_assert(kHeaderTable[1] == 0x0ED2 && kHeaderTable[255] == 0x05B1);
static_assert(kSegmentTable[1] == 0xCEAA95CEu && kSegmentTable[255] == 0xE75ECADAu);

/// Reads four octets, the least significant first.
std::uint32_t four_octets(const std::uint8_t* at) {
  return at[0] | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 |
         std::uint32_t{at[3]} << 24;
}

}  // namespace

std::uint16_t header_crc(std::span<const std::uint8_t> bytes) {
  unsigned crc = 0;
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ kHeaderTable[(crc ^ byte) & 0xFF];
  return static_cast<std::uint16_t>(crc);
}

std::uint32_t segment_crc(std::span<const std::uint8_t> bytes) {
  const auto& t = kSegmentSlices;
  std::uint32_t crc = 0;
  while (bytes.size() >= kSlices) {
    const std::uint32_t low = crc ^ four_octets(bytes.data());
    const std::uint32_t high = four_octets(bytes.data() + 4);
    crc = t[7][low & 0xFF] ^ t[6][low >> 8 & 0xFF] ^ t[5][low >> 16 & 0xFF] ^ t[4][low >> 24] ^
          t[3][high & 0xFF] ^ t[2][high >> 8 & 0xFF] ^ t[1][high >> 16 & 0xFF] ^ t[0][high >> 24];
    bytes = bytes.subspan(kSlices);
  }
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ kSegmentTable[(crc ^ byte) & 0xFF];
  return crc;
}

}  // namespace s5066
