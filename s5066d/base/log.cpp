#include "s5066d/base/log.h"

#include <algorithm>
#include <cstdio>

namespace s5066 {

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

LogLine::LogLine(LogSink& sink, LogLevel level, std::string_view event)
    : sink_(sink), level_(level), text_(event) {}

// Values from outside may hold anything: quote what is not plain, escape what would break a line.
LogLine& LogLine::kv(std::string_view key, std::string_view value) {
  text_.append(" ").append(key).append("=");
  const auto plain = [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\' && c != '='; };
  if (!value.empty() && std::all_of(value.begin(), value.end(), plain)) {
    text_.append(value);
    return *this;
  }
  text_.push_back('"');
  for (const char c : value) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
    } else if (u < 32 || u == 127) {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", u);
      text_.append(escaped);
    } else {
      text_.push_back(c);
    }
  }
  text_.push_back('"');
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
