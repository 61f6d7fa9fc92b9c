// SPDX-License-Identifier: Apache-2.0
// The last lines of a daemon's log, for `events` of the control interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/socket.h"

namespace s5066::control {

struct LoggedEvent {
  std::uint64_t sequence = 0;  // 1 for the first line of the process
  Duration utc{};              // time since 1970
  LogLevel level = LogLevel::info;
  std::string line;
};

/// Conditions of `events`. A line must meet all of them.
struct EventFilter {
  std::size_t count = 100;  // limit; only the last lines
  LogLevel least = LogLevel::info;
  std::string event{};      // name of the event; empty: any
  std::string with{};       // a part of the line; empty: any
  std::uint64_t after = 0;  // only lines with a larger sequence
};

/// Passes each line on to another sink and keeps kEventsMax lines. The oldest line gives way to a
/// new one, but if more than half of the lines are of level info, the oldest of these does, so that
/// lines about traffic do not displace warnings and errors. Lines of level debug are passed on and
/// not kept, because each D_PDU is one. May be used from any thread.
class EventRing final : public LogSink {
 public:
  static constexpr std::size_t kEventsMax = 1000;
  static constexpr std::size_t kLineOctetsMax = 1024;  // limit of a line that is kept

  explicit EventRing(LogSink& sink, std::function<Duration()> utc_clock = posix::utc_now)
      : sink_(sink), utc_clock_(std::move(utc_clock)) {}
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;

  void write(LogLevel level, std::string_view line) override;

  /// Returns the last lines that meet the filter, oldest first.
  std::vector<LoggedEvent> last(const EventFilter& filter) const;
  /// Returns the sequence of the newest line; 0 if there is none.
  std::uint64_t newest() const;
  /// Returns the sequence from which on all lines of this level and above are kept; 0 if no line
  /// is.
  std::uint64_t oldest(LogLevel least = LogLevel::info) const;

 private:
  void drop_one();

  LogSink& sink_;
  std::function<Duration()> utc_clock_;
  mutable std::mutex mutex_;  // guards everything below
  std::uint64_t sequence_ = 0;
  // The highest sequence that is not kept any more, for each level.
  std::array<std::uint64_t, static_cast<std::size_t>(LogLevel::error) + 1> dropped_{};
  std::size_t infos_ = 0;  // lines of level info in `events_`
  std::deque<LoggedEvent> events_;
};

}  // namespace s5066::control
