#include "modem/waveforms/stanag4539/preamble_search.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;

/// Pure noise has 1/184 on average, distributed exponentially, and reaches this some times an hour;
/// what the preamble then has to announce decides.
constexpr float kStrengthMin = 0.1F;
constexpr double kTiny = 1e-18;  // power below which there is no signal at all

}  // namespace

PreambleSearch::PreambleSearch() : known_(preamble(Parameters{})) {
  for (std::size_t f = 0; f < kOffsets; ++f) {
    const double offset = (static_cast<double>(f) - (kOffsets - 1) / 2.0) * kOffsetStepHz;
    for (std::size_t part = 0; part < kParts; ++part) {
      const double angle =
          -2 * std::numbers::pi * offset * static_cast<double>(2 * kPart * part) / kHalfSymbolRate;
      turns_[f][part] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
  }
}

std::optional<PreambleCandidate> PreambleSearch::advance(const SampleHistory& history,
                                                         std::int64_t margin) {
  const std::int64_t end = history.end();
  const auto hop = static_cast<std::int64_t>(kHop);
  double energy = 0;
  for (const Complex& y : history.window(end - hop, kHop)) energy += std::norm(y);
  hop_energy_[static_cast<std::size_t>(end / hop - 1) % kEnergyHops] = energy;

  const std::int64_t from = end - static_cast<std::int64_t>((kEnergyHops + 1) * kHop);
  if (from < 0) return std::nullopt;
  double total = 0;
  for (const double e : hop_energy_) total += e;
  const double power = total / static_cast<double>(kEnergyHops * kHop);
  if (power > kTiny) {
    correlate(history, from);
    compare(from, static_cast<float>(power));
  }
  if (!best_) return std::nullopt;
  if (end < best_->position + 2 * static_cast<std::int64_t>(kPreambleSymbols) + margin) {
    return std::nullopt;
  }
  const PreambleCandidate candidate = *best_;
  best_.reset();
  return candidate;
}

void PreambleSearch::correlate(const SampleHistory& history, std::int64_t from) {
  constexpr std::size_t kWindow = kHop + kSamples;
  const auto y = history.window(from, kWindow);
  alignas(32) std::array<float, kWindow> y_re;
  alignas(32) std::array<float, kWindow> y_im;
  for (std::size_t i = 0; i < kWindow; ++i) {
    y_re[i] = y[i].real();
    y_im[i] = y[i].imag();
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    Row re{};
    Row im{};
    for (std::size_t c = part * kPart; c < (part + 1) * kPart; ++c) {
      const Complex s = phase(known_[c]);
      for (std::size_t n = 0; n < kHop; ++n) {
        re[n] += s.real() * y_re[n + 2 * c] + s.imag() * y_im[n + 2 * c];
        im[n] += s.real() * y_im[n + 2 * c] - s.imag() * y_re[n + 2 * c];
      }
    }
    re_[part] = re;
    im_[part] = im;
  }
}

void PreambleSearch::compare(std::int64_t from, float mean_power) {
  const float scale = 1 / (mean_power * static_cast<float>(kFixedSymbols * kFixedSymbols));
  for (std::size_t f = 0; f < kOffsets; ++f) {
    Row sum_re{};
    Row sum_im{};
    for (std::size_t part = 0; part < kParts; ++part) {
      const Complex w = turns_[f][part];
      const Row& a = re_[part];
      const Row& b = im_[part];
      for (std::size_t n = 0; n < kHop; ++n) {
        sum_re[n] += w.real() * a[n] - w.imag() * b[n];
        sum_im[n] += w.real() * b[n] + w.imag() * a[n];
      }
    }
    Row power;
    for (std::size_t n = 0; n < kHop; ++n) {
      power[n] = sum_re[n] * sum_re[n] + sum_im[n] * sum_im[n];
    }
    const auto top = std::max_element(power.begin(), power.end());
    const float strength = *top * scale;
    if (strength < kStrengthMin || (best_ && strength <= best_->strength)) continue;
    best_ = PreambleCandidate{
        .position = from + (top - power.begin()),
        .offset_hz = (static_cast<double>(f) - (kOffsets - 1) / 2.0) * kOffsetStepHz,
        .strength = strength};
  }
}

}  // namespace s5066::modem::stanag4539
