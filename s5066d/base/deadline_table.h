// SPDX-License-Identifier: Apache-2.0
// The timers of one core: a small fixed set, named by an enum whose last enumerator is `count`.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066 {

template <typename Timer>
class DeadlineTable {
 public:
  void set(Timer timer, Instant at) { at_[index(timer)] = at; }
  void clear(Timer timer) { at_[index(timer)].reset(); }
  bool is_set(Timer timer) const { return at_[index(timer)].has_value(); }
  std::optional<Instant> at(Timer timer) const { return at_[index(timer)]; }

  std::optional<Instant> next() const {
    std::optional<Instant> earliest;
    for (const auto& at : at_) {
      if (at && (!earliest || *at < *earliest)) earliest = at;
    }
    return earliest;
  }

  /// Clears and returns one due timer, the earliest first.
  std::optional<Timer> pop_due(Instant now) {
    std::size_t due = at_.size();
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (at_[i] && *at_[i] <= now && (due == at_.size() || *at_[i] < *at_[due])) due = i;
    }
    if (due == at_.size()) return std::nullopt;
    at_[due].reset();
    return static_cast<Timer>(due);
  }

 private:
  static std::size_t index(Timer timer) { return static_cast<std::size_t>(timer); }
  std::array<std::optional<Instant>, static_cast<std::size_t>(Timer::count)> at_{};
};

/// Returns the earlier of two deadlines; either may be absent.
inline std::optional<Instant> earlier(std::optional<Instant> a, std::optional<Instant> b) {
  if (!a) return b;
  if (!b) return a;
  return *a < *b ? a : b;
}

}  // namespace s5066
