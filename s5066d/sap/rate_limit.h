// SPDX-License-Identifier: Apache-2.0
// Limits events to a maximum number in a window of time, as a leaky bucket.
#pragma once

#include <algorithm>

#include "s5066d/base/time.h"

namespace s5066::sap {

class RateLimit {
 public:
  RateLimit(unsigned events_max, Duration window)
      : window_(window), cost_(window / std::max(events_max, 1u)) {}

  /// Returns false if this event exceeds the limit. The event counts in any case.
  [[nodiscard]] bool admit(Instant now) {
    empty_at_ = std::max(empty_at_, now) + cost_;
    return empty_at_ - now <= window_;
  }

 private:
  Duration window_;
  Duration cost_;
  Instant empty_at_{};
};

}  // namespace s5066::sap
