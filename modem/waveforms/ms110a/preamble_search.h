// Finds the preamble of a MIL-STD-188-110A transmission in half-symbol samples: where a segment
// begins and how far the carrier is off. Runs all the time, also while a burst is being received.
//
// The powers of nine correlations over one channel symbol each, at every position and at carrier
// offsets 30 Hz apart, are added along the opening 0 1 3 0 1 3 1 2 0: no phase is used over more
// than 13 ms, so that fast fading does no harm. What one segment does not show, several do: sums
// are kept from segment to segment, and fade out over ten of them.
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
  std::int64_t position = 0;  // half-symbol sample where a segment begins
  double offset_hz = 0;
  float strength = 0;  // part of the received power that is this preamble's, 0 to 1
};

class PreambleSearch {
 public:
  PreambleSearch();

  /// As if nothing had been heard.
  void restart();
  /// Takes note of the last kHop samples of the history. A candidate comes out when its whole
  /// segment has been received.
  std::optional<PreambleCandidate> advance(const SampleHistory& history);

 private:
  static constexpr std::size_t kOffsets = 7;
  static constexpr double kOffsetStepHz = 30;
  static constexpr std::size_t kPatterns = 4;  // that occur in the opening
  static constexpr std::size_t kSamplesPerChannelSymbol = 2 * kTribitsPerChannelSymbol;
  static constexpr std::size_t kRing = 22 * kHop;

  struct Peak {
    std::int64_t position = 0;
    std::size_t offset_index = 0;
    float score = 0;  // 1 is enough
    float ratio = 0;  // power in relation to noise alone, of this segment
  };
  using Row = std::array<float, kHop>;

  void correlate(const SampleHistory& history, std::int64_t from);
  void add_up(std::int64_t from);

  // Squared correlations of a channel symbol that begins at a position, per pattern and offset, in
  // relation to noise of the same power.
  std::array<std::array<std::array<float, kRing>, kOffsets>, kPatterns> power_{};
  // What segments so far had beyond noise, by position within a segment.
  std::array<std::array<float, kSegmentSamples>, kOffsets> excess_{};
  std::optional<Peak> best_;
};

}  // namespace s5066::modem::ms110a
