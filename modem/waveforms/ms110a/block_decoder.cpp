// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/block_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "modem/dsp/surplus.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110a {
namespace {
/// Information bits at the end of a block that stay uncertain until the next block is decoded.
constexpr std::size_t kUnsureAtEnd = 24;

/// A judgement needs so many decided bits, because fewer show little of their quality.
constexpr std::size_t kJudgedMin = 64;
/// The encoder remembers so many bits.
constexpr std::size_t kTail = dsp::kGenerators7.constraint - 1;

std::size_t most_llr(const Parameters& p) {
  return p.interleaved ? p.block_coded_bits() : BlockDecoder::kLlrAtOnceMax;
}
std::size_t most_bits(const Parameters& p) {
  return p.coded ? most_llr(p) / (2 * p.repetition) : most_llr(p);
}
std::size_t bits_at_once(const Parameters& p) {
  return most_bits(p) + dsp::ViterbiDecoder::kDepth;
}

}  // namespace

BlockDecoder::BlockDecoder(const Parameters& p, std::pmr::memory_resource* memory)
    : p_(p),
      viterbi_(most_bits(p), memory),
      message_({.flush_bits = kFlushBits, .block_bits = p.block_user_bits()}, most_bits(p), memory),
      siso_(memory),
      loaded_(memory),
      pairs_(memory),
      about_pairs_(memory),
      information_(memory),
      bits_(memory),
      word_(memory),
      pairs_of_word_(memory) {
  if (p.walsh) {
    word_.reserve(kTail + kJudgedMin + 2 * bits_at_once(p));
    word_.resize(kTail);
    pairs_of_word_.reserve(2 * (word_.capacity() + dsp::ViterbiDecoder::kDepth));
  }
  if (p.coded) {
    loaded_.reserve(most_llr(p));
    pairs_.reserve(2 * most_bits(p));
    about_pairs_.reserve(2 * most_bits(p));
  }
  information_.reserve(most_bits(p));
  bits_.reserve(bits_at_once(p));
  if (!p.interleaved) return;
  interleaver_.emplace(p.interleaver, memory);
  S5066_ASSERT(interleaver_->size() == p.block_coded_bits());
}

void BlockDecoder::take(std::span<const float> llr) {
  bits_.clear();
  if (p_.coded) {
    combine_repeated(llr);
    start_ = siso_.decode({pairs_, start_, about_pairs_, information_});
    viterbi_.decode(pairs_, bits_);
    if (p_.walsh) judge_word();
  } else {
    information_.assign(llr.begin(), llr.end());
    for (const float value : llr) bits_.push_back(value < 0 ? 1 : 0);
  }
  message_.push(bits_);
  // The share leaves out the uncertain bits at the end of the block, and the bits behind the end of
  // the transmission or the message.
  const std::size_t unsure = p_.coded ? std::min(kUnsureAtEnd, information_.size() / 2) : 0;
  const auto& mark = message_.mark();
  const auto share = [&](std::uint64_t to_bit) { return wrong_share(unsure, to_bit); };
  // A block behind either end counts as a whole, because the mark may prove to be user data.
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  const auto up_to = [&](std::uint64_t bit) { return information_before_ < bit ? bit : kAll; };
  error_share_ = share(mark ? up_to(mark->end) : kAll);
  const float wrong = share(mark ? up_to(mark->transmission) : kAll);
  information_before_ += information_.size();
  message_.judge(wrong);
}

// Bits are decided later than their soft bits arrive, so the soft bits wait for the decided ones.
void BlockDecoder::judge_word() {
  word_.insert(word_.end(), bits_.begin(), bits_.end());
  pairs_of_word_.insert(pairs_of_word_.end(), pairs_.begin(), pairs_.end());
  const std::size_t judged = std::max(bits_.size(), kJudgedMin);
  const auto before = std::max(word_.size(), kTail + judged) - (kTail + judged);
  word_.erase(word_.begin(), word_.begin() + static_cast<std::ptrdiff_t>(before));
  pairs_of_word_.erase(pairs_of_word_.begin(),
                       pairs_of_word_.begin() + static_cast<std::ptrdiff_t>(2 * before));
  const auto decided = std::span<const float>(pairs_of_word_).first(2 * (word_.size() - kTail));
  surplus_ = dsp::surplus(dsp::kGenerators7, decided, word_);
}

// Returns the share for the block's bits before `to_bit`, without the uncertain ones at its end. If
// the block has no such bits, the last share stays.
float BlockDecoder::wrong_share(std::size_t unsure, std::uint64_t to_bit) const {
  std::size_t count = information_.size() - unsure;
  const std::uint64_t before = std::min(to_bit, information_before_);
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, to_bit - before));
  if (count == 0) return error_share_;
  return dsp::expected_errors(std::span(information_).first(count)) / static_cast<float>(count);
}

float BlockDecoder::feed_back(std::span<const float> llr, std::span<float> extrinsic) const {
  combine_repeated(llr);
  siso_.decode({pairs_, start_, about_pairs_, information_});
  // A repeated bit also gets the information of its other copies.
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

// Each coded pair was sent `repetition` times in a row, so the log-likelihood ratios of its copies
// add up.
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

}  // namespace s5066::modem::ms110a
