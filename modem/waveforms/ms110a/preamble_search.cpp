// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/preamble_search.h"
#include "modem/waveforms/framed/constellation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;

constexpr std::size_t kPart = 8;  // tribits over which the carrier's phase counts as constant
constexpr std::size_t kParts = kTribitsPerChannelSymbol / kPart;
constexpr std::size_t kFold = 4;  // the patterns of the opening repeat after four tribits
constexpr std::size_t kOpening = kSegmentOpening.size();

/// One segment is enough if its sum is this many times that of noise. Noise reaches this about once
/// in three seconds at one of all the positions and offsets.
constexpr float kRatioMin = 3.2F;
/// Several segments are enough if their sum exceeds noise by this; noise alone does so about once a
/// minute.
constexpr float kExcessMin = 4.5F;
constexpr float kExcessKept = 0.9F;
/// Maximum that one segment adds, so that a strong preamble is soon forgotten.
constexpr float kExcessStepMax = 2;
/// Echoes of a preamble that was found lie within this distance, in half-symbol samples.
constexpr std::int64_t kEchoReach = 64;
constexpr double kTiny = 1e-18;  // power below which there is no signal

double turn_of(double offset_hz, double samples) {
  return 2 * std::numbers::pi * offset_hz * samples / kHalfSymbolRate;
}

Complex unit(double angle) {
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

}  // namespace

PreambleSearch::PreambleSearch() = default;

void PreambleSearch::restart() {
  for (auto& pattern : power_) {
    for (auto& powers : pattern) powers.fill(0);
  }
  for (auto& excess : excess_) excess.fill(0);
  best_.reset();
}

std::optional<PreambleCandidate> PreambleSearch::advance(const SampleHistory& history) {
  const std::int64_t end = history.end();
  const auto hop = static_cast<std::int64_t>(kHop);
  // These are the newest positions whose whole channel symbol is in the history, and the newest
  // whole openings.
  const std::int64_t symbol_from = end - 3 * hop;
  if (symbol_from < 0) return std::nullopt;
  correlate(history, symbol_from);
  const auto opening_rest = static_cast<std::int64_t>((kOpening - 1) * kSamplesPerChannelSymbol);
  if (symbol_from >= opening_rest) add_up(symbol_from - opening_rest);

  if (!best_) return std::nullopt;
  const std::int64_t whole = best_->position + kSegmentSamples + 2 * kWindowTaps;
  if (end < whole) return std::nullopt;
  const Peak peak = *best_;
  best_.reset();
  for (auto& excess : excess_) {
    for (std::int64_t n = -kEchoReach; n <= kEchoReach; ++n) {
      excess[static_cast<std::size_t>((peak.position + n + kSegmentSamples) % kSegmentSamples)] = 0;
    }
  }
  const double offset =
      (static_cast<double>(peak.offset_index) - (kOffsets - 1) / 2.0) * kOffsetStepHz;
  // A clean signal would have the power of all tribits in phase.
  const float strength = (peak.ratio - 1) / (kTribitsPerChannelSymbol - 1);
  return PreambleCandidate{
      .position = peak.position, .offset_hz = offset, .strength = std::clamp(strength, 0.0F, 1.0F)};
}

