// The bits of a transmission: octets, least significant bit first, and behind them the mark that
// ends the message.
#pragma once

#include <cstdint>
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
    Bytes bytes;
    std::uint64_t first_bit = 0;  // of these octets, counted from the start of the data
    /// Bits up to the end of the mark, once it was found.
    std::optional<std::uint64_t> ended_after;
  };

  Portion push(std::span<const std::uint8_t> bits);

 private:
  Bytes take_octets(std::uint64_t to_bit);

  std::vector<std::uint8_t> bits_;  // not yet given out
  std::uint64_t first_bit_ = 0;     // number of bits_[0]
  std::uint64_t searched_ = 0;      // bits that went through the shift register
  std::uint32_t shift_register_ = 0;
};

}  // namespace s5066::modem
