// Log lines on standard error: UTC, level, event, key=value.
#pragma once

#include "s5066d/base/log.h"

namespace s5066::posix {

class LogWriter final : public LogSink {
 public:
  explicit LogWriter(LogLevel least = LogLevel::info) : least_(least) {}
  void set_least(LogLevel least) { least_ = least; }
  void write(LogLevel level, std::string_view line) override;

 private:
  LogLevel least_;
};

}  // namespace s5066::posix
