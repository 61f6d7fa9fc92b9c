#include "modem/waveforms/ms110a/preamble_decoder.h"

#include <algorithm>
#include <cmath>

#include "modem/dsp/least_squares.h"
#include "modem/waveforms/ms110a/symbols.h"

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;
using dsp::mul_conj;

constexpr unsigned kOpeningSymbols = kTribitsPerChannelSymbol * kSegmentOpening.size();
constexpr float kStrengthMin = 0.05F;
constexpr unsigned kWeakSegmentsMax = 2;
/// How far the best reading must lead: in log-likelihood, and as part of what a channel symbol that
/// fits scores, since echoes disturb without being noise.
constexpr float kLeadMin = 10;
constexpr float kLeadShareMin = 0.3F;
/// Taps below this many times their expected error are noise and left out.
constexpr float kTapNoiseFactor = 5;
constexpr unsigned kRefinements = 3;
constexpr float kSnrMinDb = -20;

std::vector<Complex> points(std::span<const std::uint8_t> tribits) {
  std::vector<Complex> out;
  out.reserve(tribits.size());
  for (const std::uint8_t tribit : tribits) out.push_back(point(tribit));
  return out;
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
    : segment_(candidate), noise_share_(noise_share) {}

PreambleDecoder::Progress PreambleDecoder::advance(const SampleHistory& history) {
  while (history.end() >= segment_.position + kSegmentSamples + 2 * kWindowTaps) {
    const Progress progress = read_segment(history);
    if (progress != Progress::pending) return progress;
    segment_.position += kSegmentSamples;
  }
  return Progress::pending;
}

PreambleDecoder::Progress PreambleDecoder::read_segment(const SampleHistory& history) {
  if (segments_read_ == kSegmentsMax) return Progress::refused;
  if (segments_read_ > 0) {
    segment_ = examine_preamble(history, segment_.position, segment_.offset_hz);
    if (segment_.strength < kStrengthMin && ++weak_segments_ == kWeakSegmentsMax) {
      return Progress::refused;
    }
  }
  const std::int64_t from = segment_.position - 2 * kWindowBefore;
  if (from < history.begin()) return Progress::refused;
  const auto tribits = preamble_segment(0, 0, 0);  // its opening is the same in every segment
  const auto known = points(std::span(tribits).first(kOpeningSymbols));
  const auto window = history.window(from, 2 * (kSegmentSymbols + kWindowTaps));
  std::vector<Complex> samples;
  dsp::WideResponse response;
  for (unsigned i = 0; i < 2; ++i) {
    turn_back(window, from, segment_.offset_hz, samples);
    response = dsp::estimate_response(known, samples, kWindowTaps);
    if (i == 0) segment_.offset_hz += response.offset_turn * kHalfSymbolRate;
  }
  const auto rows = static_cast<float>(kOpeningSymbols - kWindowTaps + 1);
  for (Complex& tap : response.taps) {
    if (std::norm(tap) < kTapNoiseFactor * response.noise_power / rows) tap = 0;
  }
  score(samples, response.taps, std::max(response.noise_power / noise_share_, 1e-20F));
  ++segments_read_;
  const auto decided = decide();
  if (!decided) return Progress::pending;
  if (*decided == Progress::decided) measure(history, count_);
  return *decided;
}

// Combines all paths for each tribit, removes the scrambler, and correlates with the eight
// patterns.
void PreambleDecoder::score(std::span<const Complex> samples, std::span<const Complex> response,
                            float noise) {
  float energy = 0;
  for (const Complex& tap : response) energy += std::norm(tap);
  full_score_ += 2 * energy * kTribitsPerChannelSymbol / noise;

  std::array<Scores, 5> scores{};  // D1 D2 C1 C2 C3
  for (std::size_t s = 0; s < scores.size(); ++s) {
    std::array<float, 8> fold{};
    for (unsigned c = 0; c < kTribitsPerChannelSymbol; ++c) {
      const std::size_t at = 2 * (kOpeningSymbols + s * kTribitsPerChannelSymbol + c);
      Complex sum;
      for (std::size_t k = 0; k < response.size(); ++k) {
        sum += mul_conj(response[k], samples[at + k]);
      }
      fold[c % 8] += mul_conj(point(kSyncScrambler[c]), sum).real();
    }
    for (std::size_t value = 0; value < 8; ++value) {
      float sum = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        sum += kChannelSymbolPattern[value][i] == 0 ? fold[i] : -fold[i];
      }
      scores[s][value] = 2 * sum / noise;
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t value = 0; value < 8; ++value) d_[i][value] += scores[i][value];
  }
  for (unsigned first = 0; first < kCountsMax; ++first) {
    if (first < segments_read_) {
      first_count_[first] = -1e30F;  // would have been over by now
      continue;
    }
    const auto c = count_symbols(first - segments_read_);
    first_count_[first] += scores[2][c[0]] + scores[3][c[1]] + scores[4][c[2]];
  }
}

std::optional<PreambleDecoder::Progress> PreambleDecoder::decide() {
  const auto [d1, lead1] = best_and_lead(d_[0]);
  const auto [d2, lead2] = best_and_lead(d_[1]);
  const auto [first, lead3] = best_and_lead(first_count_);
  const float lead = std::min({lead1, lead2, lead3});
  if (lead < std::max(kLeadMin, kLeadShareMin * full_score_)) return std::nullopt;

  const auto mode = mode_announced(static_cast<std::uint8_t>(d1), static_cast<std::uint8_t>(d2));
  if (!mode || first >= parameters(*mode).segments) return Progress::refused;
  count_ = static_cast<unsigned>(first) - (segments_read_ - 1);
  reading_.mode = *mode;
  reading_.data_start = segment_.position + (count_ + 1) * kSegmentSamples;
  return Progress::decided;
}

// Now that the whole segment is known: offset to a fraction of a hertz, and the ratio of signal to
// noise.
void PreambleDecoder::measure(const SampleHistory& history, unsigned count) {
  const Parameters p = parameters(reading_.mode);
  const auto known = points(preamble_segment(p.d1, p.d2, count));
  const std::int64_t from = segment_.position - 2 * kWindowBefore;
  const auto window = history.window(from, 2 * kSegmentSymbols);
  std::vector<Complex> samples;
  dsp::WideResponse response;
  for (unsigned i = 0; i < kRefinements; ++i) {
    turn_back(window, from, segment_.offset_hz, samples);
    response = dsp::estimate_response(known, samples, kWindowTaps);
    segment_.offset_hz += response.offset_turn * kHalfSymbolRate;
  }
  reading_.offset_hz = segment_.offset_hz;
  reading_.strength = segment_.strength;
  const double noise_in_3_khz = response.noise_power / noise_share_ * 3000 / kHalfSymbolRate;
  const double ratio = response.signal_power / std::max(noise_in_3_khz, 1e-30);
  reading_.snr_db = static_cast<float>(std::max<double>(kSnrMinDb, 10 * std::log10(ratio + 1e-9)));
}

}  // namespace s5066::modem::ms110a
