// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/duration_text.h"

#include <cstdint>

namespace s5066 {

std::string duration_text(std::chrono::seconds duration) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  const std::int64_t count = duration.count() < 0 ? -duration.count() : duration.count();
  const auto in = [](std::int64_t number, const char* unit) {
    return std::to_string(number) + " " + unit;
  };
  if (count < kMinute) return in(count, "s");
  if (count < kDay) return in(count / kHour, "h") + " " + in(count % kHour / kMinute, "min");
  return in(count / kDay, "d") + " " + in(count % kDay / kHour, "h");
}

}  // namespace s5066
