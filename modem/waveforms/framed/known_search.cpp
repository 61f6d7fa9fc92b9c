// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/known_search.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::framed {
namespace {

using dsp::Complex;

constexpr double kTiny = 1e-18;  // a smaller power means no signal at all
/// A sum is multiplied by this when the next stretch is added.
constexpr float kSumKept = 0.8F;
/// One stretch adds at most kSumStepMax, so that a strong one is soon forgotten. Less than kPartMin
/// is no part of a sum.
constexpr float kSumStepMax = 0.1F;
constexpr float kPartMin = 0.02F;
static_assert(kSumStepMax / (1 - kSumKept) < 1);  // even the highest sum stays below 1

}  // namespace

KnownSearch::KnownSearch(std::span<const Complex> known, const Config& config)
    : config_(config),
      known_(known.begin(), known.end()),
      y_re_(kHop + 2 * known.size()),
      y_im_(y_re_.size()),
      re_(known.size() / kPart),
      im_(re_.size()),
      hop_energy_((2 * known.size() + kHop - 1) / kHop),
      sums_(config.offsets * config.repeat) {
  S5066_ASSERT(known.size() % kPart == 0 && config.repeat % kHop == 0);
  for (const Complex& symbol : known_) energy_ += std::norm(symbol);
  for (std::size_t f = 0; f < config.offsets; ++f) {
    const double offset = offset_of(f);
    for (std::size_t part = 0; part < re_.size(); ++part) {
      const double angle =
          -2 * std::numbers::pi * offset * static_cast<double>(2 * kPart * part) / kHalfSymbolRate;
      turns_.emplace_back(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
    }
  }
}

double KnownSearch::offset_of(std::size_t index) const {
  return (static_cast<double>(index) - static_cast<double>(config_.offsets - 1) / 2) *
         config_.offset_step_hz;
}

void KnownSearch::restart() {
  std::fill(hop_energy_.begin(), hop_energy_.end(), 0.0);
  std::fill(sums_.begin(), sums_.end(), 0.0F);
  best_score_ = 0;
}

std::optional<SearchCandidate> KnownSearch::advance(const SampleHistory& history,
                                                    std::int64_t margin) {
  const std::int64_t end = history.end();
  const auto hop = static_cast<std::int64_t>(kHop);
  double energy = 0;
  for (const Complex& y : history.window(end - hop, kHop)) energy += std::norm(y);
  hop_energy_[static_cast<std::size_t>(end / hop - 1) % hop_energy_.size()] = energy;

  const std::int64_t from = end - static_cast<std::int64_t>((hop_energy_.size() + 1) * kHop);
  if (from < 0) return std::nullopt;
  double total = 0;
  for (const double e : hop_energy_) total += e;
  const double power = total / static_cast<double>(hop_energy_.size() * kHop);
  if (power > kTiny) {
    correlate(history, from);
    compare(from, static_cast<float>(power));
  }
  if (best_score_ == 0) return std::nullopt;
  if (end < best_.position + 2 * static_cast<std::int64_t>(known_.size()) + margin) {
    return std::nullopt;
  }
  best_score_ = 0;
  return best_;
}

void KnownSearch::correlate(const SampleHistory& history, std::int64_t from) {
  const auto y = history.window(from, y_re_.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    y_re_[i] = y[i].real();
    y_im_[i] = y[i].imag();
  }
  for (std::size_t part = 0; part < re_.size(); ++part) {
    Row re{};
    Row im{};
    for (std::size_t c = part * kPart; c < (part + 1) * kPart; ++c) {
      const Complex s = known_[c];
      for (std::size_t n = 0; n < kHop; ++n) {
        re[n] += s.real() * y_re_[n + 2 * c] + s.imag() * y_im_[n + 2 * c];
        im[n] += s.real() * y_im_[n + 2 * c] - s.imag() * y_re_[n + 2 * c];
      }
    }
    re_[part] = re;
    im_[part] = im;
  }
}

void KnownSearch::compare(std::int64_t from, float mean_power) {
  const float scale = 1 / (mean_power * energy_ * energy_);
  for (std::size_t f = 0; f < config_.offsets; ++f) {
    Row sum_re{};
    Row sum_im{};
    for (std::size_t part = 0; part < re_.size(); ++part) {
      const Complex w = turns_[f * re_.size() + part];
      const Row& a = re_[part];
      const Row& b = im_[part];
      for (std::size_t n = 0; n < kHop; ++n) {
        sum_re[n] += w.real() * a[n] - w.imag() * b[n];
        sum_im[n] += w.real() * b[n] + w.imag() * a[n];
      }
    }
    Row strength;
    for (std::size_t n = 0; n < kHop; ++n) {
      strength[n] = scale * (sum_re[n] * sum_re[n] + sum_im[n] * sum_im[n]);
    }
    take(from, f, strength);
  }
}

// Adds the result of stretches that begin at these positions, and keeps the best of all. A stretch
// that is enough alone counts more than any sum, so that a strong signal is found at its peak.
void KnownSearch::take(std::int64_t from, std::size_t offset, const Row& strength) {
  Row score;
  for (std::size_t n = 0; n < kHop; ++n) {
    score[n] = strength[n] < config_.strength_min ? 0 : 1 + strength[n];
  }
  if (config_.repeat > 0) {
    float* const sums =
        &sums_[offset * config_.repeat + static_cast<std::size_t>(from) % config_.repeat];
    for (std::size_t n = 0; n < kHop; ++n) {
      sums[n] = kSumKept * sums[n] + std::min(strength[n], kSumStepMax);
      const float sum = strength[n] < kPartMin || sums[n] < config_.sum_min ? 0 : sums[n];
      score[n] = std::max(score[n], sum);
    }
  }
  const auto top = std::max_element(score.begin(), score.end());
  if (*top <= best_score_) return;
  const std::ptrdiff_t n = top - score.begin();
  best_score_ = *top;
  best_ = {.position = from + n,
           .offset_hz = offset_of(offset),
           .strength = strength[static_cast<std::size_t>(n)]};
}

}  // namespace s5066::modem::framed
