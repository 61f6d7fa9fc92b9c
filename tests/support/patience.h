// SPDX-License-Identifier: Apache-2.0
// Functions with which tests wait for other threads and processes.
#pragma once

#include <chrono>
#include <thread>

#include "s5066d/base/time.h"
#include "s5066d/posix/socket.h"

namespace s5066::test {

/// Time limit for an event that must happen; longer than any such event takes.
inline constexpr Duration kPatience = std::chrono::seconds(60);

/// Polls a condition that another thread or process brings about.
template <typename Condition>
bool eventually(Condition condition) {
  const Duration end = posix::monotonic_now() + kPatience;
  while (!condition()) {
    if (posix::monotonic_now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace s5066::test
