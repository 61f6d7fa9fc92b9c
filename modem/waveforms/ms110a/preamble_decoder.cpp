// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/preamble_decoder.h"
#include "modem/waveforms/framed/constellation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modem/dsp/least_squares.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/ms110a/symbols.h"

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;
using dsp::mul_conj;

constexpr std::size_t kOpening = kSegmentOpening.size();
constexpr std::size_t kSymbolSamples = 2 * kTribitsPerChannelSymbol;
constexpr double kSymbolSeconds = static_cast<double>(kTribitsPerChannelSymbol) / kSymbolRate;
/// A path counts if its power exceeds zero by this many standard deviations of its error, and
/// exceeds this share of the strongest path.
constexpr float kPathNoiseFactor = 4;
constexpr float kPathShareMin = 0.02F;
/// Neighbouring half-symbol steps receive the same path, so their sum is scaled to count it once.
constexpr float kScoreScale = 0.5F;
/// Minimum lead of the best hypothesis: as a log-likelihood, and as a share of the score of a
/// matching channel symbol, because echoes disturb without being noise.
constexpr float kLeadMin = 10;
constexpr float kLeadShareMin = 0.3F;
/// A preamble that shows no path within this many segments is given up.
constexpr unsigned kSegmentsWithoutPathMax = 3;
/// A preamble is given up when the evidence against it exceeds this, in nats; one segment counts
/// for at most `kDoubtStep`.
constexpr float kDoubtMax = 8;
constexpr float kDoubtStep = 3;
/// Power of a correlation with both half-symbol phases of a path, in units of a sample's power.
constexpr auto kGain = static_cast<float>(2 * kTribitsPerChannelSymbol * kTribitsPerChannelSymbol);
/// Minimum correlation over a time for the use of the phase over that time.
constexpr float kCoherent = 0.5F;
constexpr unsigned kRefinements = 3;
constexpr float kSnrMinDb = -20;
/// Upper limit of the signal's share that the sum of powers can measure, because echoes of the
/// patterns themselves look like signal.
constexpr float kShareMax = 0.9F;
/// Limits above which the least-squares fit of a segment is the better measure. In fast fading the
/// fit fails, and gives far less than the sum of powers.
constexpr float kFitSnrMin = 1;
constexpr float kFitShareMin = 0.2F;
constexpr double kTiny = 1e-20;

/// Every segment ends with the channel symbol 0 that the next one opens with. Up to this delay
/// step, counted from the earliest, the opening symbol of a path is received a second time, as one
/// of an earlier path that does not exist, earlier by the length of a channel symbol.
bool heard_twice(std::size_t symbol, std::size_t delay, std::size_t delays) {
  return symbol == 0 && delay + kSymbolSamples < delays;
}

std::pair<std::size_t, float> best_and_lead(std::span<const float> scores) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  float second = -1e30F;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i != best) second = std::max(second, scores[i]);
  }
  return {best, scores[best] - second};
}

}  // namespace

PreambleDecoder::PreambleDecoder(const PreambleCandidate& candidate, float noise_share)
    : position_(candidate.position),
      offset_hz_(candidate.offset_hz),
      noise_share_(noise_share),
      strength_now_(candidate.strength) {}

bool PreambleDecoder::covers(const PreambleCandidate& candidate) const {
  const std::int64_t apart = std::abs(candidate.position - position_) % kSegmentSamples;
  return std::min(apart, kSegmentSamples - apart) <= kReach;
}

PreambleDecoder::Progress PreambleDecoder::advance(const SampleHistory& history) {
  while (history.end() >= position_ + kSegmentSamples + 2 * kWindowTaps) {
    const Progress progress = read_segment(history);
    if (progress != Progress::pending) return progress;
    position_ += kSegmentSamples;
  }
  return Progress::pending;
}

