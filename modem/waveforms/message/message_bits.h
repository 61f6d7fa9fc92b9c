// The bits of a transmission: octets, least significant bit first, behind them the mark that ends
// the message, and zeros up to the end of a block.
//
// The user's own bits may look like the mark. What follows tells: zeros behind the real one, and
// nothing behind those. So octets are given out up to the last mark found, and from there on once
// it is known that it was the user's.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// Sent behind the last user bit, most significant bit first (MIL-STD-188-110A 5.3.2.3.1).
inline constexpr std::uint32_t kEndOfMessage = 0x4B65A5B2;
inline constexpr unsigned kEndOfMessageBits = 32;

/// What is sent behind the mark.
struct Trailer {
  unsigned flush_bits = 0;     // zeros, and then more
  std::size_t block_bits = 1;  // up to the end of a block

  /// Bits of a transmission whose user's bits and mark are so many.
  std::uint64_t end(std::uint64_t bits) const {
    return (bits + flush_bits + block_bits - 1) / block_bits * block_bits;
  }
};

/// User bits, mark and trailer.
std::vector<std::uint8_t> message_bits(ByteSpan bytes, const Trailer& trailer);

/// Decoded bits as a stream: looks for the mark at any bit offset and gives out octets once it is
/// certain that no mark begins in them.
class MessageBits {
 public:
  struct Portion {
    ByteSpan bytes;               // until the next take
    std::uint64_t first_bit = 0;  // of these octets, counted from the start of the data
  };
  struct Mark {
    std::uint64_t end = 0;           // bits up to its last
    std::uint64_t transmission = 0;  // bits in all, if it ends the message
    bool filled = false;   // nothing but zeros has come behind it, and enough of them to be sure
    bool doubted = false;  // what has come behind it is rather the user's
  };

  /// Has the memory for so many bits in one push; more take more.
  explicit MessageBits(const Trailer& trailer, std::size_t bits_at_once = 0,
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// The next bits; take() before the next push.
  void push(std::span<const std::uint8_t> bits);
  /// What may be the end of the message in what was pushed, unless the bits behind it deny it.
  const std::optional<Mark>& mark() const { return mark_; }
  /// Octets up to the mark, if there is one. Of the bits pushed last that share is probably wrong.
  Portion take(float wrong_share);
  /// The transmission goes on behind where that mark would end it: it was the user's.
  void go_on() { mark_.reset(); }

 private:
  void judge(float wrong_share);
  ByteSpan take_octets(std::uint64_t to_bit);
  std::uint64_t settled() const { return first_bit_ + bits_.size(); }

  Trailer trailer_;
  std::pmr::vector<std::uint8_t> bits_;    // not yet given out
  std::pmr::vector<std::uint8_t> octets_;  // given out last
  std::uint64_t first_bit_ = 0;            // number of bits_[0]
  std::uint64_t searched_ = 0;             // bits that went through the shift register
  std::uint64_t pushed_from_ = 0;          // the first of those pushed last
  std::uint32_t shift_register_ = 0;
  std::optional<Mark> mark_;
  float wrong_behind_ = 0;  // bits behind the mark that are probably wrong
};

}  // namespace s5066::modem
