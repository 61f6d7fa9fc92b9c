// SPDX-License-Identifier: Apache-2.0
// A first-in-first-out queue that refuses items when it is full. Storage is reserved once.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "s5066d/base/assert.h"

namespace s5066 {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : slots_(capacity) { S5066_ASSERT(capacity > 0); }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return slots_.size(); }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == slots_.size(); }

  /// Returns false and stores nothing if the queue is full.
  [[nodiscard]] bool push(T value) {
    if (full()) return false;
    slots_[(head_ + size_) % slots_.size()] = std::move(value);
    ++size_;
    return true;
  }

  std::optional<T> pop() {
    if (empty()) return std::nullopt;
    std::optional<T> value(std::exchange(slots_[head_], T{}));
    head_ = (head_ + 1) % slots_.size();
    --size_;
    return value;
  }

 private:
  std::vector<T> slots_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace s5066
