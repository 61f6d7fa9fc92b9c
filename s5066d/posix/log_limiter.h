// SPDX-License-Identifier: Apache-2.0
// Limits the log lines that others can cause: a client that is refused repeatedly, or any station
// on the air, must not fill a disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "s5066d/base/log.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/socket.h"

namespace s5066::posix {

/// Passes the first lines of each sort in a second; lines of one sort have the same event and
/// reason. The rest is counted, and reported in one line `log_lines_repeated` for each sort, with
/// the first line of any sort in a later second. Lines below `least` all pass.
class LogLimiter final : public LogSink {
 public:
  static constexpr std::uint64_t kWholeMax = 10;  // lines per second and sort
  static constexpr std::size_t kSortsMax = 64;  // sorts per second; all further lines are one sort

  explicit LogLimiter(LogSink& sink, LogLevel least = LogLevel::info,
                      std::function<Duration()> clock = monotonic_now)
      : sink_(sink), least_(least), clock_(std::move(clock)) {}
  ~LogLimiter();
  LogLimiter(const LogLimiter&) = delete;
  LogLimiter& operator=(const LogLimiter&) = delete;

  void write(LogLevel level, std::string_view line) override;

 private:
  struct Lines {
    LogLevel level = LogLevel::info;
    std::uint64_t seen = 0;
  };
  void tell_of_rest();

  LogSink& sink_;
  LogLevel least_;
  std::function<Duration()> clock_;
  std::mutex mutex_;  // guards everything below
  Duration since_{};
  std::map<std::string, Lines> sorts_;
};

}  // namespace s5066::posix
