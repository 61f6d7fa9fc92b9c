// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/traffic_detector.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modem/api/airtime.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

using dsp::Complex;

constexpr std::array<double, 4> kOffsetsHz = {-75, -25, 25, 75};
constexpr std::size_t kPart = 8;  // symbols over which the carrier's phase counts as constant
constexpr std::size_t kPartsMax = TrafficPattern::kChipsMax / kPart;
constexpr std::size_t kLongest = TrafficPattern::kChipsMax;
/// One correlation counts at most this much, so that a short sound is not taken for a transmission.
constexpr float kStepMax = 8;
/// The transmission is over when the sum has fallen to this part of its peak.
constexpr float kOver = 0.15F;
constexpr std::size_t kHopsBetweenJudgements = 5;
/// This is the share of the power in the strongest lines of the spectrum. A waveform has less than
/// half of it there with any data, because its symbols are scrambled.
constexpr float kShareOfTones = 0.6F;
constexpr float kTiny = 1e-18F;

}  // namespace

TrafficDetector::TrafficDetector(const std::vector<TrafficPattern>& patterns) {
  for (const TrafficPattern& pattern : patterns) {
    S5066_ASSERT(!pattern.parts.empty());
    const double in_memory = pattern.memory_s * static_cast<double>(kSymbolRate) /
                             static_cast<double>(pattern.cycle) *
                             static_cast<double>(pattern.parts.size());
    for (const TrafficPattern::Part& part : pattern.parts) {
      S5066_ASSERT(!part.chips.empty() && part.chips.size() <= kLongest);
      templates_.push_back({.kind = kinds_.size(), .start = 2 * part.start, .chips = part.chips});
    }
    kinds_.push_back({.mode = pattern.mode,
                      .cells = 2 * pattern.cycle,
                      .kept = static_cast<float>(1 - 1 / in_memory),
                      .enough = pattern.enough * static_cast<float>(std::sqrt(in_memory / 2))});
  }
  sums_.resize(kinds_.size());
  reset();
}

void TrafficDetector::reset() {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    for (auto& sums : sums_[i]) sums.assign(kinds_[i].cells, 0.0F);
  }
  finding_.reset();
  peak_ = 0;
}

void TrafficDetector::restart() {
  reset();
  hops_ = 0;
}

void TrafficDetector::advance(const SampleHistory& history) {
  const std::int64_t from = history.end() - static_cast<std::int64_t>(kHop + 2 * kLongest);
  if (from < 0) return;
  const auto y = history.window(from, kHop + 2 * kLongest);
  double energy = 0;
  for (std::size_t i = 0; i < 2 * kLongest; ++i) energy += static_cast<double>(std::norm(y[i]));
  for (std::size_t n = 0; n < kHop; ++n) {
    const auto power = static_cast<float>(energy / (2.0 * kLongest));
    scale_[n] = power > kTiny ? 1 / power : 0;
    energy +=
        static_cast<double>(std::norm(y[n + 2 * kLongest])) - static_cast<double>(std::norm(y[n]));
    energy = std::max(energy, 0.0);
  }
  for (const Template& pattern : templates_) add(pattern, history, from);
  if (++hops_ % kHopsBetweenJudgements == 0) judge(history);
}

