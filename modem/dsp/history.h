// SPDX-License-Identifier: Apache-2.0
// The last samples of a stream, addressed by their number since the start. Any stretch of them is
// contiguous, so that filters can run over it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {

template <typename T>
class History {
 public:
  explicit History(std::size_t capacity) : capacity_(capacity), slots_(2 * capacity) {
    S5066_ASSERT(capacity > 0);
  }

  /// Sets the state from before the first push.
  void restart() {
    std::fill(slots_.begin(), slots_.end(), T{});
    end_ = 0;
  }

  void push(std::span<const T> samples) {
    for (const T& sample : samples) {
      const std::size_t slot = slot_of(end_++);
      slots_[slot] = sample;
      slots_[slot + capacity_] = sample;
    }
  }

  /// Returns the number of the next sample.
  std::int64_t end() const { return end_; }
  /// Returns the number of the oldest sample kept. Samples before the first one read as zero until
  /// they are overwritten.
  std::int64_t begin() const { return end_ - static_cast<std::int64_t>(capacity_); }
  bool holds(std::int64_t from, std::int64_t to) const { return from >= begin() && to <= end_; }

  /// Returns `count` samples from number `from` on.
  std::span<const T> window(std::int64_t from, std::size_t count) const {
    S5066_ASSERT(holds(from, from + static_cast<std::int64_t>(count)) && count <= capacity_);
    return std::span<const T>(slots_).subspan(slot_of(from), count);
  }

 private:
  std::size_t slot_of(std::int64_t number) const {
    const auto capacity = static_cast<std::int64_t>(capacity_);
    return static_cast<std::size_t>((number % capacity + capacity) % capacity);
  }

  std::size_t capacity_;
  std::vector<T> slots_;
  std::int64_t end_ = 0;
};

}  // namespace s5066::modem::dsp
