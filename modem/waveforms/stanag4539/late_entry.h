// Enters a STANAG 4539 transmission whose start was missed. Between cycles of frames the last part
// of the preamble comes again behind a probe: 103 symbols that tell rate and interleaver, every
// 8.64 s, and a block of any interleaver begins behind them. When the probes of the whole cycle
// before can be heard too, as when only the preamble lay in a fade, the transmission is entered at
// the beginning of that cycle.
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
  void restart();
  /// What has been heard belongs to bursts that were received.
  void forget() { heard_from_ = end_; }
  /// Takes note of the last kHop samples of the history.
  std::optional<PreambleReading> advance(const SampleHistory& history);

 private:
  std::optional<PreambleReading> read(const SampleHistory& history,
                                      const framed::SearchCandidate& candidate) const;

  bool cycle_was_heard(const SampleHistory& history, std::int64_t position, double offset_hz) const;

  float noise_share_;
  framed::KnownSearch search_;
  std::int64_t end_ = 0;         // of the history
  std::int64_t heard_from_ = 0;  // nothing before is of a transmission that is entered
};

}  // namespace s5066::modem::stanag4539
