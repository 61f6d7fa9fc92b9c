// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4285/stream_code.h"

#include <algorithm>
#include <utility>

#include "modem/dsp/surplus.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::stanag4285 {
namespace {
/// A bit is final when this many pairs before it are known, and as many behind it as the Viterbi
/// decoder waits for.
constexpr std::size_t kBefore = 40;
constexpr std::size_t kAround = kBefore + dsp::ViterbiDecoder::kDepth;
/// The encoder remembers this many bits before a pair.
constexpr std::size_t kTail = dsp::kGenerators7.constraint - 1;
/// Each surplus gives this many times as much quality. At ratios where some frames fail, right
/// frames have hardly less than 0.15, and frames that are only the nearest to another signal are
/// near 0.
constexpr float kQualityOfSurplus = 5;

float wrong_share(std::span<const float> information) {
  return dsp::expected_errors(information) / static_cast<float>(information.size());
}

}  // namespace

StreamCode::StreamCode(const Parameters& p, std::pmr::memory_resource* memory)
    : p_(p),
      viterbi_(p.frame_coded_bits() / 2 + 1, memory),
      held_(p.delay_bits() + kRows, memory),
      sent_(p.frame_coded_bits(), memory),
      pairs_(memory),
      bits_(memory),
      siso_(memory),
      recent_(memory),
      about_pairs_(memory),
      information_(memory),
      word_(memory) {
  pairs_.reserve(p.frame_coded_bits() + 2);
  recent_.reserve(p.frame_coded_bits() + 2 + 2 * kAround);
  about_pairs_.reserve(recent_.capacity());
  information_.reserve(recent_.capacity() / 2);
  word_.reserve(information_.capacity());
  bits_.reserve(p.frame_user_bits() + dsp::ViterbiDecoder::kDepth);
}

float StreamCode::decode(std::span<const float> llr, std::span<float> extrinsic) {
  S5066_ASSERT(llr.size() == p_.frame_bits() && extrinsic.size() == llr.size());
  std::fill(extrinsic.begin(), extrinsic.end(), 0.0F);
  bits_.clear();
  if (!p_.coded) {
    for (const float value : llr) bits_.push_back(value < 0 ? 1 : 0);
    error_share_ = wrong_share(llr);
    return 0;
  }
  std::size_t from = 0;
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    sent_[i] = p_.punctured && i % 4 == 3 ? 0.0F : llr[from++];
  }
  if (copies_ == 0) pairs_.clear();
  for (std::size_t at = 0; at < sent_.size(); at += kRows) {
    take_group(std::span<const float>(sent_).subspan(at, kRows));
  }
  // A pair with missing copies waits for the next frame.
  const std::size_t ready = copies_ == 0 ? pairs_.size() : pairs_.size() - 2;
  viterbi_.decode(std::span<const float>(pairs_).first(ready), bits_);
  judge(std::span<const float>(pairs_).first(ready));
  pairs_.erase(pairs_.begin(), pairs_.begin() + static_cast<std::ptrdiff_t>(ready));
  return 0;
}

// The Viterbi decoder gives no certainty, so the soft decoder does. The octets of these bits begin
// in the previous frame.
void StreamCode::judge(std::span<const float> pairs) {
  recent_.insert(recent_.end(), pairs.begin(), pairs.end());
  const std::size_t count = recent_.size() / 2;
  if (count <= kAround) return;
  about_pairs_.resize(recent_.size());
  information_.resize(count);
  siso_.decode({.llr = recent_,
                .start = dsp::SisoDecoder::any_state(),
                .extrinsic = about_pairs_,
                .information = information_});
  const float before = std::exchange(
      last_share_, wrong_share(std::span(information_).subspan(kBefore, count - kAround)));
  error_share_ = std::max(before, last_share_);
  // The bits before the frame count as well, because with few bits in a frame the result would
  // otherwise be random.
  word_.clear();
  for (const float value : std::span(information_).first(count - dsp::ViterbiDecoder::kDepth)) {
    word_.push_back(value < 0 ? 1 : 0);
  }
  const float surplus = dsp::surplus(
      dsp::kGenerators7,
      std::span<const float>(recent_).subspan(2 * kTail, 2 * (word_.size() - kTail)), word_);
  const float support_before =
      std::exchange(last_support_, std::clamp(kQualityOfSurplus * surplus, 0.0F, 1.0F));
  support_ = std::min(support_before, last_support_);
  const std::size_t done = 2 * (count - kAround);
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(done));
}

// Row r brings a bit of the group that was sent r x row_delay groups before.
void StreamCode::take_group(std::span<const float> group) {
  const std::size_t kept = held_.size() / kRows;
  const auto slot = [&](std::size_t number) { return number % kept * kRows; };
  for (unsigned row = 0; row < kRows; ++row) {
    const std::size_t back = std::size_t{row} * p_.row_delay;
    if (groups_ < back) continue;
    const unsigned bit = p_.row_delay > 0 ? bit_of_row(row) : row;
    held_[slot(groups_ - back) + bit] = group[row];
  }
  const std::size_t delay = kept - 1;
  const std::size_t number = groups_++;
  if (number < delay) return;
  const float* const whole = &held_[slot(number - delay)];
  for (unsigned i = 0; i < kRows; i += 2) {
    if (copies_ == 0) pairs_.insert(pairs_.end(), {0.0F, 0.0F});
    pairs_[pairs_.size() - 2] += whole[i];
    pairs_[pairs_.size() - 1] += whole[i + 1];
    copies_ = (copies_ + 1) % p_.repetition;
  }
}

}  // namespace s5066::modem::stanag4285
