// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110d/walsh_signal.h"

#include "modem/waveforms/ms110d/code.h"

namespace s5066::modem::ms110d {
namespace {

/// A block with a smaller expected share of wrong bits is finished.
constexpr float kErrorsMax = 0.01F;

}  // namespace

WalshSignal::WalshSignal(const Mode& mode, unsigned constraint, unsigned super_frames,
                         BurstMemory& memory)
    : p_(parameters(mode, constraint)),
      super_frames_(super_frames),
      code_(code_of(p_), &memory),
      extrinsic_(p_.block_coded_bits(), &memory),
      message_({.block_bits = p_.block_user_bits}, p_.block_user_bits, &memory) {}

unsigned WalshSignal::preamble_sets() const {
  return super_frames_ * kSuperFrameDibits;
}

walsh::Set WalshSignal::preamble_set(unsigned index, bool other) const {
  const unsigned remaining = super_frames_ - 1 - index / kSuperFrameDibits;
  const unsigned place = index % kSuperFrameDibits;
  const unsigned dibit = super_frame(p_, remaining)[place];
  return channel_symbol(place, dibit ^ (other ? 1U : 0U));
}

// The scrambler starts again with each block.
walsh::Set WalshSignal::set(std::uint64_t index, unsigned bits) const {
  const auto in_block = static_cast<std::size_t>(index % p_.frames_per_block);
  const bool last = in_block + 1 == p_.frames_per_block;
  return walsh::scrambled(walsh_pattern(last, bits), walsh_scrambler(),
                          in_block * walsh::kSetSymbols);
}

bool WalshSignal::feed_back(std::span<const float> llr, std::span<float> extrinsic) {
  return code_.decode(llr, extrinsic) <= kErrorsMax;
}

walsh::Signal::Taken WalshSignal::take(std::span<const float> llr) {
  code_.decode(llr, extrinsic_);
  message_.push(code_.bits());
  message_.judge(code_.error_share());
  return {.error_share = code_.error_share(), .surplus = code_.surplus()};
}

}  // namespace s5066::modem::ms110d
