// SPDX-License-Identifier: Apache-2.0
// A lock-free ring between exactly one producer thread and one consumer thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "s5066d/base/assert.h"

namespace s5066 {

template <typename T>
class SpscRing {
 public:
  /// Holds at least `capacity` items.
  explicit SpscRing(std::size_t capacity) : slots_(std::bit_ceil(capacity)) {
    S5066_ASSERT(capacity > 0);
  }

  std::size_t capacity() const { return slots_.size(); }
  std::size_t size() const {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_acquire);
  }

  /// Producer only. Takes as many items as fit and returns their number.
  std::size_t write(std::span<const T> items) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t free = slots_.size() - (tail - head_.load(std::memory_order_acquire));
    const std::size_t n = std::min(free, items.size());
    for (std::size_t i = 0; i < n; ++i) slots_[(tail + i) & (slots_.size() - 1)] = items[i];
    tail_.store(tail + n, std::memory_order_release);
    return n;
  }

  /// Producer only. Returns false and leaves the item untouched if the ring is full.
  [[nodiscard]] bool push(T&& item) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == slots_.size()) return false;
    slots_[tail & (slots_.size() - 1)] = std::move(item);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// Consumer only. Fills as much of `out` as possible and returns the number.
  std::size_t read(std::span<T> out) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t held = tail_.load(std::memory_order_acquire) - head;
    const std::size_t n = std::min(held, out.size());
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = std::move(slots_[(head + i) & (slots_.size() - 1)]);
    }
    head_.store(head + n, std::memory_order_release);
    return n;
  }

 private:
  std::vector<T> slots_;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
};

}  // namespace s5066
