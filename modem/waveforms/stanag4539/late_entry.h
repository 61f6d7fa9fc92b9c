// Enters a STANAG 4539 transmission whose start was missed. Between cycles of frames the last part
// of the preamble comes again behind a probe: 103 symbols that tell rate and interleaver, every
// 8.64 s, and a block of any interleaver begins behind them.
#pragma once

#include <optional>

#include "modem/waveforms/framed/known_search.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4539/parameters.h"

namespace s5066::modem::stanag4539 {

/// A probe, and what is inserted behind it.
inline constexpr unsigned kEntrySymbols = kFrameProbe + kInsertedSymbols;

class LateEntry {
 public:
  /// `noise_share`: see Downconverter.
  explicit LateEntry(float noise_share);

  /// As if nothing had been heard.
  void restart() { search_.restart(); }
  /// Takes note of the last kHop samples of the history.
  std::optional<PreambleReading> advance(const SampleHistory& history);

 private:
  std::optional<PreambleReading> read(const SampleHistory& history,
                                      const framed::SearchCandidate& candidate) const;

  float noise_share_;
  framed::KnownSearch search_;
};

}  // namespace s5066::modem::stanag4539
