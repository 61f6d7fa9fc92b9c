// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/file_name.h"

#include <algorithm>
#include <cstdint>

#include "s5066d/base/assert.h"

namespace s5066::gateways {
namespace {

constexpr std::size_t kEndingBytesMax = 16;
constexpr std::string_view kTar = ".tar";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Decoded {
  std::uint32_t code_point;
  std::size_t bytes;  // 0: not UTF-8
};

// One code point; overlong forms, surrogates and values past U+10FFFF do not count as UTF-8.
Decoded decode_utf8(std::string_view text) {
  const auto octet = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = octet(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {0, 0};
  std::uint32_t code_point = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((octet(i) & 0xC0) != 0x80) return {0, 0};
    code_point = code_point << 6 | (octet(i) & 0x3Fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kSmallest[bytes] || code_point > 0x10FFFF || surrogate) return {0, 0};
  return {code_point, bytes};
}

bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

// Characters that show a name in another order than it is stored: "exe.txt" for "txt.exe".
bool turns_text(std::uint32_t code_point) {
  return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
         (code_point >= 0x202A && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

bool is_replaced(std::uint32_t code_point) {
  if (is_control(code_point) || turns_text(code_point)) return true;
  return code_point < 0x80 &&
         std::string_view("\"*<>?|").find(static_cast<char>(code_point)) != std::string_view::npos;
}

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns the place of the dot before the ending; the length of the name if it has no ending.
std::size_t ending_of(std::string_view name) {
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string_view::npos || dot == 0) return name.size();
  const std::string_view ending = name.substr(dot + 1);
  const bool plain =
      std::all_of(ending.begin(), ending.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (!plain || ending.size() > kEndingBytesMax ||
      std::none_of(ending.begin(), ending.end(), is_letter)) {
    return name.size();
  }
  const std::string_view stem = name.substr(0, dot);
  const bool archive = stem.size() > kTar.size() && stem.ends_with(kTar);
  return archive ? dot - kTar.size() : dot;
}

std::string_view truncate_utf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::string safe_file_name(std::string_view wire_name, std::string_view fallback) {
  const std::size_t separator = wire_name.find_last_of("/\\");
  if (separator != std::string_view::npos) wire_name.remove_prefix(separator + 1);
  if (wire_name.size() >= 2 && is_letter(wire_name[0]) && wire_name[1] == ':') {
    wire_name.remove_prefix(2);
  }
  std::string name;
  while (!wire_name.empty()) {
    const Decoded next = decode_utf8(wire_name);
    const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    if (next.bytes == 0) {
      name.append(kReplacement);
    } else if (is_replaced(next.code_point)) {
      name.push_back('_');
    } else {
      name.append(wire_name.substr(0, bytes));
    }
    wire_name.remove_prefix(bytes);
  }
  if (name.find_first_not_of('.') == std::string::npos) name = fallback;
  S5066_ASSERT(!name.empty());
  if (name.front() == '.') name.front() = '_';
  return std::string(truncate_utf8(name, kFileNameBytesMax));
}

std::string without_colons(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), ':', '_');
  return plain;
}

std::string numbered_name(std::string_view name, unsigned number) {
  S5066_ASSERT(!name.empty() && name.size() <= kFileNameBytesMax);
  if (number == 0) return std::string(name);
  const std::size_t ending_at = ending_of(name);
  const std::string suffix = "." + std::to_string(number) + std::string(name.substr(ending_at));
  const std::string_view stem = name.substr(0, ending_at);
  return std::string(truncate_utf8(stem, kFileNameBytesMax - suffix.size())) + suffix;
}

std::string suffixed_name(std::string_view name, std::string_view suffix) {
  S5066_ASSERT(suffix.size() < kFileNameBytesMax);
  return std::string(truncate_utf8(name, kFileNameBytesMax - suffix.size())) + std::string(suffix);
}

}  // namespace s5066::gateways
