// SPDX-License-Identifier: Apache-2.0
// The keys added last, with a lookup that costs one or two memory accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace s5066::sap {

/// A set of keys that are uniformly distributed; the oldest leave it. It is one table with open
/// addressing (Knuth, The Art of Computer Programming, volume 3, 6.4, algorithms L and R), because
/// a busy node looks up every U_PDU and separate nodes for each key would fill its caches.
class RecentKeys {
 public:
  /// `keys_max` must be at least 1.
  explicit RecentKeys(std::size_t keys_max);

  bool contains(std::uint64_t key) const { return table_[slot_of(key)] == named(key); }
  /// Adds the key. A key that is already in the set keeps its age.
  void add(std::uint64_t key);

 private:
  static std::uint64_t named(std::uint64_t key) { return key == kFree ? 1 : key; }
  std::size_t home(std::uint64_t named_key) const { return named_key & (table_.size() - 1); }
  /// Returns the slot in which the key is or would be.
  std::size_t slot_of(std::uint64_t key) const;
  void remove(std::uint64_t named_key);

  static constexpr std::uint64_t kFree = 0;
  std::size_t keys_max_;
  std::vector<std::uint64_t> table_;  // size is a power of two, at least twice keys_max_
  std::vector<std::uint64_t> order_;  // a ring with the oldest key at next_ once it is full
  std::size_t next_ = 0;
};

}  // namespace s5066::sap
