// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/recent_keys.h"

#include <bit>

namespace s5066::sap {

RecentKeys::RecentKeys(std::size_t keys_max)
    : keys_max_(keys_max), table_(std::bit_ceil(2 * keys_max), kFree) {
  order_.reserve(keys_max);
}

std::size_t RecentKeys::slot_of(std::uint64_t key) const {
  const std::uint64_t wanted = named(key);
  std::size_t slot = home(wanted);
  while (table_[slot] != kFree && table_[slot] != wanted) slot = home(slot + 1);
  return slot;
}

void RecentKeys::add(std::uint64_t key) {
  if (contains(key)) return;
  if (order_.size() < keys_max_) {
    order_.push_back(named(key));
  } else {
    remove(order_[next_]);
    order_[next_] = named(key);
    next_ = (next_ + 1) % keys_max_;
  }
  table_[slot_of(key)] = named(key);
}

// Entries after the gap move into it unless their own place is after it.
void RecentKeys::remove(std::uint64_t named_key) {
  std::size_t gap = slot_of(named_key);
  for (std::size_t slot = home(gap + 1); table_[slot] != kFree; slot = home(slot + 1)) {
    if (home(slot - home(table_[slot])) < home(slot - gap)) continue;
    table_[gap] = table_[slot];
    gap = slot;
  }
  table_[gap] = kFree;
}

}  // namespace s5066::sap
