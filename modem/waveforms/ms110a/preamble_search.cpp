#include "modem/waveforms/ms110a/preamble_search.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;
using dsp::mul;
using dsp::mul_conj;

constexpr std::size_t kPart = 8;  // tribits over which the carrier is taken as standing still
constexpr std::size_t kParts = kTribitsPerChannelSymbol / kPart;
constexpr std::size_t kFold = 4;  // the patterns of the opening repeat after four tribits
constexpr std::size_t kOpening = kSegmentOpening.size();

/// First stage: sum over its mean in noise. One position in 10,000 of pure noise passes.
constexpr float kRatioMin = 2.5F;
/// Second stage: noise alone reaches this once in years. A clean signal has 1, a signal as strong
/// as the noise 0.5.
constexpr float kStrengthMin = 0.12F;
constexpr double kFineReachHz = 20;
constexpr double kFineStepHz = 2;
constexpr double kTiny = 1e-18;  // power below which there is no signal at all

double turn_of(double offset_hz, double samples) {
  return 2 * std::numbers::pi * offset_hz * samples / kHalfSymbolRate;
}

Complex unit(double angle) {
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

}  // namespace

PreambleSearch::PreambleSearch() = default;

std::optional<PreambleCandidate> PreambleSearch::advance(const SampleHistory& history) {
  const std::int64_t end = history.end();
  const auto hop = static_cast<std::int64_t>(kHop);
  double energy = 0;
  for (const Complex& y : history.window(end - hop, kHop)) energy += std::norm(y);
  hop_energy_[static_cast<std::size_t>(end / hop - 1) % hop_energy_.size()] = energy;

  // The newest positions whose whole channel symbol is there, and the newest whole openings.
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
  const double offset =
      (static_cast<double>(peak.offset_index) - (kOffsets - 1) / 2.0) * kOffsetStepHz;
  const PreambleCandidate candidate = examine_preamble(history, peak.position, offset);
  if (candidate.strength < kStrengthMin) return std::nullopt;
  return candidate;
}

// Removes the scrambler, adds up tribits that every pattern treats alike, and forms the four
// patterns as sums and differences; all for kHop positions at a time.
void PreambleSearch::correlate(const SampleHistory& history, std::int64_t from) {
  const auto y = history.window(from, kHop + kSamplesPerChannelSymbol - 1);
  alignas(32) std::array<float, kHop + kSamplesPerChannelSymbol> y_re;
  alignas(32) std::array<float, kHop + kSamplesPerChannelSymbol> y_im;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y_re[i] = y[i].real();
    y_im[i] = y[i].imag();
  }
  std::array<std::array<Row, kPatterns>, kParts> re{};
  std::array<std::array<Row, kPatterns>, kParts> im{};
  for (std::size_t part = 0; part < kParts; ++part) {
    std::array<Row, kFold> fold_re{};
    std::array<Row, kFold> fold_im{};
    for (std::size_t c = part * kPart; c < (part + 1) * kPart; ++c) {
      const Complex s = point(kSyncScrambler[c]);
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
        out[n] = sum_re[n] * sum_re[n] + sum_im[n] * sum_im[n];
      }
    }
  }
}

void PreambleSearch::add_up(std::int64_t from) {
  const float noise = mean_power(from) * kTribitsPerChannelSymbol * kOpening;
  if (!(noise > 0)) return;
  for (std::size_t f = 0; f < kOffsets; ++f) {
    Row sum{};
    for (std::size_t s = 0; s < kOpening; ++s) {
      const auto& ring = power_[kSegmentOpening[s]][f];
      std::size_t slot = (static_cast<std::size_t>(from) + s * kSamplesPerChannelSymbol) % kRing;
      const std::size_t first = std::min(kHop, kRing - slot);
      for (std::size_t n = 0; n < first; ++n) sum[n] += ring[slot + n];
      for (std::size_t n = first; n < kHop; ++n) sum[n] += ring[n - first];
    }
    const auto top = std::max_element(sum.begin(), sum.end());
    const float ratio = *top / noise;
    if (ratio < kRatioMin || (best_ && ratio <= best_->ratio)) continue;
    best_ = Peak{from + (top - sum.begin()), f, ratio};
  }
}

// Over the hops that an opening covers.
float PreambleSearch::mean_power(std::int64_t from) const {
  const std::size_t first = static_cast<std::size_t>(from) / kHop;
  double energy = 0;
  for (std::size_t i = 0; i < kEnergyHops; ++i) {
    energy += hop_energy_[(first + i) % hop_energy_.size()];
  }
  const double power = energy / (kEnergyHops * kHop);
  return power < kTiny ? 0 : static_cast<float>(power);
}

PreambleCandidate examine_preamble(const SampleHistory& history, std::int64_t position,
                                   double offset_hz) {
  constexpr std::size_t kSamples = 2 * kTribitsPerChannelSymbol;
  std::vector<Complex> y;
  turn_back(history.window(position, kSamples * kOpening), position, offset_hz, y);

  std::array<Complex, kOpening> symbols{};
  double energy = 0;
  for (std::size_t s = 0; s < kOpening; ++s) {
    const auto& pattern = kChannelSymbolPattern[kSegmentOpening[s]];
    for (std::size_t c = 0; c < kTribitsPerChannelSymbol; ++c) {
      const Complex sample = y[s * kSamples + 2 * c];
      const auto tribit = static_cast<std::uint8_t>(pattern[c % 8] + kSyncScrambler[c]);
      symbols[s] += mul_conj(point(tribit), sample);
      energy += std::norm(sample);
    }
  }
  PreambleCandidate best{.position = position, .offset_hz = offset_hz};
  if (energy < kTiny) return best;
  for (double f = -kFineReachHz; f <= kFineReachHz; f += kFineStepHz) {
    Complex sum;
    for (std::size_t s = 0; s < kOpening; ++s) {
      sum += mul(symbols[s], unit(-turn_of(f, static_cast<double>(s * kSamples))));
    }
    const double count = kTribitsPerChannelSymbol * kOpening;
    const auto strength = static_cast<float>(std::norm(sum) / (count * energy));
    if (strength <= best.strength) continue;
    best.strength = strength;
    best.offset_hz = offset_hz + f;
  }
  return best;
}

}  // namespace s5066::modem::ms110a
