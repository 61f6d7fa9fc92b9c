// SPDX-License-Identifier: Apache-2.0
// Reads the preamble of 110D: waveform number, interleaver, constraint length, and the count that
// gives the beginning of the data. The response of the channel is learned from the fixed symbols of
// each super-frame. When one super-frame is too weak, up to four are evaluated together. They have
// the same announcement, consecutive counts, and paths of the same strength, though each path may
// have turned since the last one.
#pragma once

#include <array>
#include <optional>

#include "modem/dsp/least_squares.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/framed/known_search.h"
#include "modem/waveforms/framed/probed_demodulator.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::ms110d {

/// Returns the symbols of a super-frame from its beginning on.
template <std::size_t kDibitCount>
std::array<dsp::Complex, kDibitCount * kChannelSymbol> symbols_of(
    const std::array<std::uint8_t, kDibitCount>& dibits) {
  std::array<dsp::Complex, kDibitCount * kChannelSymbol> out;
  for (unsigned place = 0; place < kDibitCount; ++place) {
    const auto numbers = channel_symbol(place, dibits[place]);
    for (unsigned i = 0; i < kChannelSymbol; ++i) {
      out[place * kChannelSymbol + i] = framed::phase(numbers[i]);
    }
  }
  return out;
}

class PreambleReader {
 public:
  /// `noise_share` is that of Downconverter.
  explicit PreambleReader(float noise_share) : noise_share_(noise_share) {}

  /// The candidate is the newest super-frame, which the history must hold completely.
  std::optional<PreambleReading> read(const SampleHistory& history,
                                      const framed::SearchCandidate& candidate);

 private:
  static constexpr unsigned kTogetherMax = 4;
  static constexpr unsigned kDibits = 4;
  static constexpr unsigned kReadDibits = kCountDibits + kNumberDibits;
  /// The score of every dibit at each place behind the fixed ones, as a log-likelihood.
  using Scores = std::array<std::array<float, kDibits>, kReadDibits>;
  struct SuperFrame {
    std::int64_t from = 0;  // sample at which the window begins
    std::array<dsp::Complex, dsp::kPhases*(kSuperFrameSymbols + framed::kWindowTaps)> samples;
    dsp::WideResponse response;
    Scores scores;
    float variance = 0;  // variance of a score without a signal
  };
  struct Decision {
    Announced announced;
    unsigned remaining = 0;
    float lead = 0;
  };

  void load(const SampleHistory& history, SuperFrame& frame) const;
  void learn(const SampleHistory& history, unsigned count);
  double offset_seen(unsigned count) const;
  void weigh_paths(unsigned count);
  void score(SuperFrame& frame, float noise);
  std::optional<Decision> decide(unsigned count) const;
  float excess(const Decision& decision, unsigned count) const;
  std::optional<PreambleReading> measure(const SampleHistory& history, const Decision& decision,
                                         unsigned count);

  float noise_share_;
  double offset_hz_ = 0;
  std::array<SuperFrame, kTogetherMax> frames_;  // super-frames, the newest first
};

}  // namespace s5066::modem::ms110d
