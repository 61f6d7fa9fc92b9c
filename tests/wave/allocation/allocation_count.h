// Counts what the program that it is linked into takes from the heap with `new`.
#pragma once

#include <cstddef>

namespace s5066::test {

/// Counts as long as it lives; one at a time.
class AllocationCount {
 public:
  AllocationCount();
  ~AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;

  std::size_t taken() const;
  /// Ends the count.
  std::size_t stop();
  /// Writes the call stacks of the first ones, as addresses for addr2line, to standard error. After
  /// stop().
  void print_stacks() const;
};

}  // namespace s5066::test
