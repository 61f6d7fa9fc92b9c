// SPDX-License-Identifier: Apache-2.0
// Converts the modem's sample clock to the time of the port: Instant{} is sample 0, and a second
// has kSampleRate samples.
#pragma once

#include <cstdint>

#include "modem/waveforms/burst_events.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

// 1 s / 9600 is 312500/3 ns. It is exact in thirds, so a count never drifts from its time.
inline constexpr std::int64_t kThirdsOfNanosecond = 312'500;
static_assert(kThirdsOfNanosecond * kSampleRate == 3 * std::int64_t{1'000'000'000});

/// Returns the time of that many samples, rounded down to a nanosecond.
constexpr Duration samples_to_duration(std::uint64_t samples) {
  return Duration{static_cast<std::int64_t>(samples) * kThirdsOfNanosecond / 3};
}

constexpr Instant sample_to_instant(std::uint64_t sample) {
  return Instant{samples_to_duration(sample)};
}

/// Returns the first sample that is not before that time. A tenth of a microsecond is tolerated,
/// because times computed elsewhere are rounded to nanoseconds.
constexpr std::uint64_t duration_to_samples(Duration duration) {
  const std::int64_t thirds = 3 * (duration.count() - 100);
  if (thirds <= 0) return 0;
  return static_cast<std::uint64_t>((thirds + kThirdsOfNanosecond - 1) / kThirdsOfNanosecond);
}

constexpr std::uint64_t instant_to_sample(Instant instant) {
  return duration_to_samples(instant.time_since_epoch());
}

}  // namespace s5066::modem
