// The keys that came last, to be looked up at the price of a touch of memory or two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace s5066::sap {

/// A set of keys that look like random ones; the oldest leave it. Held in one table with open
/// addressing (Knuth, The Art of Computer Programming, volume 3, 6.4, algorithms L and R), since a
/// busy node asks for every U_PDU and nodes of their own for each key would fill its caches.
class RecentKeys {
 public:
  /// `keys_max` at least 1.
  explicit RecentKeys(std::size_t keys_max);

  bool contains(std::uint64_t key) const { return table_[slot_of(key)] == named(key); }
  /// Of a key that is there already nothing becomes newer.
  void add(std::uint64_t key);

 private:
  static std::uint64_t named(std::uint64_t key) { return key == kFree ? 1 : key; }
  std::size_t home(std::uint64_t named_key) const { return named_key & (table_.size() - 1); }
  /// Where the key is or would be.
  std::size_t slot_of(std::uint64_t key) const;
  void remove(std::uint64_t named_key);

  static constexpr std::uint64_t kFree = 0;
  std::size_t keys_max_;
  std::vector<std::uint64_t> table_;  // a power of two, at least twice keys_max_
  std::vector<std::uint64_t> order_;  // the oldest at next_ once it is full
  std::size_t next_ = 0;
};

}  // namespace s5066::sap
