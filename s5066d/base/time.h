// SPDX-License-Identifier: Apache-2.0
// Time for cores: an argument. The clock type has no now(), so no core can read the time.
#pragma once

#include <chrono>
#include <cstdint>

namespace s5066 {

using Duration = std::chrono::nanoseconds;

/// Counts from the start of the process, simulation or audio cable; never goes backwards.
struct NodeClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<NodeClock, Duration>;
  static constexpr bool is_steady = true;
};

using Instant = NodeClock::time_point;

constexpr double to_seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

/// Rounds to the nearest nanosecond.
constexpr Duration from_seconds(double seconds) {
  return Duration{static_cast<std::int64_t>(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5))};
}

/// Seconds since 1970-01-01 00:00 UTC; used only if the standard puts a date on the air.
struct UtcSeconds {
  std::int64_t value = 0;
  friend auto operator<=>(const UtcSeconds&, const UtcSeconds&) = default;
};

}  // namespace s5066
