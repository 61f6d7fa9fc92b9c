// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/message/message_bits.h"

#include <algorithm>
#include <utility>

namespace s5066::modem {
namespace {

/// This many zeros behind a mark are no coincidence.
constexpr std::uint64_t kZerosEnough = 16;
/// A block counts as decoded without a doubt when fewer bits than this are probably wrong.
constexpr float kWrongMax = 0.1F;
/// This many ones behind a mark are the user's, because one error of a decoder makes several ones.
constexpr std::uint64_t kOnesEnough = 8;
/// One wrong bit may give several ones. Each of them needs this many zeros, so that the rest counts
/// as the fill of a block.
constexpr float kOnesPerWrong = 4;
constexpr std::uint64_t kZerosPerOne = 4;
/// Above this share of ones the bits are the user's, however many are wrong.
constexpr float kOnesOfUser = 0.25F;

}  // namespace

std::vector<std::uint8_t> message_bits(ByteSpan bytes, const Trailer& trailer) {
  const std::uint64_t sent = 8 * bytes.size() + kEndOfMessageBits;
  std::vector<std::uint8_t> bits;
  bits.reserve(trailer.end(sent));
  for (const std::uint8_t octet : bytes) {
    for (unsigned i = 0; i < 8; ++i) bits.push_back(octet >> i & 1);
  }
  for (unsigned i = kEndOfMessageBits; i-- > 0;) bits.push_back(kEndOfMessage >> i & 1);
  bits.resize(trailer.end(sent), 0);
  return bits;
}

MessageBits::MessageBits(const Trailer& trailer, std::size_t bits_at_once,
                         std::pmr::memory_resource* memory)
    : trailer_(trailer),
      // A mark with the end of the transmission behind it, and less than an octet, wait for more
      // bits.
      at_once_max_(bits_at_once + kEndOfMessageBits + trailer.flush_bits + trailer.block_bits + 8),
      kept_max_(at_once_max_ + std::max(bits_at_once, kKeptMin)),
      bits_(memory),
      octets_(memory) {
  bits_.reserve(kept_max_ + bits_at_once);
  octets_.reserve(at_once_max_ / 8);
}

void MessageBits::push(std::span<const std::uint8_t> bits) {
  pushed_from_ = settled();
  for (const std::uint8_t bit : bits) {
    append(bit);
    shift_register_ = shift_register_ << 1 | bit;
    const std::uint64_t searched = settled();
    if (searched < kEndOfMessageBits || shift_register_ != kEndOfMessage) continue;
    // An earlier mark did not end the message.
    const std::uint64_t end = trailer_.end(searched);
    mark_ = {.end = searched, .transmission = end, .idle_until = end};
    wrong_behind_ = wrong_after_ = 0;
    ones_after_ = 0;
  }
}

void MessageBits::append(std::uint8_t bit) {
  const std::uint64_t at = settled();
  const bool idle = mark_ && bit == 0 && at == mark_->transmission + idle_ &&
                    (idle_ == 0 || idle_at_ == mark_->transmission);
  if (!idle) {
    bits_.push_back(bit);
    return;
  }
  idle_at_ = mark_->transmission;
  ++idle_;
}

void MessageBits::judge(float wrong_share) {
  if (mark_) judge_fill(wrong_share);
  if (mark_) judge_rest(wrong_share);
}

// Judges by the bits between the mark and the end that it would give. Few ones in a block decoded
// without a doubt, or few zeros, leave the decision to the following bits.
void MessageBits::judge_fill(float wrong_share) {
  const std::uint64_t to = std::min(settled(), mark_->transmission);
  const std::uint64_t from = std::min(std::max(mark_->end, pushed_from_), to);
  wrong_behind_ += wrong_share * static_cast<float>(to - from);
  const std::uint64_t count = to - mark_->end;
  const std::uint64_t ones = ones_in(mark_->end, to);
  const bool certain = wrong_behind_ < kWrongMax;
  if (certain && ones >= kOnesEnough) {
    mark_.reset();
    return;
  }
  const float ones_max = kOnesEnough + kOnesPerWrong * wrong_behind_;
  const float ones_of_user = kOnesEnough + kOnesOfUser * static_cast<float>(count);
  mark_->doubted = static_cast<float>(ones) >= std::min(ones_max, ones_of_user);
  const bool accidents = !certain && static_cast<float>(ones) < ones_max;
  mark_->filled = (ones == 0 || accidents) && count >= kZerosEnough + (kZerosPerOne + 1) * ones;
  mark_->bare = ones == 0 || mark_->filled;
}

// Judges by the bits behind that end.
void MessageBits::judge_rest(float wrong_share) {
  const std::uint64_t from = std::max(mark_->transmission, pushed_from_);
  if (settled() <= from) return;
  wrong_after_ += wrong_share * static_cast<float>(settled() - from);
  ones_after_ += ones_in(from, settled());
  const std::uint64_t count = settled() - mark_->transmission;
  const float ones_max =
      kOnesEnough + std::min(kOnesPerWrong * wrong_after_, kOnesOfUser * static_cast<float>(count));
  mark_->denied = static_cast<float>(ones_after_) >= ones_max || bits_.size() > kept_max_;
  if (mark_->denied) return;
  mark_->idle_until = settled() / trailer_.block_bits * trailer_.block_bits;
  if (mark_->bare && settled() - mark_->end >= kZerosEnough + (kZerosPerOne + 1) * ones_after_) {
    mark_->filled = true;
  }
}

std::uint64_t MessageBits::ones_in(std::uint64_t from, std::uint64_t to) const {
  std::uint64_t ones = 0;
  for (std::uint64_t at = from; at < to; ++at) ones += bit_at(at);
  return ones;
}

MessageBits::Portion MessageBits::take() {
  Portion portion;
  portion.first_bit = first_bit_;
  const std::uint64_t count = std::min<std::uint64_t>(takeable(), at_once_max_ / 8);
  octets_.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    unsigned octet = 0;
    for (unsigned b = 0; b < 8; ++b) {
      octet |= static_cast<unsigned>(bit_at(first_bit_ + 8 * i + b)) << b;
    }
    octets_.push_back(static_cast<std::uint8_t>(octet));
  }
  drop(8 * count);
  portion.bytes = octets_;
  return portion;
}

