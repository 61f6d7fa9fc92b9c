// A transmission of any waveform as audio: pull samples until it is over.
//
// Symbol n occupies samples 4n .. 4n+3 and its pulse is centred between 4n+1 and 4n+2, so the burst
// lasts exactly burst_symbols(mode, octets) of them. The pulse reaches six symbols either way; what
// would lie before the first or behind the last sample is cut, and one symbol at each end is ramped
// against key clicks. That costs part of the first preamble symbols and the last probe symbols
// only: a burst ends with a probe of at least 16 symbols, so every data pulse is sent whole.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "modem/api/modes.h"
#include "modem/waveforms/burst_events.h"
#include "modem/waveforms/burst_symbols.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// Mean power of the samples of a phase-shift keyed burst, full scale being 1: 9 dB below, so that
/// the peaks of the filtered signal, and of two bursts that overlap weakly, stay inside the range.
/// Where the points of a constellation lie inside the unit circle, the data part is as much weaker.
inline constexpr float kTransmitPower = 0.125F;

class BurstTransmitter {
 public:
  BurstTransmitter(const Mode& mode, ByteSpan bytes, const Ms110dChoice& choice = {});
  explicit BurstTransmitter(std::vector<dsp::Complex> symbols) : symbols_(std::move(symbols)) {}

  /// Writes the next samples, within +-1, and returns how many; fewer than asked for at the end.
  std::size_t read(std::span<float> out);
  bool finished() const { return position_ == total_samples(); }
  std::uint64_t total_samples() const { return std::uint64_t{4} * symbols_.size(); }

 private:
  float sample(std::uint64_t at) const;

  std::vector<dsp::Complex> symbols_;
  std::uint64_t position_ = 0;
};

}  // namespace s5066::modem
