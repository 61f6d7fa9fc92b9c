// SPDX-License-Identifier: Apache-2.0
// The time that probes are stamped with.
#pragma once

#include <chrono>
#include <cstdint>

namespace s5066::traffic {

/// Returns microseconds since 1970-01-01 00:00 UTC.
inline std::int64_t utc_now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace s5066::traffic
