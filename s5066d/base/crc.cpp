#include "s5066d/base/crc.h"

#include <array>

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
static_assert(kHeaderTable[1] == 0x0ED2 && kHeaderTable[255] == 0x05B1);
static_assert(kSegmentTable[1] == 0xCEAA95CEu && kSegmentTable[255] == 0xE75ECADAu);

}  // namespace

std::uint16_t header_crc(std::span<const std::uint8_t> bytes) {
  unsigned crc = 0;
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ kHeaderTable[(crc ^ byte) & 0xFF];
  return static_cast<std::uint16_t>(crc);
}

std::uint32_t segment_crc(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = 0;
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ kSegmentTable[(crc ^ byte) & 0xFF];
  return crc;
}

}  // namespace s5066
