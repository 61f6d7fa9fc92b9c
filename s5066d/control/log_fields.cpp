// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/log_fields.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace s5066::control {
namespace {

/// Takes the value at the start of the text away, and returns it without quotes.
std::string take_value(std::string_view& text) {
  std::string value;
  if (!text.starts_with('"')) {
    const std::size_t end = std::min(text.find(' '), text.size());
    value = text.substr(0, end);
    text.remove_prefix(end);
    return value;
  }
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    const bool pair = text[i] == '\\' && i + 1 < text.size();
    if (pair && (text[i + 1] == '"' || text[i + 1] == '\\')) ++i;
    value.push_back(text[i]);
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return value;
}

}  // namespace

LogFields fields_of(std::string_view line) {
  LogFields read;
  const std::size_t end = std::min(line.find(' '), line.size());
  read.event = line.substr(0, end);
  line.remove_prefix(end);
  while (!line.empty()) {
    line.remove_prefix(1);  // the blank
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos) break;
    std::string key(line.substr(0, sign));
    line.remove_prefix(sign + 1);
    read.fields.emplace_back(std::move(key), take_value(line));
  }
  return read;
}

std::string utc_text(Duration since_1970) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
  std::string text = utc_text(UtcSeconds{ms / 1000});
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(ms % 1000));
  if (text.ends_with('Z')) text.replace(text.size() - 1, 1, fraction);
  return text;
}

std::string utc_text(UtcSeconds utc) {
  const std::time_t second = utc.value;
  std::tm calendar{};
  char text[sizeof "2026-01-01T00:00:00Z" + 16];  // years may have more digits
  if (gmtime_r(&second, &calendar) == nullptr) return std::to_string(utc.value);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &calendar)};
}

}  // namespace s5066::control
