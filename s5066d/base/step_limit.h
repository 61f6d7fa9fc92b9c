// SPDX-License-Identifier: Apache-2.0
// Limits the steps that one event may cause, for loops that run until nothing is left to do. A loop
// that exceeds the limit never ends: it tries a refused request again without any change.
#pragma once

#include <cstddef>

#include "s5066d/base/assert.h"

namespace s5066 {

class StepLimit {
 public:
  /// `claim` is the text of the failed assertion. `steps_max` is far above any legitimate number;
  /// the owner explains its value.
  StepLimit(const char* claim, std::size_t steps_max) : claim_(claim), steps_max_(steps_max) {}

  /// Call when an event arrives.
  void begin() { steps_ = 0; }
  void count() {
    if (++steps_ > steps_max_) assert_failed(claim_, __FILE__, __LINE__);
  }

 private:
  const char* claim_;
  std::size_t steps_max_;
  std::size_t steps_ = 0;
};

}  // namespace s5066
