#include "modem/waveforms/stanag4539/block_code.h"

#include <algorithm>
#include <cmath>

#include "modem/waveforms/stanag4539/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::stanag4539 {
namespace {
/// Bits wrapped around each end: after so many the decoder no longer cares where it began.
constexpr std::size_t kWrap = 96;
constexpr std::size_t kTailBits = 6;
constexpr dsp::Interleaver::Steps kNone{.size = 1, .increment = 1};
}  // namespace

BlockCode::BlockCode(const Parameters& p)
    : p_(p), interleaver_(p.coded ? p.interleaver : kNone), bits_(p.block_user_bits()) {
  if (!p.coded) return;
  S5066_ASSERT(interleaver_.size() == p.block_coded_bits() && bits_.size() > kWrap);
  loaded_.resize(interleaver_.size());
  information_.resize(bits_.size() + 2 * kWrap);
  pairs_.resize(2 * information_.size());
  extrinsic_.resize(pairs_.size());
}

float BlockCode::decode(std::span<const float> llr, std::span<float> extrinsic) {
  S5066_ASSERT(llr.size() == p_.block_coded_bits() && extrinsic.size() == llr.size());
  expected_errors_ = 0;
  if (!p_.coded) {
    std::fill(extrinsic.begin(), extrinsic.end(), 0.0F);
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] = llr[i] < 0 ? 1 : 0;
    return 0;
  }
  interleaver_.deinterleave<float>(llr, loaded_);
  const std::size_t count = bits_.size();
  float* const own = pairs_.data() + 2 * kWrap;
  std::size_t from = 0;
  for (std::size_t i = 0; i < 2 * count; ++i) own[i] = kSent[i % 6] ? loaded_[from++] : 0.0F;
  std::copy_n(own + 2 * (count - kWrap), 2 * kWrap, pairs_.data());
  std::copy_n(own, 2 * kWrap, own + 2 * count);
  siso_.decode({.llr = pairs_,
                .start = dsp::SisoDecoder::any_state(),
                .extrinsic = extrinsic_,
                .information = information_});
  std::size_t to = 0;
  for (std::size_t i = 0; i < 2 * count; ++i) {
    if (kSent[i % 6]) loaded_[to++] = extrinsic_[2 * kWrap + i];
  }
  interleaver_.interleave<float>(loaded_, extrinsic);
  decide(std::span<const float>(information_).subspan(kWrap, count));
  return expected_errors_;
}

// The first pair belongs to the seventh bit.
void BlockCode::decide(std::span<const float> information) {
  for (std::size_t i = 0; i < information.size(); ++i) {
    bits_[(i + kTailBits) % information.size()] = information[i] < 0 ? 1 : 0;
    expected_errors_ += 1 / (1 + std::exp(std::abs(information[i])));
  }
}

}  // namespace s5066::modem::stanag4539
