#include "gateways/common/file_name.h"

#include <cstdint>

#include "s5066d/base/assert.h"

namespace s5066::gateways {
namespace {

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

std::string_view truncate_utf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::string safe_file_name(std::string_view wire_name, std::string_view fallback) {
  const std::size_t separator = wire_name.find_last_of("/\\:");
  if (separator != std::string_view::npos) wire_name.remove_prefix(separator + 1);

  std::string name;
  while (!wire_name.empty()) {
    const Decoded next = decode_utf8(wire_name);
    const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    if (next.bytes == 0) {
      name.append(kReplacement);
    } else if (!is_control(next.code_point) && !(name.empty() && next.code_point == '.')) {
      name.append(wire_name.substr(0, bytes));
    }
    wire_name.remove_prefix(bytes);
  }
  if (name.empty()) name = fallback;
  return std::string(truncate_utf8(name, kFileNameBytesMax));
}

std::string numbered_name(std::string_view name, unsigned number) {
  S5066_ASSERT(!name.empty() && name.size() <= kFileNameBytesMax);
  if (number == 0) return std::string(name);
  const std::string suffix = "." + std::to_string(number);
  return std::string(truncate_utf8(name, kFileNameBytesMax - suffix.size())) + suffix;
}

}  // namespace s5066::gateways
