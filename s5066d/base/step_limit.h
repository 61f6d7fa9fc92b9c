// A limit on what one event may lead to, for loops that run until nothing is left to do. A loop
// that exceeds it never ends: a refused request is tried again without anything having changed.
#pragma once

#include <cstddef>

#include "s5066d/base/assert.h"

namespace s5066 {

class StepLimit {
 public:
  /// `claim` is what the failed assertion says. `steps_max` is far above anything legitimate; the
  /// owner explains where it comes from.
  StepLimit(const char* claim, std::size_t steps_max) : claim_(claim), steps_max_(steps_max) {}

  /// Call when an event comes in.
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
