#include "modem/waveforms/ms110a/block_decoder.h"

#include <algorithm>

#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110a {

BlockDecoder::BlockDecoder(const Parameters& p) : p_(p), interleaver_(p.interleaver) {
  S5066_ASSERT(interleaver_.size() == p.block_coded_bits());
  fetched_.reserve(interleaver_.size());
  loaded_.resize(interleaver_.size());
}

std::optional<BlockDecoder::Block> BlockDecoder::push(std::span<const float> llr) {
  fetched_.insert(fetched_.end(), llr.begin(), llr.end());
  if (fetched_.size() < interleaver_.size()) return std::nullopt;
  interleaver_.deinterleave<float>(fetched_, loaded_);
  fetched_.clear();
  combine_repeated();
  viterbi_.decode(pairs_, bits_);

  Block block;
  look_for_mark(block);
  return block;
}

// Each coded pair was sent `repetition` times in a row; independent looks at a bit add up.
void BlockDecoder::combine_repeated() {
  const std::size_t group = 2 * std::size_t{p_.repetition};
  pairs_.assign(loaded_.size() / p_.repetition, 0.0F);
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    pairs_[i / group * 2 + i % 2] += loaded_[i];
  }
}

void BlockDecoder::look_for_mark(Block& block) {
  block.first_bit = first_bit_;
  const std::uint64_t settled = first_bit_ + bits_.size();
  while (searched_ < settled) {
    shift_register_ = shift_register_ << 1 | bits_[searched_ - first_bit_];
    ++searched_;
    if (searched_ < kEndOfMessageBits || shift_register_ != kEndOfMessage) continue;
    const std::uint64_t sent = searched_ + kFlushBits;
    block.blocks_in_all = (sent + p_.block_user_bits() - 1) / p_.block_user_bits();
    block.bytes = take_octets(searched_ - kEndOfMessageBits);
    return;
  }
  const std::uint64_t may_begin_a_mark = std::min<std::uint64_t>(settled, kEndOfMessageBits - 1);
  block.bytes = take_octets(settled - may_begin_a_mark);
}

// Whole octets before `to_bit`; the rest waits for the next block.
Bytes BlockDecoder::take_octets(std::uint64_t to_bit) {
  Bytes bytes;
  if (to_bit <= first_bit_) return bytes;
  const auto count = static_cast<std::size_t>((to_bit - first_bit_) / 8);
  bytes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned octet = 0;
    for (std::size_t b = 0; b < 8; ++b) octet |= static_cast<unsigned>(bits_[8 * i + b]) << b;
    bytes.push_back(static_cast<std::uint8_t>(octet));
  }
  bits_.erase(bits_.begin(), bits_.begin() + static_cast<std::ptrdiff_t>(8 * count));
  first_bit_ += 8 * count;
  return bytes;
}

}  // namespace s5066::modem::ms110a
