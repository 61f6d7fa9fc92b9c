// SPDX-License-Identifier: Apache-2.0
// The memory in which one burst is received. It is allocated once, handed out piece by piece, and
// released as a whole when the burst is over. Pages that no burst has used yet need no physical
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::modem {

class BurstMemory final : public std::pmr::memory_resource {
 public:
  explicit BurstMemory(std::size_t capacity)
      : capacity_(capacity), memory_(std::make_unique_for_overwrite<std::byte[]>(capacity)) {}

  std::size_t capacity() const { return capacity_; }
  std::size_t used() const { return used_; }
  /// All objects in this memory must have been destroyed before.
  void release() { used_ = 0; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::uintptr_t at = (begin + used_ + alignment - 1) / alignment * alignment;
    S5066_ASSERT(bytes <= capacity_ && at - begin <= capacity_ - bytes);
    used_ = at - begin + bytes;
    return memory_.get() + (at - begin);
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::size_t capacity_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t used_ = 0;
};

/// Destroys an object in a BurstMemory, which keeps the space.
struct EndInMemory {
  template <typename T>
  void operator()(T* object) const {
    std::destroy_at(object);
  }
};
template <typename T>
using InMemory = std::unique_ptr<T, EndInMemory>;

template <typename T, typename... Arguments>
InMemory<T> make_in(BurstMemory& memory, Arguments&&... arguments) {
  void* const room = memory.allocate(sizeof(T), alignof(T));
  return InMemory<T>(::new (room) T(std::forward<Arguments>(arguments)...));
}

}  // namespace s5066::modem
