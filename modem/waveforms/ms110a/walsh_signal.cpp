// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/walsh_signal.h"

#include "modem/waveforms/ms110a/symbols.h"

namespace s5066::modem::ms110a {
namespace {

/// Number of sets that are received together without an interleaver.
constexpr unsigned kSetsAtOnce = 15;
/// A block is done when its least certain bit has this log-likelihood ratio.
constexpr float kSure = 6;

}  // namespace

WalshSignal::ChannelSymbols WalshSignal::channel_symbols(const Parameters& p) {
  ChannelSymbols out;
  for (unsigned count = p.segments; count-- > 0;) {
    for (const std::uint8_t symbol : kSegmentOpening) out.push_back(symbol);
    const auto c = count_symbols(count);
    for (const std::uint8_t symbol : {p.d1, p.d2, c[0], c[1], c[2], std::uint8_t{0}}) {
      out.push_back(symbol);
    }
  }
  return out;
}

WalshSignal::WalshSignal(const Parameters& p, BurstMemory& memory)
    : p_(p), preamble_(channel_symbols(p)), decoder_(p, &memory) {}

unsigned WalshSignal::preamble_sets() const {
  return static_cast<unsigned>(preamble_.size());
}

walsh::Set WalshSignal::preamble_set(unsigned index, bool other) const {
  const unsigned symbol = preamble_[index] ^ (other ? 1U : 0U);
  return walsh::scrambled(kChannelSymbolPattern[symbol], kSyncScrambler, 0);
}

unsigned WalshSignal::block_sets() const {
  return p_.interleaved ? p_.frames_per_block : kSetsAtOnce;
}

walsh::Set WalshSignal::set(std::uint64_t index, unsigned bits) const {
  const auto in_cycle = static_cast<unsigned>(index % p_.frames_per_cycle);
  return walsh::scrambled(walsh_pattern(p_, in_cycle, bits), data_scrambler(),
                          std::size_t{in_cycle} * walsh::kSetSymbols);
}

bool WalshSignal::feed_back(std::span<const float> llr, std::span<float> extrinsic) {
  return decoder_.feed_back(llr, extrinsic) >= kSure;
}

walsh::Signal::Taken WalshSignal::take(std::span<const float> llr) {
  decoder_.take(llr);
  return {.error_share = decoder_.error_share(), .surplus = decoder_.surplus()};
}

}  // namespace s5066::modem::ms110a
