// Finds the preamble of a MIL-STD-188-110A transmission in half-symbol samples: where a segment
// begins and how far the carrier is off. Runs all the time, also while a burst is being received.
//
// Two stages. First the powers of nine correlations over one channel symbol each, at every position
// and at carrier offsets 30 Hz apart, are added along the opening 0 1 3 0 1 3 1 2 0. Then, at the
// best position only, the nine are added as complex numbers, which is far more selective.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/dsp/complex_math.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::ms110a {

inline constexpr std::int64_t kSegmentSamples = 2 * kSegmentSymbols;
/// The window in which the paths of a channel are looked for, in symbols around the found position.
inline constexpr int kWindowBefore = 14;
inline constexpr unsigned kWindowTaps = 44;

struct PreambleCandidate {
  std::int64_t position = 0;  // half-symbol sample where a segment begins
  double offset_hz = 0;
  float strength = 0;  // coherent part of the received power, 0 to 1
};

class PreambleSearch {
 public:
  PreambleSearch();

  /// Takes note of the last kHop samples of the history. A candidate comes out when its whole
  /// segment has been received.
  std::optional<PreambleCandidate> advance(const SampleHistory& history);

 private:
  static constexpr std::size_t kOffsets = 7;
  static constexpr double kOffsetStepHz = 30;
  static constexpr std::size_t kPatterns = 4;  // that occur in the opening
  static constexpr std::size_t kSamplesPerChannelSymbol = 2 * kTribitsPerChannelSymbol;
  static constexpr std::size_t kRing = 22 * kHop;
  static constexpr std::size_t kEnergyHops =
      kSegmentOpening.size() * kSamplesPerChannelSymbol / kHop;

  struct Peak {
    std::int64_t position = 0;
    std::size_t offset_index = 0;
    float ratio = 0;
  };
  using Row = std::array<float, kHop>;

  void correlate(const SampleHistory& history, std::int64_t from);
  void add_up(std::int64_t from);
  float mean_power(std::int64_t from) const;

  // Squared correlations of a channel symbol that begins at a position, per pattern and offset.
  std::array<std::array<std::array<float, kRing>, kOffsets>, kPatterns> power_{};
  std::array<double, kRing / kHop> hop_energy_{};
  std::optional<Peak> best_;
};

/// The second stage at one place: the best offset near `offset_hz`, and how strong it is there.
PreambleCandidate examine_preamble(const SampleHistory& history, std::int64_t position,
                                   double offset_hz);

/// Samples from `first` on, turned back by an offset; the phase is 0 at sample 0 of the stream.
inline void turn_back(std::span<const dsp::Complex> samples, std::int64_t first, double offset_hz,
                      std::vector<dsp::Complex>& out) {
  dsp::turn_back(samples, first, offset_hz / kHalfSymbolRate, out);
}

}  // namespace s5066::modem::ms110a
