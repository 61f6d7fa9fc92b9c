// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/viterbi.h"

#include <algorithm>
#include <bit>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

// The newest bit is in front of the six bits of the state.
constexpr std::uint8_t parity(unsigned value) {
  return static_cast<std::uint8_t>(std::popcount(value) & 1);
}

constexpr unsigned kHalf = kCodeStates / 2;

// Both generators begin and end with 1, so of the four branches of a butterfly (states 2i and
// 2i + 1 to i and i + 32) two carry the same output and two its inverse.
struct Signs {
  std::array<float, kHalf> first{};
  std::array<float, kHalf> second{};
};

constexpr Signs make_signs() {
  Signs signs;
  for (unsigned i = 0; i < kHalf; ++i) {
    signs.first[i] = parity((2 * i) & kCodeGenerator1) ? -1.0F : 1.0F;
    signs.second[i] = parity((2 * i) & kCodeGenerator2) ? -1.0F : 1.0F;
  }
  return signs;
}

constexpr Signs kSigns = make_signs();
constexpr float kImpossible = -1e9F;
constexpr float kLlrMax = 1e3F;
constexpr unsigned kNormalizeEvery = 64;

}  // namespace

ConvolutionalEncoder::Pair ConvolutionalEncoder::encode(std::uint8_t bit) {
  const unsigned window = static_cast<unsigned>(bit & 1) << (generators_.constraint - 1) | state_;
  state_ = window >> 1;
  return {parity(window & generators_.first), parity(window & generators_.second)};
}

ViterbiDecoder::ViterbiDecoder(std::size_t bits_at_once, std::pmr::memory_resource* memory)
    : survivors_(memory), traced_(memory) {
  survivors_.reserve(kDepth + bits_at_once);
  traced_.reserve(kDepth + bits_at_once);
  reset();
}

void ViterbiDecoder::reset() {
  metric_.fill(kImpossible);
  metric_[0] = 0;
  survivors_.clear();
  since_normalized_ = 0;
}

void ViterbiDecoder::decode(std::span<const float> llr, std::pmr::vector<std::uint8_t>& bits) {
  S5066_ASSERT(llr.size() % 2 == 0);
  for (std::size_t i = 0; i < llr.size(); i += 2) {
    step(llr[i], llr[i + 1]);
    if (++since_normalized_ == kNormalizeEvery) normalize();
  }
  if (survivors_.size() > kDepth) trace_back(kDepth, bits);
}

void ViterbiDecoder::finish(std::pmr::vector<std::uint8_t>& bits) {
  trace_back(0, bits);
}

// Keeps the metrics small enough for the precision of a float.
void ViterbiDecoder::normalize() {
  const float best = *std::max_element(metric_.begin(), metric_.end());
  for (float& metric : metric_) metric = std::max(metric - best, kImpossible);
  since_normalized_ = 0;
}

void ViterbiDecoder::step(float llr1, float llr2) {
  llr1 = std::clamp(llr1, -kLlrMax, kLlrMax);
  llr2 = std::clamp(llr2, -kLlrMax, kLlrMax);

  std::array<float, kHalf> even;
  std::array<float, kHalf> odd;
  for (unsigned i = 0; i < kHalf; ++i) {
    even[i] = metric_[2 * i];
    odd[i] = metric_[2 * i + 1];
  }
  std::array<std::uint8_t, kCodeStates> from_odd;
  for (unsigned i = 0; i < kHalf; ++i) {
    const float branch = kSigns.first[i] * llr1 + kSigns.second[i] * llr2;
    const float a0 = even[i] + branch;
    const float b0 = odd[i] - branch;
    const float a1 = even[i] - branch;
    const float b1 = odd[i] + branch;
    metric_[i] = std::max(a0, b0);
    metric_[i + kHalf] = std::max(a1, b1);
    from_odd[i] = b0 > a0;
    from_odd[i + kHalf] = b1 > a1;
  }
  std::uint64_t survivor = 0;
  for (unsigned s = 0; s < kCodeStates; ++s) survivor |= std::uint64_t{from_odd[s]} << s;
  survivors_.push_back(survivor);
}

void ViterbiDecoder::trace_back(std::size_t keep, std::pmr::vector<std::uint8_t>& bits) {
  const std::size_t settled = survivors_.size() - keep;
  const auto best = std::max_element(metric_.begin(), metric_.end());
  unsigned state = static_cast<unsigned>(best - metric_.begin());

  traced_.assign(settled, 0);
  for (std::size_t i = survivors_.size(); i-- > 0;) {
    if (i < settled) traced_[i] = static_cast<std::uint8_t>(state >> 5);
    state = (state << 1 & (kCodeStates - 1)) | static_cast<unsigned>(survivors_[i] >> state & 1);
  }
  bits.insert(bits.end(), traced_.begin(), traced_.end());
  survivors_.erase(survivors_.begin(), survivors_.begin() + static_cast<std::ptrdiff_t>(settled));
}

}  // namespace s5066::modem::dsp
