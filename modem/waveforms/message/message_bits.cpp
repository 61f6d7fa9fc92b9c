#include "modem/waveforms/message/message_bits.h"

#include <algorithm>

namespace s5066::modem {

std::vector<std::uint8_t> message_bits(ByteSpan bytes, unsigned flush_bits,
                                       std::size_t block_bits) {
  std::vector<std::uint8_t> bits;
  bits.reserve(8 * bytes.size() + kEndOfMessageBits + flush_bits + block_bits);
  for (const std::uint8_t octet : bytes) {
    for (unsigned i = 0; i < 8; ++i) bits.push_back(octet >> i & 1);
  }
  for (unsigned i = kEndOfMessageBits; i-- > 0;) bits.push_back(kEndOfMessage >> i & 1);
  const std::size_t least = bits.size() + flush_bits;
  bits.resize((least + block_bits - 1) / block_bits * block_bits, 0);
  return bits;
}

MessageBits::MessageBits(std::size_t bits_at_once, std::pmr::memory_resource* memory)
    : bits_(memory), octets_(memory) {
  // Less than a mark and an octet wait for more.
  bits_.reserve(bits_at_once + kEndOfMessageBits + 8);
  octets_.reserve(bits_.capacity() / 8);
}

MessageBits::Portion MessageBits::push(std::span<const std::uint8_t> bits) {
  bits_.insert(bits_.end(), bits.begin(), bits.end());
  Portion portion;
  portion.first_bit = first_bit_;
  const std::uint64_t settled = first_bit_ + bits_.size();
  while (searched_ < settled) {
    shift_register_ = shift_register_ << 1 | bits_[searched_ - first_bit_];
    ++searched_;
    if (searched_ < kEndOfMessageBits || shift_register_ != kEndOfMessage) continue;
    portion.ended_after = searched_;
    portion.bytes = take_octets(searched_ - kEndOfMessageBits);
    return portion;
  }
  const std::uint64_t may_begin_a_mark = std::min<std::uint64_t>(settled, kEndOfMessageBits - 1);
  portion.bytes = take_octets(settled - may_begin_a_mark);
  return portion;
}

// Whole octets before `to_bit`; the rest waits for more.
ByteSpan MessageBits::take_octets(std::uint64_t to_bit) {
  octets_.clear();
  if (to_bit <= first_bit_) return octets_;
  const auto count = static_cast<std::size_t>((to_bit - first_bit_) / 8);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned octet = 0;
    for (std::size_t b = 0; b < 8; ++b) octet |= static_cast<unsigned>(bits_[8 * i + b]) << b;
    octets_.push_back(static_cast<std::uint8_t>(octet));
  }
  bits_.erase(bits_.begin(), bits_.begin() + static_cast<std::ptrdiff_t>(8 * count));
  first_bit_ += 8 * count;
  return octets_;
}

}  // namespace s5066::modem
