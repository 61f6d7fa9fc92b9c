// SPDX-License-Identifier: Apache-2.0
// Remembers which stream numbers a peer has used, so that a U_PDU that arrives again does not open
// a stream a second time. Numbers that are older than the memory count as seen.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace s5066::streams {

class SeenNumbers {
 public:
  static constexpr std::uint32_t kMemory = 4096;

  bool seen(std::uint32_t number) const {
    if (number > highest_) return false;
    return highest_ - number >= kMemory || bits_[number % kMemory];
  }
  void mark(std::uint32_t number) {
    if (number > highest_) {
      if (number - highest_ >= kMemory) {
        bits_.reset();
      } else {
        for (std::uint32_t n = highest_ + 1; n != number; ++n) bits_.reset(n % kMemory);
      }
      highest_ = number;
    }
    if (highest_ - number < kMemory) bits_.set(number % kMemory);
  }

 private:
  std::bitset<kMemory> bits_;
  std::uint32_t highest_ = 0;
};

}  // namespace s5066::streams
