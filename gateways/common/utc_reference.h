// Ties a core's time to the calendar: what is kept across restarts is kept in UTC.
#pragma once

#include "s5066d/base/time.h"

namespace s5066::gateways {

class UtcReference {
 public:
  /// The shell calls this at the start and now and then, so that a corrected clock is noticed.
  void set(Instant now, UtcSeconds utc) {
    now_ = now;
    utc_ = utc;
  }
  UtcSeconds utc(Instant at) const {
    return {utc_.value + std::chrono::duration_cast<std::chrono::seconds>(at - now_).count()};
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
  Instant now_{};
  UtcSeconds utc_{};
};

}  // namespace s5066::gateways
