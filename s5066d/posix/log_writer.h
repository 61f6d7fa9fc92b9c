// SPDX-License-Identifier: Apache-2.0
// Log lines on standard error: UTC, level, event, key=value.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "s5066d/base/log.h"

namespace s5066::posix {

/// Waits a short time at most for a reader: a line for which a full pipe has no room is left out,
/// and the next line that fits tells how many were.
class LogWriter final : public LogSink {
 public:
  explicit LogWriter(LogLevel least = LogLevel::info) : least_(least) {}
  /// May be called at any time, from any thread.
  void set_least(LogLevel least) { least_ = least; }
  void write(LogLevel level, std::string_view line) override;

 private:
  std::atomic<LogLevel> least_;
  std::mutex mutex_;  // guards everything below
  std::uint64_t left_out_ = 0;
  bool patient_ = true;
};

}  // namespace s5066::posix