void TrafficDetector::add(const Template& pattern, const SampleHistory& history,
                          std::int64_t from) {
  const auto y = history.window(from, kHop + 2 * kLongest);
  alignas(32) std::array<float, kHop + 2 * kLongest> y_re;
  alignas(32) std::array<float, kHop + 2 * kLongest> y_im;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y_re[i] = y[i].real();
    y_im[i] = y[i].imag();
  }
  using Row = std::array<float, kHop>;
  std::array<Row, kPartsMax> re{};
  std::array<Row, kPartsMax> im{};
  for (std::size_t c = 0; c < pattern.chips.size(); ++c) {
    const Complex s = pattern.chips[c];
    Row& out_re = re[c / kPart];
    Row& out_im = im[c / kPart];
    for (std::size_t n = 0; n < kHop; ++n) {
      out_re[n] += s.real() * y_re[n + 2 * c] + s.imag() * y_im[n + 2 * c];
      out_im[n] += s.real() * y_im[n + 2 * c] - s.imag() * y_re[n + 2 * c];
    }
  }
  const Kind& kind = kinds_[pattern.kind];
  const std::size_t parts = (pattern.chips.size() + kPart - 1) / kPart;
  const float per_symbol = 1 / static_cast<float>(pattern.chips.size());
  for (std::size_t f = 0; f < kOffsets; ++f) {
    Row sum_re{};
    Row sum_im{};
    for (std::size_t part = 0; part < parts; ++part) {
      const double angle = -2 * std::numbers::pi * kOffsetsHz[f] *
                           static_cast<double>(part * kPart) / static_cast<double>(kSymbolRate);
      const auto c = static_cast<float>(std::cos(angle));
      const auto s = static_cast<float>(std::sin(angle));
      for (std::size_t n = 0; n < kHop; ++n) {
        sum_re[n] += c * re[part][n] - s * im[part][n];
        sum_im[n] += c * im[part][n] + s * re[part][n];
      }
    }
    auto& sums = sums_[pattern.kind][f];
    const auto cells = static_cast<std::int64_t>(kind.cells);
    auto cell = static_cast<std::size_t>(
        ((from - static_cast<std::int64_t>(pattern.start)) % cells + cells) % cells);
    for (std::size_t n = 0; n < kHop; ++n) {
      const float ratio = (sum_re[n] * sum_re[n] + sum_im[n] * sum_im[n]) * scale_[n] * per_symbol;
      sums[cell] = kind.kept * sums[cell] + std::min(ratio - 1, kStepMax);
      if (++cell == kind.cells) cell = 0;
    }
  }
}

// The highest sum is compared with the mean of all, because a sound that does not depend on the
// position in the cycle, such as a carrier or a vowel, raises all sums alike.
void TrafficDetector::judge(const SampleHistory& history) {
  float best = 0;
  std::size_t kind = 0;
  std::size_t offset = 0;
  std::size_t cell = 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    for (std::size_t f = 0; f < kOffsets; ++f) {
      const auto& sums = sums_[i][f];
      float mean = 0;
      const auto top = std::max_element(sums.begin(), sums.end());
      for (const float value : sums) mean += value;
      const float score = (*top - mean / static_cast<float>(sums.size())) / kinds_[i].enough;
      if (score <= best) continue;
      best = score;
      kind = i;
      offset = f;
      cell = static_cast<std::size_t>(top - sums.begin());
    }
  }
  if (finding_) {
    peak_ = std::max(peak_, best);
    if (best < std::max(0.5F, kOver * peak_) || is_tones(history)) {
      reset();
    } else if (kinds_[kind].mode == finding_->mode) {
      // An insertion moves everything behind it.
      finding_->cycle_start = static_cast<std::int64_t>(cell);
    }
    return;
  }
  if (best < 1) return;
  if (is_tones(history)) {
    reset();
    return;
  }
  peak_ = best;
  finding_ = Traffic{.mode = kinds_[kind].mode,
                     .offset_hz = static_cast<float>(kOffsetsHz[offset]),
                     .cycle_start = static_cast<std::int64_t>(cell)};
}

// Tones whose differences fit the cycle also repeat at the same places of it.
bool TrafficDetector::is_tones(const SampleHistory& history) {
  const auto count = static_cast<std::int64_t>(dsp::SpectralLines::kSamples);
  const std::int64_t from = history.end() - count;
  if (from < std::max<std::int64_t>(history.begin(), 0)) return false;
  return lines_.share(history.window(from, dsp::SpectralLines::kSamples)) > kShareOfTones;
}

}  // namespace s5066::modem
