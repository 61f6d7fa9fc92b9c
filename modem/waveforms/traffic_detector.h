// SPDX-License-Identifier: Apache-2.0
// Detects a transmission whose preamble was missed, by the parts that its waveform repeats at the
// same places of a cycle with any data. It works from below 0 dB. Speech, a carrier and noise have
// no such repeated parts. Several tones may have some, and are excluded by their spectrum.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/dsp/spectral_lines.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem {

class TrafficDetector {
 public:
  explicit TrafficDetector(const std::vector<TrafficPattern>& patterns);

  /// Processes the last kHop samples of the history.
  void advance(const SampleHistory& history);
  /// Returns the transmission on the air. A transmission stays for about 1 s after its end.
  const std::optional<Traffic>& finding() const { return finding_; }
  /// Forgets all samples so far.
  void reset();
  /// Sets the state from before the first sample.
  void restart();

 private:
  static constexpr std::size_t kOffsets = 4;
  struct Kind {
    Mode mode;
    std::size_t cells;  // half-symbol positions after which the symbols repeat
    float kept;         // share of a cell's sum that is kept when a value is added
    float enough;       // a sum that noise does not reach
  };
  struct Template {
    std::size_t kind;
    std::size_t start;  // place in the cycle, in half-symbol positions
    std::vector<dsp::Complex> chips;
  };

  void add(const Template& pattern, const SampleHistory& history, std::int64_t from);
  void judge(const SampleHistory& history);
  bool is_tones(const SampleHistory& history);

  std::vector<Kind> kinds_;
  std::vector<Template> templates_;
  std::vector<std::array<std::vector<float>, kOffsets>> sums_;  // one array for each kind
  std::array<float, kHop> scale_{};                             // one over the power of the samples
  std::size_t hops_ = 0;
  dsp::SpectralLines lines_;
  float peak_ = 0;  // highest sum of the present finding
  std::optional<Traffic> finding_;
};

}  // namespace s5066::modem
