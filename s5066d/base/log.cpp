// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/log.h"

#include <algorithm>
#include <cstdio>

namespace s5066 {
namespace {

/// Reads the UTF-8 character at the start of the text and returns its octets, or 0 if they are not
/// UTF-8 (cut off, overlong, a surrogate, or beyond Unicode).
std::size_t read_character(std::string_view text, char32_t& character) {
  const auto octet = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = octet(0);
  if (first < 0x80) {
    character = first;
    return 1;
  }
  const std::size_t octets = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < octets) return 0;
  character = first & (0x7Fu >> octets);
  for (std::size_t i = 1; i < octets; ++i) {
    if ((octet(i) & 0xC0u) != 0x80u) return 0;
    character = character << 6 | (octet(i) & 0x3Fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
  return character < kLeast[octets] || surrogate || character > 0x10FFFF ? 0 : octets;
}

/// True for characters that break a line, control a terminal, are invisible, or turn the direction
/// of the text around them, so that a line would seem to have another meaning.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x61C || c == 0xFEFF ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || (c >= 0xFFF9 && c <= 0xFFFB) ||
         (c >= 0xE0000 && c <= 0xE007F);
}

/// Returns the octets of the first character if it may be in a line as it is; 0 if it must be
/// escaped.
std::size_t octets_to_show(std::string_view text) {
  char32_t character = 0;
  const std::size_t octets = read_character(text, character);
  return octets == 0 || is_control(character) ? 0 : octets;
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "unknown";
}

std::string escaped(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const std::size_t octets = octets_to_show(value);
    if (octets == 0) {
      char code[5];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(value.front()));
      text.append(code);
    } else {
      if (value.front() == '"' || value.front() == '\\') text.push_back('\\');
      text.append(value.substr(0, octets));
    }
    value.remove_prefix(std::max<std::size_t>(octets, 1));
  }
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    char32_t character = 0;
    const std::size_t octets = read_character(text, character);
    if (octets == 0) return false;
    text.remove_prefix(octets);
  }
  return true;
}

LogLine::LogLine(LogSink& sink, LogLevel level, std::string_view event)
    : sink_(sink), level_(level), text_(event) {}

// Values from outside may contain anything: they are quoted if not plain, and escaped if they would
// break a line.
LogLine& LogLine::kv(std::string_view key, std::string_view value) {
  text_.append(" ").append(key).append("=");
  const auto plain = [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\' && c != '='; };
  if (!value.empty() && std::all_of(value.begin(), value.end(), plain)) {
    text_.append(value);
    return *this;
  }
  text_.append("\"").append(escaped(value)).append("\"");
  return *this;
}

LogLine& LogLine::kv(std::string_view key, std::int64_t value) {
  text_.append(" ").append(key).append("=").append(std::to_string(value));
  return *this;
}

LogLine& LogLine::kv(std::string_view key, std::uint64_t value) {
  text_.append(" ").append(key).append("=").append(std::to_string(value));
  return *this;
}

LogLine& LogLine::kv(std::string_view key, double value) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3f", value);
  text_.append(" ").append(key).append("=").append(number);
  return *this;
}

}  // namespace s5066
