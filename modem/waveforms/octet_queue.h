// SPDX-License-Identifier: Apache-2.0
// A queue of octets that wait to be fetched. A run has any length and is contiguous in memory that
// is reserved once. Runs leave in their order and do not move until then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "s5066d/base/assert.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

class OctetQueue {
 public:
  explicit OctetQueue(std::size_t capacity) : room_(capacity) {}

  /// A run that does not fit before the end of the memory starts at its beginning.
  bool fits(std::size_t octets) const { return place_of(octets) + octets - begin_ <= room_.size(); }
  void clear() { begin_ = end_ = 0; }
  /// Stores a run, which must fit.
  ByteSpan push(ByteSpan octets) {
    S5066_ASSERT(fits(octets.size()));
    const std::uint64_t at = place_of(octets.size());
    end_ = at + octets.size();
    const auto place = static_cast<std::size_t>(at % room_.size());
    std::copy(octets.begin(), octets.end(), room_.begin() + static_cast<std::ptrdiff_t>(place));
    return ByteSpan(room_).subspan(place, octets.size());
  }
  /// Returns the beginning of the oldest run, and below it the end of the newest.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  /// All octets before `until` have been fetched.
  void release(std::uint64_t until) {
    S5066_ASSERT(until >= begin_ && until <= end_);
    begin_ = until;
  }

 private:
  std::uint64_t place_of(std::size_t octets) const {
    const std::size_t left = room_.size() - static_cast<std::size_t>(end_ % room_.size());
    return octets <= left ? end_ : end_ + left;
  }

  std::vector<std::uint8_t> room_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace s5066::modem
