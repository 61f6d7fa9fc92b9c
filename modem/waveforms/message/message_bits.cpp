#include "modem/waveforms/message/message_bits.h"

#include <algorithm>

namespace s5066::modem {
namespace {

/// So many zeros behind a mark are no accident.
constexpr std::uint64_t kZerosEnough = 16;
/// A block has been decoded without a doubt when fewer bits than that are probably wrong.
constexpr float kWrongMax = 0.1F;
/// So many ones behind a mark are the user's. A decoder that errs makes several at once.
constexpr std::uint64_t kOnesEnough = 8;
/// Where bits are wrong, more ones must be expected for one that is, and each of them takes so many
/// zeros for the rest to be what fills a block.
constexpr float kOnesPerWrong = 4;
constexpr std::uint64_t kZerosPerOne = 4;
/// A share of ones that is rather the user's, however many bits are wrong.
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
    : trailer_(trailer), bits_(memory), octets_(memory) {
  // A mark and what would end the transmission behind it, and less than an octet, wait for more.
  bits_.reserve(bits_at_once + kEndOfMessageBits + trailer.flush_bits + trailer.block_bits + 8);
  octets_.reserve(bits_.capacity() / 8);
}

void MessageBits::push(std::span<const std::uint8_t> bits) {
  pushed_from_ = settled();
  bits_.insert(bits_.end(), bits.begin(), bits.end());
  while (searched_ < settled()) {
    shift_register_ = shift_register_ << 1 | bits_[searched_ - first_bit_];
    ++searched_;
    if (searched_ < kEndOfMessageBits || shift_register_ != kEndOfMessage) continue;
    // One before it did not end the message.
    mark_ = {.end = searched_, .transmission = trailer_.end(searched_)};
    wrong_behind_ = 0;
  }
}

MessageBits::Portion MessageBits::take(float wrong_share) {
  if (mark_) judge(wrong_share);
  Portion portion;
  portion.first_bit = first_bit_;
  const std::uint64_t may_begin_a_mark = std::min<std::uint64_t>(settled(), kEndOfMessageBits - 1);
  portion.bytes =
      take_octets(mark_ ? mark_->end - kEndOfMessageBits : settled() - may_begin_a_mark);
  return portion;
}

// By what stands between the mark and the end that it would be. Few ones in a block decoded without
// a doubt, or few zeros, are left to what follows.
void MessageBits::judge(float wrong_share) {
  const std::uint64_t to = std::min(settled(), mark_->transmission);
  const std::uint64_t count = to - mark_->end;
  const std::uint64_t from = std::min(std::max(mark_->end, pushed_from_), to);
  wrong_behind_ += wrong_share * static_cast<float>(to - from);
  const auto behind = bits_.begin() + static_cast<std::ptrdiff_t>(mark_->end - first_bit_);
  const auto ones = static_cast<std::uint64_t>(
      std::count(behind, behind + static_cast<std::ptrdiff_t>(count), std::uint8_t{1}));
  const bool certain = wrong_behind_ < kWrongMax;
  if (certain && ones >= kOnesEnough) {
    mark_.reset();
    return;
  }
  const float ones_max = kOnesEnough + kOnesPerWrong * wrong_behind_;
  const float ones_of_user = kOnesEnough + kOnesOfUser * static_cast<float>(count);
  mark_->doubted = static_cast<float>(ones) >= std::min(ones_max, ones_of_user);
  mark_->filled = (ones == 0 || (!certain && static_cast<float>(ones) < ones_max)) &&
                  count >= kZerosEnough + (kZerosPerOne + 1) * ones;
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
