// SPDX-License-Identifier: Apache-2.0
// The bits of a transmission: octets with the least significant bit first, then the mark that ends
// the message, then zeros up to the end of a block.
//
// The user's own bits may look like the mark. The bits behind it decide: zeros follow the real mark
// to the end of its block, and if the transmitter goes on, only zeros follow those. So octets are
// output up to the last mark found. The octets from there on are output once it is known that the
// mark was the user's.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// The mark is sent behind the last user bit, most significant bit first (MIL-STD-188-110A
/// 5.3.2.3.1).
inline constexpr std::uint32_t kEndOfMessage = 0x4B65A5B2;
inline constexpr unsigned kEndOfMessageBits = 32;

/// The bits that are sent behind the mark.
struct Trailer {
  unsigned flush_bits = 0;     // zeros of the flush; further zeros follow
  std::size_t block_bits = 1;  // the zeros last to the end of a block of so many bits

  /// Returns the bits of a transmission with that number of user bits and mark bits.
  std::uint64_t end(std::uint64_t bits) const {
    return (bits + flush_bits + block_bits - 1) / block_bits * block_bits;
  }
};

/// Returns the user bits, the mark and the trailer.
std::vector<std::uint8_t> message_bits(ByteSpan bytes, const Trailer& trailer);

/// The decoded bits as a stream. The class looks for the mark at any bit offset and outputs octets
/// once it is certain that no mark begins in them. For each portion of decoded bits the caller uses
/// push(), judge(), and take() while more() is true.
class MessageBits {
 public:
  struct Portion {
    ByteSpan bytes;               // valid until the next take
    std::uint64_t first_bit = 0;  // first bit of these octets, counted from the start of the data
  };
  struct Mark {
    std::uint64_t end = 0;           // number of bits up to the last bit of the mark
    std::uint64_t transmission = 0;  // number of all bits, if the mark ends the message
    // Only zeros have come behind it, and enough of them to be sure.
    bool filled = false;
    bool bare = true;  // only zeros have come behind the mark
    // The bits behind it in its own blocks are rather the user's.
    bool doubted = false;
    /// Zeros behind the transmission that the mark would end have been decoded up to this bit, in
    /// whole blocks. A transmitter may go on for a while without data.
    std::uint64_t idle_until = 0;
    bool denied = false;  // other bits than zeros came behind those zeros
  };

  /// At most this many bits are kept behind a mark, besides those of its own blocks and the zeros
  /// that follow it directly. One more bit shows that the mark is the user's.
  static constexpr std::size_t kKeptMin = std::size_t{64} << 10;

  /// The memory is enough for `bits_at_once` bits in one push; more bits allocate more.
  explicit MessageBits(const Trailer& trailer, std::size_t bits_at_once = 0,
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Adds the next bits.
  void push(std::span<const std::uint8_t> bits);
  /// States the share of the last pushed bits that is probably wrong.
  void judge(float wrong_share);
  /// Returns the mark that may end the message, unless the bits behind it show that it does not.
  const std::optional<Mark>& mark() const { return mark_; }
  /// The transmission goes on behind the end that the mark would give, so the mark was the user's.
  void go_on() { mark_.reset(); }

  /// Returns octets up to the mark, if there is one, but at most a block and what a mark held back.
  Portion take();
  /// Returns true if octets are left for another take.
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
  std::size_t at_once_max_;              // bits that one take outputs
  std::size_t kept_max_;                 // most bits that are kept
  std::pmr::vector<std::uint8_t> bits_;  // bits that were not output yet, without the counted zeros
  std::pmr::vector<std::uint8_t> octets_;  // octets of the last output
  std::uint64_t first_bit_ = 0;            // number of bits_[0]
  /// This many zeros at bit idle_at_ are not in bits_, because a transmitter that goes on behind
  /// the end may send them for long.
  std::uint64_t idle_ = 0;
  std::uint64_t idle_at_ = 0;
  std::uint64_t pushed_from_ = 0;  // number of the first of the last pushed bits
  std::uint32_t shift_register_ = 0;
  std::optional<Mark> mark_;
  // Number of probably wrong bits between the mark and its end.
  float wrong_behind_ = 0;
  float wrong_after_ = 0;  // number of probably wrong bits behind that end
  std::uint64_t ones_after_ = 0;
};

}  // namespace s5066::modem
