// SPDX-License-Identifier: Apache-2.0
// Finds the preamble of a MIL-STD-188-110A transmission in half-symbol samples: the start of a
// segment and the carrier's offset. It runs all the time, also while a burst is being received.
//
// The powers of nine correlations over one channel symbol each, at every position and at carrier
// offsets 30 Hz apart, are added along the opening 0 1 3 0 1 3 1 2 0. The phase is used over 13 ms
// at most, so that fast fading does no harm. Several segments show what one does not: sums are kept
// from segment to segment, and fade out over ten of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/dsp/complex_math.h"
#include "modem/waveforms/framed/probed_demodulator.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::ms110a {

inline constexpr std::int64_t kSegmentSamples = 2 * kSegmentSymbols;
using framed::kWindowBefore;
using framed::kWindowTaps;

struct PreambleCandidate {
  std::int64_t position = 0;  // half-symbol sample at which a segment begins
  double offset_hz = 0;
  float strength = 0;  // share of the received power that belongs to this preamble, 0 to 1
};

class PreambleSearch {
 public:
  PreambleSearch();

  /// Resets the search to its initial state.
  void restart();
  /// Processes the last kHop samples of the history. Returns a candidate when its whole segment has
  /// been received.
  std::optional<PreambleCandidate> advance(const SampleHistory& history);

 private:
  static constexpr std::size_t kOffsets = 7;
  static constexpr double kOffsetStepHz = 30;
  static constexpr std::size_t kPatterns = 4;  // patterns that occur in the opening
  static constexpr std::size_t kSamplesPerChannelSymbol = 2 * kTribitsPerChannelSymbol;
  static constexpr std::size_t kRing = 22 * kHop;

  struct Peak {
    std::int64_t position = 0;
    std::size_t offset_index = 0;
    float score = 0;  // at least 1 for a candidate
    float ratio = 0;  // power of this segment relative to noise alone
  };
  using Row = std::array<float, kHop>;

  void correlate(const SampleHistory& history, std::int64_t from);
  void add_up(std::int64_t from);

  // Squared correlations of a channel symbol that begins at a position, per pattern and offset,
  // relative to noise of the same power.
  std::array<std::array<std::array<float, kRing>, kOffsets>, kPatterns> power_{};
  // Excess over noise of the segments so far, by position within a segment.
  std::array<std::array<float, kSegmentSamples>, kOffsets> excess_{};
  std::optional<Peak> best_;
};

}  // namespace s5066::modem::ms110a
