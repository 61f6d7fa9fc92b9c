// Tells that a transmission is on the air although its preamble was missed: by what its waveform
// sends again and again, at the same places of a cycle, whatever the data. Works from below 0 dB;
// speech, a carrier and noise have nothing that repeats in this way. Several tones may, and are
// told from a transmission by their spectrum.
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

  /// Takes note of the last kHop samples of the history.
  void advance(const SampleHistory& history);
  /// What is on the air now. A transmission stays for about a second behind its end.
  const std::optional<Traffic>& finding() const { return finding_; }
  /// Forgets everything heard so far.
  void reset();
  /// As if no sample had come, either.
  void restart();

 private:
  static constexpr std::size_t kOffsets = 4;
  struct Kind {
    Mode mode;
    std::size_t cells;  // half-symbol positions after which the symbols repeat
    float kept;         // of a cell's sum when something is added to it
    float enough;       // a sum that noise does not reach
  };
  struct Template {
    std::size_t kind;
    std::size_t start;  // in the cycle, half-symbol positions
    std::vector<dsp::Complex> chips;
  };

  void add(const Template& pattern, const SampleHistory& history, std::int64_t from);
  void judge(const SampleHistory& history);
  bool is_tones(const SampleHistory& history);

  std::vector<Kind> kinds_;
  std::vector<Template> templates_;
  std::vector<std::array<std::vector<float>, kOffsets>> sums_;  // by kind
  std::array<float, kHop> scale_{};                             // one over the power of the samples
  std::size_t hops_ = 0;
  dsp::SpectralLines lines_;
  float peak_ = 0;  // that the present finding has had
  std::optional<Traffic> finding_;
};

}  // namespace s5066::modem