PreambleDecoder::Progress PreambleDecoder::read_segment(const SampleHistory& history) {
  if (segments_read_ == kSegmentsMax) return Progress::refused;
  const std::int64_t from = position_ - kReach;
  if (from < history.begin()) return Progress::refused;
  samples_.resize(kSegmentSamples + 2 * kReach);
  dsp::turn_back(history.window(from, samples_.size()), from, offset_hz_ / kHalfSymbolRate,
                 samples_);
  ++segments_read_;

  double power = 0;
  for (const Complex& y : samples_) power += static_cast<double>(std::norm(y));
  power_ += power / static_cast<double>(samples_.size());

  std::array<Correlations, kValues> all;
  std::array<Powers, kOpening> sent_powers;
  double noise = 0;
  if (opening_.size() > kOpening) {
    std::copy(opening_.begin() + kOpening, opening_.end(), opening_.begin());
    opening_.resize(kOpening);
  }
  for (std::size_t s = 0; s < kOpening; ++s) {
    correlate(s, all);
    const std::size_t sent = kSegmentOpening[s];
    for (std::size_t k = 0; k < kDelays; ++k) {
      sent_powers[s][k] = std::norm(all[sent][k]);
      for (std::size_t v = 0; v < kValues; ++v) {
        if (v != sent) noise += static_cast<double>(std::norm(all[v][k]));
      }
    }
    opening_.push_back(all[sent]);
  }
  doubt(sent_powers, static_cast<float>(noise / kWrongPerSegment + kTiny),
        static_cast<float>(power) / static_cast<float>(samples_.size()));
  noise_ += noise;
  for (std::size_t s = 0; s < kOpening; ++s) {
    for (std::size_t k = 0; k < kDelays; ++k) {
      if (!heard_twice(s, k, kDelays)) known_[k] += sent_powers[s][k];
    }
  }
  c_.resize(segments_read_);
  for (std::size_t i = 0; i < 5; ++i) {  // symbols D1 D2 C1 C2 C3
    correlate(kOpening + i, all);
    for (std::size_t v = 0; v < kValues; ++v) {
      Powers& sum = i < 2 ? d_[i][v] : c_.back()[i - 2][v];
      for (std::size_t k = 0; k < kDelays; ++k) sum[k] += std::norm(all[v][k]);
    }
  }
  weigh_paths(static_cast<float>(power_ / segments_read_));
  if (doubt_ > kDoubtMax) return Progress::refused;
  if (strength_ == 0) {
    return segments_read_ >= kSegmentsWithoutPathMax ? Progress::refused : Progress::pending;
  }
  const auto decided = decide();
  find_offset();
  if (!decided) return Progress::pending;
  if (*decided == Progress::decided) measure(history, static_cast<float>(power_ / segments_read_));
  return *decided;
}

// Correlates with all eight patterns at once: the scrambler is removed, chips that every pattern
// treats alike are added up, and sums and differences are formed.
void PreambleDecoder::correlate(std::size_t symbol, std::array<Correlations, kValues>& out) const {
  std::array<Complex, kTribitsPerChannelSymbol> chips;
  for (std::size_t c = 0; c < chips.size(); ++c) chips[c] = framed::phase(kSyncScrambler[c]);
  for (std::size_t k = 0; k < kDelays; ++k) {
    const Complex* const y = &samples_[symbol * kSymbolSamples + k];
    std::array<Complex, kValues> fold;
    for (std::size_t c = 0; c < chips.size(); ++c) {
      fold[c % kValues] += mul_conj(chips[c], y[2 * c]);
    }
    for (std::size_t v = 0; v < kValues; ++v) {
      Complex sum;
      for (std::size_t i = 0; i < kValues; ++i) {
        sum += kChannelSymbolPattern[v][i] == 0 ? fold[i] : -fold[i];
      }
      out[v][k] = sum;
    }
  }
}