// Returns the number of whole octets before the mark, or before the possible beginning of one.
std::uint64_t MessageBits::takeable() const {
  const std::uint64_t may_begin_a_mark = std::min<std::uint64_t>(settled(), kEndOfMessageBits - 1);
  const std::uint64_t to = mark_ ? mark_->end - kEndOfMessageBits : settled() - may_begin_a_mark;
  return to > first_bit_ ? (to - first_bit_) / 8 : 0;
}

std::uint8_t MessageBits::bit_at(std::uint64_t number) const {
  const std::uint64_t place = number - first_bit_;
  if (idle_ == 0 || number < idle_at_) return bits_[static_cast<std::size_t>(place)];
  return number < idle_at_ + idle_ ? std::uint8_t{0}
                                   : bits_[static_cast<std::size_t>(place - idle_)];
}

void MessageBits::drop(std::uint64_t count) {
  const std::uint64_t before = idle_ > 0 ? std::min(count, idle_at_ - first_bit_) : count;
  const std::uint64_t of_idle = std::min(count - before, idle_);
  const auto stored = static_cast<std::ptrdiff_t>(count - of_idle);
  bits_.erase(bits_.begin(), bits_.begin() + stored);
  first_bit_ += count;
  idle_ -= of_idle;
  idle_at_ += of_idle;
  if (idle_ == 0 || idle_at_ > first_bit_ || idle_ >= 8) return;
  // Less than an octet is left, and the next mark may need the counter for the zeros behind it.
  bits_.insert(bits_.begin(), static_cast<std::size_t>(std::exchange(idle_, 0)), std::uint8_t{0});
}

}  // namespace s5066::modem
