// SPDX-License-Identifier: Apache-2.0
// A vector with built-in storage: it allocates nothing from the heap, and more items than the
// capacity are a bug of ours.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "s5066d/base/assert.h"

namespace s5066 {

template <typename T, std::size_t kCapacity>
class FixedVector {
 public:
  using value_type = T;

  FixedVector() {}  // slots beyond the size stay uninitialised
  explicit FixedVector(std::size_t size) { resize(size); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  static constexpr std::size_t capacity() { return kCapacity; }

  T* data() { return slots_.data(); }
  const T* data() const { return slots_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  T& operator[](std::size_t index) { return slots_[index]; }
  const T& operator[](std::size_t index) const { return slots_[index]; }
  T& back() { return slots_[size_ - 1]; }

  void clear() { size_ = 0; }
  /// Fills added slots with T{}.
  void resize(std::size_t size) {
    S5066_ASSERT(size <= kCapacity);
    if (size > size_) std::fill(begin() + size_, begin() + size, T{});
    size_ = size;
  }
  void push_back(const T& value) {
    S5066_ASSERT(size_ < kCapacity);
    slots_[size_++] = value;
  }

 private:
  std::array<T, kCapacity> slots_;
  std::size_t size_ = 0;
};

}  // namespace s5066
