// SPDX-License-Identifier: Apache-2.0
#include "tests/wave/allocation/allocation_count.h"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>

namespace {

struct Stack {
  std::array<void*, 24> frames{};
  int depth = 0;
};
constexpr std::size_t kStacksMax = 8;

bool counting = false;
std::size_t count = 0;
std::array<Stack, kStacksMax> stacks;

void take_note() {
  if (!counting) return;
  counting = false;  // backtrace() allocates itself
  if (count < stacks.size()) {
    Stack& stack = stacks[count];
    stack.depth = backtrace(stack.frames.data(), static_cast<int>(stack.frames.size()));
  }
  ++count;
  counting = true;
}

void* take(std::size_t size, std::size_t alignment) {
  take_note();
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(size > 0 ? size : 1)
                           : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return take(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return take(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace s5066::test {

AllocationCount::AllocationCount() {
  count = 0;
  counting = true;
}

AllocationCount::~AllocationCount() {
  counting = false;
}

std::size_t AllocationCount::taken() const {
  return count;
}

std::size_t AllocationCount::stop() {
  counting = false;
  return count;
}

void AllocationCount::print_stacks() const {
  for (std::size_t i = 0; i < stacks.size() && i < count; ++i) {
    backtrace_symbols_fd(stacks[i].frames.data(), stacks[i].depth, STDERR_FILENO);
    static_cast<void>(write(STDERR_FILENO, "\n", 1));
  }
}

}  // namespace s5066::test
