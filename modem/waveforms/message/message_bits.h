// The bits of a transmission: octets, least significant bit first, behind them the mark that ends
// the message, and zeros up to the end of a block.
//
// The user's own bits may look like the mark. The bits behind it tell: zeros follow the real one to
// the end of its block, and where the transmitter goes on, nothing but zeros follows those. So
// octets are given out up to the last mark found, and from there on once it is known that it was
// the user's.
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
/// certain that no mark begins in them. For each portion of decoded bits: push(), judge(), and
/// take() while there is more().
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
    bool bare = true;      // nothing but zeros has come behind it
    bool doubted = false;  // what has come behind it in its own blocks is rather the user's
    /// Behind the transmission that it would end, zeros have been decoded up to that bit, in whole
    /// blocks. A transmitter may go on for a while with nothing to say.
    std::uint64_t idle_until = 0;
    bool denied = false;  // and something else than zeros behind those
  };

  /// Bits that are kept behind a mark, beyond those of its own blocks, other than zeros that all
  /// follow it without anything between. One more makes the mark the user's.
  static constexpr std::size_t kKeptMin = std::size_t{64} << 10;

  /// Has the memory for so many bits in one push; more take more.
  explicit MessageBits(const Trailer& trailer, std::size_t bits_at_once = 0,
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// The next bits.
  void push(std::span<const std::uint8_t> bits);
  /// Of the bits pushed last that share is probably wrong.
  void judge(float wrong_share);
  /// What may be the end of the message in what was pushed, unless the bits behind it deny it.
  const std::optional<Mark>& mark() const { return mark_; }
  /// The transmission goes on behind where that mark would end it: it was the user's.
  void go_on() { mark_.reset(); }

  /// Octets up to the mark, if there is one, and not more than a block and what a mark held back.
  Portion take();
  /// Octets are left for another take.
  bool more() const { return takeable() > 0; }

 private:
  void append(std::uint8_t bit);
  std::uint8_t bit_at(std::uint64_t number) const;
  void drop(std::uint64_t count);
  void judge_fill(float wrong_share);
  void judge_rest(float wrong_share);
  std::uint64_t ones_in(std::uint64_t from, std::uint64_t to) const;
  std::uint64_t takeable() const;
  std::uint64_t settled() const { return first_bit_ + bits_.size() + idle_; }

  Trailer trailer_;
  std::size_t at_once_max_;                // bits that one take gives out
  std::size_t kept_max_;                   // bits
  std::pmr::vector<std::uint8_t> bits_;    // not yet given out, but for the zeros that are counted
  std::pmr::vector<std::uint8_t> octets_;  // given out last
  std::uint64_t first_bit_ = 0;            // number of bits_[0]
  /// So many zeros stand at that bit and are not in bits_: what a transmitter sends that goes on
  /// behind the end may last.
  std::uint64_t idle_ = 0;
  std::uint64_t idle_at_ = 0;
  std::uint64_t pushed_from_ = 0;  // the first of those pushed last
  std::uint32_t shift_register_ = 0;
  std::optional<Mark> mark_;
  float wrong_behind_ = 0;  // bits between the mark and its end that are probably wrong
  float wrong_after_ = 0;   // likewise behind that end
  std::uint64_t ones_after_ = 0;
};

}  // namespace s5066::modem
