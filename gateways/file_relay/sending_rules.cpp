// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/sending_rules.h"

#include <algorithm>

namespace s5066::file_relay {
namespace {

constexpr std::int64_t kDayS = 86400;

std::int64_t second_of_day(UtcSeconds utc) {
  return (utc.value % kDayS + kDayS) % kDayS;
}

/// Returns the seconds from one second of the day to the next time at which the day has another.
std::int64_t seconds_until(std::int64_t second, std::uint16_t minute) {
  return (std::int64_t{minute} * 60 - second + kDayS) % kDayS;
}

}  // namespace

bool SendingRule::is_open(std::int64_t second) const {
  return std::any_of(windows.begin(), windows.end(), [&](const DailyWindow& window) {
    const std::int64_t from = std::int64_t{window.from_minute} * 60;
    const std::int64_t to = std::int64_t{window.to_minute} * 60;
    if (from < to) return second >= from && second < to;
    return second >= from || second < to;
  });
}

UtcSeconds SendingRule::opens_at(UtcSeconds from, std::uint8_t priority) const {
  const bool urgent = urgent_priority && priority >= *urgent_priority;
  const std::int64_t second = second_of_day(from);
  if (windows.empty() || urgent || is_open(second)) return from;
  std::int64_t wait = kDayS;
  for (const DailyWindow& window : windows) {
    wait = std::min(wait, seconds_until(second, window.from_minute));
  }
  return {from.value + wait};
}

// Windows may touch or overlap, so the end of one is an end only if no other is open then.
std::optional<UtcSeconds> SendingRule::closes_at(UtcSeconds from, std::uint8_t priority) const {
  const bool urgent = urgent_priority && priority >= *urgent_priority;
  if (windows.empty() || urgent || !is_open(second_of_day(from))) return std::nullopt;
  std::optional<std::int64_t> closes;
  for (const DailyWindow& window : windows) {
    const std::int64_t end = std::int64_t{window.to_minute} * 60;
    if (is_open(end)) continue;
    const std::int64_t wait = seconds_until(second_of_day(from), window.to_minute);
    closes = std::min(closes.value_or(wait), wait);
  }
  if (!closes) return std::nullopt;
  return UtcSeconds{from.value + *closes};
}

UtcSeconds SendingTable::opens_at(UtcSeconds from, const std::vector<Address>& to,
                                  std::uint8_t priority) const {
  UtcSeconds at = from;
  while (at.value < from.value + kDayS) {
    UtcSeconds latest = at;
    for (const Address station : to) latest = std::max(latest, of(station).opens_at(at, priority));
    if (latest == at) return at;
    at = latest;
  }
  UtcSeconds first{from.value + kDayS};
  for (const Address station : to) first = std::min(first, of(station).opens_at(from, priority));
  return first;
}

}  // namespace s5066::file_relay
