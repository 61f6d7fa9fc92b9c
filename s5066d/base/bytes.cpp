// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/bytes.h"

namespace s5066 {

void put_u16(Bytes& out, std::uint16_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_u32(Bytes& out, std::uint32_t value) {
  put_u16(out, static_cast<std::uint16_t>(value >> 16));
  put_u16(out, static_cast<std::uint16_t>(value));
}

void append(Bytes& out, ByteSpan more) {
  out.insert(out.end(), more.begin(), more.end());
}

std::uint16_t get_u16(ByteSpan from, std::size_t at) {
  S5066_ASSERT(at + 2 <= from.size());
  return static_cast<std::uint16_t>(from[at] << 8 | from[at + 1]);
}

std::uint32_t get_u32(ByteSpan from, std::size_t at) {
  return std::uint32_t{get_u16(from, at)} << 16 | get_u16(from, at + 2);
}

std::string to_hex(ByteSpan bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size() * 3);
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text.push_back(' ');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

Result<Bytes> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  Bytes out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    const int high = digit(c);
    const int low = i + 1 < text.size() ? digit(text[i + 1]) : -1;
    if (high < 0 || low < 0) return Error{ErrorCode::bad_field, "hex digit"};
    out.push_back(static_cast<std::uint8_t>(high << 4 | low));
    ++i;
  }
  return out;
}

}  // namespace s5066
