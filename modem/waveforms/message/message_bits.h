// The bits of a transmission: octets, least significant bit first, and behind them the mark that
// ends the message.
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

/// User bits, mark, and at least `flush_bits` zeros, up to the end of a block.
std::vector<std::uint8_t> message_bits(ByteSpan bytes, unsigned flush_bits, std::size_t block_bits);

/// Decoded bits as a stream: looks for the mark at any bit offset and gives out octets once it is
/// certain that no mark begins in them.
class MessageBits {
 public:
  struct Portion {
    ByteSpan bytes;               // until the next push
    std::uint64_t first_bit = 0;  // of these octets, counted from the start of the data
    /// Bits up to the end of the mark, once it was found.
    std::optional<std::uint64_t> ended_after;
  };

  /// Has the memory for so many bits in one push; more take more.
  explicit MessageBits(std::size_t bits_at_once = 0,
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  Portion push(std::span<const std::uint8_t> bits);

 private:
  ByteSpan take_octets(std::uint64_t to_bit);

  std::pmr::vector<std::uint8_t> bits_;    // not yet given out
  std::pmr::vector<std::uint8_t> octets_;  // given out last
  std::uint64_t first_bit_ = 0;            // number of bits_[0]
  std::uint64_t searched_ = 0;             // bits that went through the shift register
  std::uint32_t shift_register_ = 0;
};

}  // namespace s5066::modem
