// Reads what a preamble says: D1 and D2 (rate and interleaver) and the count that tells when the
// data begins. Decides over all segments seen so far together, since single channel symbols are too
// weak near the noise; and only when the best reading is far enough ahead of the next.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "modem/waveforms/ms110a/preamble_search.h"

namespace s5066::modem::ms110a {

class PreambleDecoder {
 public:
  enum class Progress : std::uint8_t { pending, refused, decided };

  /// `noise_share`: see Downconverter.
  PreambleDecoder(const PreambleCandidate& candidate, float noise_share);

  /// Reads every segment that the history holds by now.
  Progress advance(const SampleHistory& history);
  /// Of the segment last read.
  float strength() const { return segment_.strength; }
  /// Once decided.
  const PreambleReading& reading() const { return reading_; }

 private:
  using Scores = std::array<float, 8>;

  Progress read_segment(const SampleHistory& history);
  void score(std::span<const dsp::Complex> samples, std::span<const dsp::Complex> response,
             float noise);
  std::optional<Progress> decide();
  void measure(const SampleHistory& history, unsigned count);

  PreambleCandidate segment_;
  float noise_share_;
  unsigned segments_read_ = 0;
  unsigned weak_segments_ = 0;
  std::array<Scores, 2> d_{};
  std::array<float, kCountsMax> first_count_{};  // score of each count of the first segment read
  float full_score_ = 0;                         // of a channel symbol that fits, summed likewise
  unsigned count_ = 0;                           // of the segment last read, once decided
  PreambleReading reading_;
};

}  // namespace s5066::modem::ms110a
