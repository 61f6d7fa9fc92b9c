// SPDX-License-Identifier: Apache-2.0
// Log lines as key=value text: `level event key=value …`. The shell owns the sink and the clock.
// Cores do not log, they trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace s5066 {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

std::string_view to_string(LogLevel level);

/// Returns a value from outside in a form for quotes in a line. `"` and `\` get a `\` in front.
/// `\xNN` replaces each octet that is not UTF-8, or that belongs to a control character, an
/// invisible character, or one that turns the direction of text.
std::string escaped(std::string_view value);

/// True if the text is UTF-8 as a whole.
bool is_utf8(std::string_view text);

class LogSink {
 public:
  virtual void write(LogLevel level, std::string_view line) = 0;

 protected:
  ~LogSink() = default;
};

/// Builds one line and passes it to the sink when it goes out of scope:
///   LogLine(log, LogLevel::info, "client_bound").kv("sap", 6).kv("peer", name);
class LogLine {
 public:
  LogLine(LogSink& sink, LogLevel level, std::string_view event);
  ~LogLine() { sink_.write(level_, text_); }
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;

  LogLine& kv(std::string_view key, std::string_view value);
  LogLine& kv(std::string_view key, const char* value) { return kv(key, std::string_view(value)); }
  LogLine& kv(std::string_view key, std::int64_t value);
  LogLine& kv(std::string_view key, std::uint64_t value);
  LogLine& kv(std::string_view key, int value) { return kv(key, std::int64_t{value}); }
  LogLine& kv(std::string_view key, unsigned value) { return kv(key, std::uint64_t{value}); }
  LogLine& kv(std::string_view key, double value);

 private:
  LogSink& sink_;
  LogLevel level_;
  std::string text_;
};

}  // namespace s5066
