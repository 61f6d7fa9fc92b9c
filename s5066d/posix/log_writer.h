// SPDX-License-Identifier: Apache-2.0
// Log lines on standard error: UTC, level, event, key=value. In the journal of systemd, which has a
// time and a priority of its own, a line is the level, event and key=value.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "s5066d/base/log.h"

namespace s5066::posix {

/// True if standard error is the journal: JOURNAL_STREAM names its device and inode.
bool is_journal();

/// Waits a short time at most for a reader: a line for which a full pipe has no room is left out,
/// and the next line that fits tells how many were.
class LogWriter final : public LogSink {
 public:
  explicit LogWriter(LogLevel least = LogLevel::info) : least_(least) {}
  LogWriter(LogLevel least, bool to_journal) : least_(least), to_journal_(to_journal) {}
  /// May be called at any time, from any thread.
  void set_least(LogLevel least) { least_ = least; }
  void write(LogLevel level, std::string_view line) override;

 private:
  std::atomic<LogLevel> least_;
  const bool to_journal_ = is_journal();
  std::mutex mutex_;  // guards everything below
  std::uint64_t left_out_ = 0;
  bool patient_ = true;
};

}  // namespace s5066::posix
