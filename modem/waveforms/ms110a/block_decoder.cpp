#include "modem/waveforms/ms110a/block_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110a {
namespace {
/// Information bits at the end of a block that the next block makes sure.
constexpr std::size_t kUnsureAtEnd = 24;
}  // namespace

BlockDecoder::BlockDecoder(const Parameters& p) : p_(p) {
  if (!p.interleaved) return;
  interleaver_.emplace(p.interleaver);
  S5066_ASSERT(interleaver_->size() == p.block_coded_bits());
}

BlockDecoder::Block BlockDecoder::take(std::span<const float> llr) {
  if (p_.coded) {
    combine_repeated(llr);
    start_ = siso_.decode({pairs_, start_, about_pairs_, information_});
    viterbi_.decode(pairs_, bits_);
  } else {
    information_.assign(llr.begin(), llr.end());
    for (const float value : llr) bits_.push_back(value < 0 ? 1 : 0);
  }
  float wrong = 0;
  for (const float value : information_) wrong += 1 / (1 + std::exp(std::abs(value)));
  error_share_ = wrong / static_cast<float>(information_.size());
  Block block;
  look_for_mark(block);
  return block;
}

float BlockDecoder::feed_back(std::span<const float> llr, std::span<float> extrinsic) const {
  combine_repeated(llr);
  siso_.decode({pairs_, start_, about_pairs_, information_});
  // A repeated bit learns from its other copies, too.
  const std::size_t group = 2 * std::size_t{p_.repetition};
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    const std::size_t pair = i / group * 2 + i % 2;
    loaded_[i] = about_pairs_[pair] + pairs_[pair] - loaded_[i];
  }
  if (interleaver_) {
    interleaver_->interleave<float>(loaded_, extrinsic);
  } else {
    std::copy(loaded_.begin(), loaded_.end(), extrinsic.begin());
  }
  float least = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i + kUnsureAtEnd < information_.size(); ++i) {
    least = std::min(least, std::abs(information_[i]));
  }
  return least;
}

// Each coded pair was sent `repetition` times in a row; independent looks at a bit add up.
void BlockDecoder::combine_repeated(std::span<const float> llr) const {
  loaded_.resize(llr.size());
  if (interleaver_) {
    interleaver_->deinterleave<float>(llr, loaded_);
  } else {
    std::copy(llr.begin(), llr.end(), loaded_.begin());
  }
  const std::size_t group = 2 * std::size_t{p_.repetition};
  pairs_.assign(loaded_.size() / p_.repetition, 0.0F);
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    pairs_[i / group * 2 + i % 2] += loaded_[i];
  }
  about_pairs_.resize(pairs_.size());
  information_.resize(pairs_.size() / 2);
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