// Checks whether the paths found so far are also in the new segment.
void PreambleDecoder::doubt(std::span<const Powers> sent, float noise, float power) {
  if (segments_read_ == 1) return;
  const auto before = static_cast<float>(
      noise_ / (static_cast<double>(segments_read_ - 1) * kWrongPerSegment) + kTiny);
  float evidence = 0;
  float heard = 0;
  for (std::size_t k = 0; k < kDelays; ++k) {
    if (path_[k] == 0) continue;
    const float ratio = path_[k] / before;
    for (const Powers& powers : sent) {
      evidence += powers[k] / noise * ratio / (1 + ratio) - std::log1p(ratio);
      heard += (powers[k] - noise) / static_cast<float>(kOpening);
    }
  }
  doubt_ = std::max(0.0F, doubt_ - std::clamp(kScoreScale * evidence, -kDoubtStep, kDoubtStep));
  strength_now_ = std::clamp(heard / (kGain * (power + static_cast<float>(kTiny))), 0.0F, 1.0F);
}

void PreambleDecoder::weigh_paths(float power) {
  const auto symbols = static_cast<float>(kOpening * segments_read_);
  const auto noise =
      static_cast<float>(noise_ / (static_cast<double>(symbols) * (kValues - 1) * kDelays) + kTiny);
  const auto added_up = [&](std::size_t k) {
    return symbols - static_cast<float>(heard_twice(0, k, kDelays) ? segments_read_ : 0);
  };
  float peak = 0;
  for (std::size_t k = 0; k < kDelays; ++k) {
    path_[k] = known_[k] / added_up(k) - noise;
    peak = std::max(peak, path_[k]);
  }
  float paths = 0;
  float score = 0;
  for (std::size_t k = 0; k < kDelays; ++k) {
    const float by_noise = kPathNoiseFactor * noise / std::sqrt(added_up(k));
    if (path_[k] < std::max(by_noise, kPathShareMin * peak)) path_[k] = 0;
    weight_[k] = kScoreScale * path_[k] / (noise * (noise + path_[k]));
    paths += path_[k];
    score += weight_[k] * path_[k];
  }
  strength_ = std::clamp(paths / (kGain * power), 0.0F, 1.0F);
  if (segments_read_ == 1) strength_now_ = strength_;
  full_score_ = score * static_cast<float>(segments_read_);
}

// Measures the offset by the phase between channel symbols at increasing distances, up to the
// distance over which the channel stays constant.
void PreambleDecoder::find_offset() {
  const auto between = [&](std::size_t lag, std::size_t first, std::size_t end) {
    Complex sum;
    for (std::size_t s = first; s + lag < end; ++s) {
      for (std::size_t k = 0; k < kDelays; ++k) {
        if (path_[k] > 0) sum += mul_conj(opening_[s][k], opening_[s + lag][k]);
      }
    }
    return sum / static_cast<float>(end - lag - first);
  };
  const std::size_t last = opening_.size() - kOpening;
  Complex total;
  for (std::size_t s = last; s < opening_.size(); ++s) {
    for (std::size_t k = 0; k < kDelays; ++k) {
      if (path_[k] > 0) total += std::norm(opening_[s][k]);
    }
  }
  const float enough = kCoherent * total.real() / static_cast<float>(kOpening);
  double hz = 0;
  double seconds = 0;
  const auto refine = [&](Complex sum, double over_seconds) {
    if (std::abs(sum) < enough && seconds > 0) return false;
    const double expected = 2 * std::numbers::pi * hz * over_seconds;
    const double angle = std::remainder(std::arg(sum) - expected, 2 * std::numbers::pi);
    hz += angle / (2 * std::numbers::pi * over_seconds);
    seconds = over_seconds;
    return true;
  };
  for (const std::size_t lag : {1U, 2U, 4U}) {
    if (!refine(between(lag, last, opening_.size()), static_cast<double>(lag) * kSymbolSeconds)) {
      break;
    }
  }
  offset_hz_ += hz / segments_read_;  // keeps the average over many segments
}

