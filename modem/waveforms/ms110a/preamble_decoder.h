// Reads what a preamble says: D1 and D2 (rate and interleaver) and the count that tells when the
// data begins. Learns from the known symbols of each segment which paths there are and how strong,
// and decides over all segments seen so far together, since single channel symbols are too weak
// near the noise; and only when the best reading is far enough ahead of the next. No phase is used
// over more than a channel symbol, so that fast fading does no harm.
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

  /// `noise_share`: see Downconverter.
  PreambleDecoder(const PreambleCandidate& candidate, float noise_share);

  /// Reads every segment that the history holds by now.
  Progress advance(const SampleHistory& history);
  /// Part of the power that is this preamble's: in the segment last read, or in all of them if that
  /// is more and it is borne out.
  float strength() const {
    return borne_out() ? std::max(strength_now_, strength_) : strength_now_;
  }
  /// Several segments were read, and nothing speaks against there being a preamble.
  bool borne_out() const { return segments_read_ >= kSegmentsToBearOut && doubt_ == 0; }
  /// The candidate is a segment of the preamble that is being read.
  bool covers(const PreambleCandidate& candidate) const;
  /// Once decided.
  const PreambleReading& reading() const { return reading_; }

 private:
  static constexpr unsigned kSegmentsToBearOut = 4;
  static constexpr int kReach = 56;  // of paths, in half-symbol samples: 11.7 ms either way
  static constexpr std::size_t kDelays = 2 * kReach + 1;
  static constexpr std::size_t kValues = 8;
  /// Correlations of a segment's opening with what was not sent.
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
  Powers known_{};    // correlations with what was sent
  double noise_ = 0;  // and with what was not
  double power_ = 0;  // of a sample
  std::array<std::array<Powers, kValues>, 2> d_{};
  FixedVector<std::array<std::array<Powers, kValues>, 3>, kSegmentsMax> c_;  // by segment

  Powers path_{};       // power of each path
  Powers weight_{};     // of a squared correlation in a log-likelihood
  float strength_ = 0;  // over all segments
  float strength_now_;
  float doubt_ = 0;       // what speaks against there being a preamble at all, in nats
  float full_score_ = 0;  // of a channel symbol that fits, summed over the segments
  /// The known symbols of the last two segments.
  FixedVector<Correlations, 2 * kSegmentOpening.size()> opening_;
  unsigned count_ = 0;  // of the segment last read, once decided
  PreambleReading reading_;
};

}  // namespace s5066::modem::ms110a
