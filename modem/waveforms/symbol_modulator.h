// SPDX-License-Identifier: Apache-2.0
// Sends symbols at 2400 Bd on a carrier of 1800 Hz.
//
// Symbol n occupies samples 4n .. 4n+3 and its pulse is centred between 4n+1 and 4n+2, so the burst
// lasts exactly as many symbol times as it has symbols. The pulse extends six symbols to each side.
// The part before the first or behind the last sample is cut off, and one symbol at each end is
// ramped against key clicks. This affects only part of the first preamble symbols and of the last
// probe symbols, because a burst ends with a probe of at least 16 symbols. So every data pulse is
// sent whole.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "modem/dsp/complex_math.h"
#include "modem/waveforms/transmission.h"

namespace s5066::modem {

class SymbolModulator final : public Modulator {
 public:
  explicit SymbolModulator(std::vector<dsp::Complex> symbols) : symbols_(std::move(symbols)) {}

  std::uint64_t total_samples() const override { return std::uint64_t{4} * symbols_.size(); }
  void write(std::uint64_t from, std::span<float> out) override;

 private:
  float sample(std::uint64_t at) const;

  std::vector<dsp::Complex> symbols_;
};

}  // namespace s5066::modem