std::optional<PreambleDecoder::Progress> PreambleDecoder::decide() {
  const auto score = [&](const std::array<Powers, kValues>& powers) {
    Scores scores{};
    for (std::size_t v = 0; v < kValues; ++v) {
      for (std::size_t k = 0; k < kDelays; ++k) scores[v] += weight_[k] * powers[v][k];
    }
    return scores;
  };
  std::array<float, kCountsMax> first_count{};
  for (unsigned first = 0; first < kCountsMax; ++first) {
    // A first count below this would have reached 0 before the segments read so far.
    if (first + 1 < segments_read_) first_count[first] = -1e30F;
  }
  for (unsigned segment = 0; segment < segments_read_; ++segment) {
    std::array<Scores, 3> scores;
    for (std::size_t i = 0; i < 3; ++i) scores[i] = score(c_[segment][i]);
    for (unsigned first = segment; first < kCountsMax; ++first) {
      const auto c = count_symbols(first - segment);
      first_count[first] += scores[0][c[0]] + scores[1][c[1]] + scores[2][c[2]];
    }
  }
  const auto [d1, lead1] = best_and_lead(score(d_[0]));
  const auto [d2, lead2] = best_and_lead(score(d_[1]));
  const auto [first, lead3] = best_and_lead(first_count);
  const float lead = std::min({lead1, lead2, lead3});
  if (lead < std::max(kLeadMin, kLeadShareMin * full_score_)) return std::nullopt;

  const auto mode = mode_announced(static_cast<std::uint8_t>(d1), static_cast<std::uint8_t>(d2));
  if (!mode || first >= parameters(*mode).segments) return Progress::refused;
  count_ = static_cast<unsigned>(first) - (segments_read_ - 1);
  reading_.mode = *mode;
  return Progress::decided;
}

// Measures by the whole segment: the first path, the signal-to-noise ratio, and, if the channel is
// slow enough, the offset to a fraction of a hertz.
void PreambleDecoder::measure(const SampleHistory& history, float power) {
  position_ += static_cast<std::int64_t>(dsp::first_path(path_)) - kReach;
  reading_.data_start = position_ + (count_ + 1) * kSegmentSamples;
  reading_.strength = strength_;
  const auto in_3_khz = [&](float noise) {
    return std::max(noise, static_cast<float>(kTiny)) / noise_share_ * 3000 /
           static_cast<float>(kHalfSymbolRate);
  };
  const float share = std::min(strength_, kShareMax);
  float ratio = share * power / in_3_khz((1 - share) * power);

  const std::int64_t from = position_ - 2 * kWindowBefore;
  if (from >= history.begin() && history.holds(from, from + kSegmentSamples)) {
    const Parameters p = parameters(reading_.mode);
    std::array<Complex, kSegmentSymbols> known;
    const auto tribits = preamble_segment(p.d1, p.d2, count_);
    std::transform(tribits.begin(), tribits.end(), known.begin(), framed::phase);
    samples_.resize(kSegmentSamples);
    double offset_hz = offset_hz_;
    dsp::WideResponse response;
    for (unsigned i = 0; i < kRefinements; ++i) {
      dsp::turn_back(history.window(from, kSegmentSamples), from, offset_hz / kHalfSymbolRate,
                     samples_);
      response = dsp::estimate_response(known, samples_, kWindowTaps);
      offset_hz += response.offset_turn * kHalfSymbolRate;
    }
    const float fitted = response.signal_power / in_3_khz(response.noise_power);
    const bool fits = fitted > kFitSnrMin && fitted > kFitShareMin * ratio;
    if (fits && std::abs(offset_hz - offset_hz_) < 0.2 / kSymbolSeconds) {
      offset_hz_ = offset_hz;
      ratio = fitted;
    }
  }
  reading_.offset_hz = offset_hz_;
  reading_.snr_db = std::max(kSnrMinDb, 10 * std::log10(ratio + 1e-9F));
}

}  // namespace s5066::modem::ms110a
