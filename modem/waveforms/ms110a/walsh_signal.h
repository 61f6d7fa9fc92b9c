// SPDX-License-Identifier: Apache-2.0
// The sets of 110A at 75 bit/s (MIL-STD-188-110A 5.3.2.3.6; STANAG 4415).
#pragma once

#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/ms110a/block_decoder.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/walsh/signal.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::ms110a {

class WalshSignal final : public walsh::Signal {
 public:
  WalshSignal(const Parameters& p, BurstMemory& memory);

  unsigned preamble_sets() const override;
  walsh::Set preamble_set(unsigned index, bool other) const override;
  unsigned block_sets() const override;
  bool interleaved() const override { return p_.interleaved; }
  walsh::Set set(std::uint64_t index, unsigned bits) const override;
  bool feed_back(std::span<const float> llr, std::span<float> extrinsic) override;
  Taken take(std::span<const float> llr) override;
  MessageBits& message() override { return decoder_.message(); }

 private:
  Parameters p_;
  using ChannelSymbols = FixedVector<std::uint8_t, kSegmentsMax * kChannelSymbolsPerSegment>;
  static ChannelSymbols channel_symbols(const Parameters& p);

  ChannelSymbols preamble_;
  BlockDecoder decoder_;
};

}  // namespace s5066::modem::ms110a
