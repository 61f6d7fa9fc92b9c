// SPDX-License-Identifier: Apache-2.0
// Counts the allocations by `new` of the program that it is linked into.
#pragma once

#include <cstddef>

namespace s5066::test {

/// Counts from its construction to stop() or its destruction; one object at a time.
class AllocationCount {
 public:
  AllocationCount();
  ~AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;

  std::size_t taken() const;
  /// Ends the count and returns it.
  std::size_t stop();
  /// Writes the call stacks of the first allocations, as addresses for addr2line, to standard
  /// error. Call this after stop().
  void print_stacks() const;
};

}  // namespace s5066::test
