// SPDX-License-Identifier: Apache-2.0
// Ties the time of a core to the calendar: counts on from the date that was set last.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066 {

class UtcClock {
 public:
  /// The shell calls this at the start and now and then, so that a corrected clock is noticed.
  /// Returns by how much the clock was set since the last call: nothing at the first, nor for the
  /// small corrections of a clock that is followed.
  std::chrono::seconds set(Instant now, UtcSeconds utc) {
    return set(now, utc, now.time_since_epoch());
  }
  /// Does so for a `now` that follows a node whose clock has its own pace. Steps of the time of day
  /// are told by `machine`, the steady clock of this machine.
  std::chrono::seconds set(Instant now, UtcSeconds utc, Duration machine) {
    constexpr std::int64_t kStepMinS = 5;
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(machine - machine_);
    const std::int64_t off = known_ ? utc.value - utc_.value - passed.count() : 0;
    known_ = true;
    machine_ = machine;
    now_ = now;
    utc_ = utc;
    return std::chrono::seconds(off <= -kStepMinS || off >= kStepMinS ? off : 0);
  }
  /// Returns the date at that time; before the first set(), the seconds since the clock's origin.
  UtcSeconds utc(Instant at) const {
    return {utc_.value + std::chrono::floor<std::chrono::seconds>(at - now_).count()};
  }
  /// Returns the date at that time if it is known.
  std::optional<UtcSeconds> known_utc(Instant at) const {
    return known_ ? std::optional(utc(at)) : std::nullopt;
  }
  /// Dates further away than a century are cut to that.
  Instant instant(UtcSeconds utc) const {
    constexpr std::int64_t kCentury = 100LL * 366 * 86400;
    const std::int64_t distance = utc.value - utc_.value;
    return now_ + std::chrono::seconds(distance > kCentury    ? kCentury
                                       : distance < -kCentury ? -kCentury
                                                              : distance);
  }

 private:
  bool known_ = false;
  Instant now_{};
  Duration machine_{};
  UtcSeconds utc_{};
};

}  // namespace s5066