// Correlates kHop positions at a time: it removes the scrambler, adds up tribits that every pattern
// treats alike, and forms the four patterns as sums and differences.
void PreambleSearch::correlate(const SampleHistory& history, std::int64_t from) {
  const auto y = history.window(from, kHop + kSamplesPerChannelSymbol - 1);
  alignas(32) std::array<float, kHop + kSamplesPerChannelSymbol> y_re;
  alignas(32) std::array<float, kHop + kSamplesPerChannelSymbol> y_im;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y_re[i] = y[i].real();
    y_im[i] = y[i].imag();
  }
  const auto norm = [&](std::size_t i) { return static_cast<double>(std::norm(y[i])); };
  std::array<std::array<Row, kPatterns>, kParts> re{};
  std::array<std::array<Row, kPatterns>, kParts> im{};
  for (std::size_t part = 0; part < kParts; ++part) {
    std::array<Row, kFold> fold_re{};
    std::array<Row, kFold> fold_im{};
    for (std::size_t c = part * kPart; c < (part + 1) * kPart; ++c) {
      const Complex s = framed::phase(kSyncScrambler[c]);
      Row& out_re = fold_re[c % kFold];
      Row& out_im = fold_im[c % kFold];
      for (std::size_t n = 0; n < kHop; ++n) {
        out_re[n] += s.real() * y_re[n + 2 * c] + s.imag() * y_im[n + 2 * c];
        out_im[n] += s.real() * y_im[n + 2 * c] - s.imag() * y_re[n + 2 * c];
      }
    }
    for (auto [fold, out] : {std::pair{&fold_re, &re}, std::pair{&fold_im, &im}}) {
      const auto& f = *fold;
      auto& o = (*out)[part];
      for (std::size_t n = 0; n < kHop; ++n) {
        const float a = f[0][n] + f[1][n];
        const float b = f[0][n] - f[1][n];
        const float c = f[2][n] + f[3][n];
        const float d = f[2][n] - f[3][n];
        o[0][n] = a + c;
        o[1][n] = b + d;
        o[2][n] = a - c;
        o[3][n] = b - d;
      }
    }
  }
  // The scale is relative to noise with the power of these samples, so that neither the start of a
  // signal nor a crash of static gives too high a value.
  Row scale;
  double energy = 0;
  for (std::size_t i = 0; i < kSamplesPerChannelSymbol - 1; ++i) energy += norm(i);
  for (std::size_t n = 0; n < kHop; ++n) {
    energy += norm(n + kSamplesPerChannelSymbol - 1);
    const double noise = energy / kSamplesPerChannelSymbol * kTribitsPerChannelSymbol;
    scale[n] = noise > kTiny ? static_cast<float>(1 / noise) : 0.0F;
    energy = std::max(energy - norm(n), 0.0);
  }
  const std::size_t slot = static_cast<std::size_t>(from) % kRing;
  for (std::size_t f = 0; f < kOffsets; ++f) {
    const double offset = (static_cast<double>(f) - (kOffsets - 1) / 2.0) * kOffsetStepHz;
    for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
      Row sum_re{};
      Row sum_im{};
      for (std::size_t part = 0; part < kParts; ++part) {
        const Complex w = unit(-turn_of(offset, static_cast<double>(2 * kPart * part)));
        const Row& a = re[part][pattern];
        const Row& b = im[part][pattern];
        for (std::size_t n = 0; n < kHop; ++n) {
          sum_re[n] += w.real() * a[n] - w.imag() * b[n];
          sum_im[n] += w.real() * b[n] + w.imag() * a[n];
        }
      }
      float* const out = &power_[pattern][f][slot];
      for (std::size_t n = 0; n < kHop; ++n) {
        out[n] = scale[n] * (sum_re[n] * sum_re[n] + sum_im[n] * sum_im[n]);
      }
    }
  }
}

void PreambleSearch::add_up(std::int64_t from) {
  for (std::size_t f = 0; f < kOffsets; ++f) {
    Row sum{};
    for (std::size_t s = 0; s < kOpening; ++s) {
      const auto& ring = power_[kSegmentOpening[s]][f];
      std::size_t slot = (static_cast<std::size_t>(from) + s * kSamplesPerChannelSymbol) % kRing;
      const std::size_t first = std::min(kHop, kRing - slot);
      for (std::size_t n = 0; n < first; ++n) sum[n] += ring[slot + n];
      for (std::size_t n = first; n < kHop; ++n) sum[n] += ring[n - first];
    }
    auto& excess = excess_[f];
    std::size_t cell = static_cast<std::size_t>(from % kSegmentSamples);
    for (std::size_t n = 0; n < kHop; ++n) {
      const float ratio = sum[n] / kOpening;
      excess[cell] = kExcessKept * excess[cell] + std::min(ratio - 1, kExcessStepMax);
      const float score = std::max(ratio / kRatioMin, excess[cell] / kExcessMin);
      if (++cell == excess.size()) cell = 0;
      if (score < 1 || (best_ && score <= best_->score)) continue;
      best_ = Peak{.position = from + static_cast<std::int64_t>(n),
                   .offset_index = f,
                   .score = score,
                   .ratio = ratio};
    }
  }
}

}  // namespace s5066::modem::ms110a
