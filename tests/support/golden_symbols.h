// SPDX-License-Identifier: Apache-2.0
// The message of the reference's symbol files, and checksums of symbols in the text format of those
// files.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "modem/dsp/complex_math.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

inline ByteSpan golden_message() {
  constexpr std::string_view kFox = "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG 1234567890";
  return {reinterpret_cast<const std::uint8_t*>(kFox.data()), kFox.size()};
}

/// CRC-32 as in ISO 3309.
class Crc32 {
 public:
  void add(char c) {
    state_ ^= static_cast<std::uint8_t>(c);
    for (int i = 0; i < 8; ++i) state_ = state_ >> 1 ^ (state_ & 1 ? 0xEDB88320U : 0);
  }
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = ~0U;
};

/// Returns the CRC of phases written as digits.
inline std::uint32_t crc32_of_digits(std::span<const std::uint8_t> phases) {
  Crc32 crc;
  for (const std::uint8_t phase : phases) crc.add(static_cast<char>('0' + phase));
  return crc.value();
}

inline double unsigned_zero(float x) {
  return std::abs(x) < 5e-7F ? 0.0 : static_cast<double>(x);
}

/// Returns the CRC of points written as text, one per line; a zero has no sign.
inline std::uint32_t crc32_of_points(std::span<const dsp::Complex> points) {
  Crc32 crc;
  for (const dsp::Complex& z : points) {
    std::array<char, 64> line{};
    const int length = std::snprintf(line.data(), line.size(), "%.6f %.6f\n",
                                     unsigned_zero(z.real()), unsigned_zero(z.imag()));
    for (int i = 0; i < length; ++i) crc.add(line[static_cast<std::size_t>(i)]);
  }
  return crc.value();
}

}  // namespace s5066::modem
