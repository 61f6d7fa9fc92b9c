// SPDX-License-Identifier: Apache-2.0
// Decodes a preamble: D1 and D2 (rate and interleaver) and the count that gives the start of the
// data. It estimates from the known symbols of each segment the paths and their powers. It decides
// over all segments received so far together, because single channel symbols are too weak near the
// noise, and only when the best hypothesis is far enough ahead of the next. The phase is used over
// one channel symbol at most, so that fast fading does no harm.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "modem/waveforms/ms110a/preamble_search.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::ms110a {

class PreambleDecoder {
 public:
  enum class Progress : std::uint8_t { pending, refused, decided };

  /// Makes a decoder; for `noise_share` see Downconverter.
  PreambleDecoder(const PreambleCandidate& candidate, float noise_share);

  /// Decodes every segment that the history holds by now.
  Progress advance(const SampleHistory& history);
  /// Returns the share of the power that belongs to this preamble: in the last segment, or in all
  /// of them if that is more and the preamble is confirmed.
  float strength() const {
    return confirmed() ? std::max(strength_now_, strength_) : strength_now_;
  }
  /// True if several segments were decoded and there is no evidence against a preamble.
  bool confirmed() const { return segments_read_ >= kSegmentsToConfirm && doubt_ == 0; }
  /// True if the candidate is a segment of the preamble that is being decoded.
  bool covers(const PreambleCandidate& candidate) const;
  /// Returns the result; call this after Progress::decided.
  const PreambleReading& reading() const { return reading_; }

 private:
  static constexpr unsigned kSegmentsToConfirm = 4;
  static constexpr int kReach = 56;  // reach of paths in half-symbol samples: 11.7 ms either way
  static constexpr std::size_t kDelays = 2 * kReach + 1;
  static constexpr std::size_t kValues = 8;
  /// Number of correlations of a segment's opening with symbols that were not sent.
  static constexpr std::size_t kWrongPerSegment = kSegmentOpening.size() * (kValues - 1) * kDelays;
  using Powers = std::array<float, kDelays>;
  using Scores = std::array<float, kValues>;
  using Correlations = std::array<dsp::Complex, kDelays>;

  Progress read_segment(const SampleHistory& history);
  void correlate(std::size_t symbol, std::array<Correlations, kValues>& out) const;
  void weigh_paths(float power);
  void doubt(std::span<const Powers> sent, float noise, float power);
  void find_offset();
  std::optional<Progress> decide();
  void measure(const SampleHistory& history, float power);

  std::int64_t position_;
  double offset_hz_;
  float noise_share_;
  unsigned segments_read_ = 0;
  FixedVector<dsp::Complex, kSegmentSamples + 2 * kReach> samples_;

  // Sums over the segments read.
  Powers known_{};    // correlations with the sent symbols
  double noise_ = 0;  // correlations with the other symbols
  double power_ = 0;  // power of a sample
  std::array<std::array<Powers, kValues>, 2> d_{};
  FixedVector<std::array<std::array<Powers, kValues>, 3>, kSegmentsMax> c_;  // scores per segment

  Powers path_{};       // power of each path
  Powers weight_{};     // weight of a squared correlation in a log-likelihood
  float strength_ = 0;  // strength over all segments
  float strength_now_;
  float doubt_ = 0;       // evidence against a preamble, in nats
  float full_score_ = 0;  // score of a matching channel symbol, summed over the segments
  /// The known symbols of the last two segments.
  FixedVector<Correlations, 2 * kSegmentOpening.size()> opening_;
  unsigned count_ = 0;  // count of the last segment, valid once decided
  PreambleReading reading_;
};

}  // namespace s5066::modem::ms110a
