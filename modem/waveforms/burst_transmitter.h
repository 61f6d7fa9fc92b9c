// A transmission of any waveform as audio. The caller reads samples until it is over.
//
// Symbol n occupies samples 4n .. 4n+3 and its pulse is centred between 4n+1 and 4n+2, so the burst
// lasts exactly burst_symbols(mode, octets) symbols. The pulse extends six symbols to each side.
// The part before the first or behind the last sample is cut off, and one symbol at each end is
// ramped against key clicks. This affects only part of the first preamble symbols and of the last
// probe symbols, because a burst ends with a probe of at least 16 symbols. So every data pulse is
// sent whole.
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

/// The mean power of the samples of a phase-shift keyed burst. It is 9 dB below full scale, which
/// is 1, so that the peaks of the filtered signal, and of two bursts with a weak overlap, stay
/// inside the range. When points of a constellation lie inside the unit circle, the data part is
/// weaker accordingly.
inline constexpr float kTransmitPower = 0.125F;

class BurstTransmitter {
 public:
  BurstTransmitter(const Mode& mode, ByteSpan bytes, const Ms110dChoice& choice = {});
  explicit BurstTransmitter(std::vector<dsp::Complex> symbols) : symbols_(std::move(symbols)) {}

  /// Writes the next samples, within +-1, and returns their number, which is smaller at the end.
  std::size_t read(std::span<float> out);
  bool finished() const { return position_ == total_samples(); }
  std::uint64_t total_samples() const { return std::uint64_t{4} * symbols_.size(); }

 private:
  float sample(std::uint64_t at) const;

  std::vector<dsp::Complex> symbols_;
  std::uint64_t position_ = 0;
};

}  // namespace s5066::modem
