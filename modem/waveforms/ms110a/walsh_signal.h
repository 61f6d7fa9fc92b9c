// The sets of 110A at 75 bit/s (MIL-STD-188-110A 5.3.2.3.6; STANAG 4415).
#pragma once

#include "modem/waveforms/ms110a/block_decoder.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/walsh/signal.h"

namespace s5066::modem::ms110a {

class WalshSignal final : public walsh::Signal {
 public:
  explicit WalshSignal(const Parameters& p);

  unsigned preamble_sets() const override;
  walsh::Set preamble_set(unsigned index, bool other) const override;
  unsigned block_sets() const override;
  bool interleaved() const override { return p_.interleaved; }
  walsh::Set set(std::uint64_t index, unsigned bits) const override;
  bool feed_back(std::span<const float> llr, std::span<float> extrinsic) override;
  Taken take(std::span<const float> llr) override;

 private:
  Parameters p_;
  std::vector<std::uint8_t> preamble_;  // channel symbols
  BlockDecoder decoder_;
};

}  // namespace s5066::modem::ms110a
