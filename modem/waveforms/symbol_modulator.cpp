// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/symbol_modulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "modem/api/airtime.h"
#include "modem/waveforms/burst_events.h"

namespace s5066::modem {
namespace {

constexpr unsigned kSamplesPerSymbol = kSampleRate / kSymbolRate;
constexpr int kReachSymbols = 6;
constexpr unsigned kTaps = 2 * kReachSymbols;  // symbols that contribute to a sample
constexpr double kRollOff = 0.35;
constexpr unsigned kRampSamples = kSamplesPerSymbol;
constexpr unsigned kCarrierPeriod = 16;  // 1800 Hz makes three turns in 16 samples
constexpr unsigned kCarrierTurns = 3;

/// Returns a square-root raised cosine with unit energy; time is in symbols.
double root_raised_cosine(double t) {
  using std::numbers::pi;
  const double four_beta_t = 4 * kRollOff * t;
  if (std::abs(t) < 1e-9) return 1 - kRollOff + 4 * kRollOff / pi;
  if (std::abs(std::abs(four_beta_t) - 1) < 1e-9) {
    const double angle = pi / (4 * kRollOff);
    return kRollOff / std::numbers::sqrt2 *
           ((1 + 2 / pi) * std::sin(angle) + (1 - 2 / pi) * std::cos(angle));
  }
  return (std::sin(pi * t * (1 - kRollOff)) + four_beta_t * std::cos(pi * t * (1 + kRollOff))) /
         (pi * t * (1 - four_beta_t * four_beta_t));
}

/// The weight of the pulse of symbol (first + k) in a sample of phase p, where `first` is six
/// symbols before the symbol of the sample. It is scaled for kTransmitPower of a real signal.
using PulseTable = std::array<std::array<float, kTaps + 1>, kSamplesPerSymbol>;

PulseTable make_pulse() {
  PulseTable table{};
  double energy = 0;
  for (unsigned phase = 0; phase < kSamplesPerSymbol; ++phase) {
    for (unsigned k = 0; k <= kTaps; ++k) {
      const double t = (phase - 1.5) / kSamplesPerSymbol - (static_cast<int>(k) - kReachSymbols);
      const double value = std::abs(t) <= kReachSymbols ? root_raised_cosine(t) : 0;
      table[phase][k] = static_cast<float>(value);
      energy += value * value;
    }
  }
  // The complex power of the baseband is energy / samples per symbol. The real signal has half of
  // it.
  const auto scale = static_cast<float>(std::sqrt(2 * kTransmitPower * kSamplesPerSymbol / energy));
  for (auto& row : table) {
    for (float& value : row) value *= scale;
  }
  return table;
}

const PulseTable& pulse() {
  static const PulseTable table = make_pulse();
  return table;
}

std::array<std::complex<float>, kCarrierPeriod> make_carrier() {
  std::array<std::complex<float>, kCarrierPeriod> table;
  for (unsigned i = 0; i < kCarrierPeriod; ++i) {
    const double angle = 2 * std::numbers::pi * kCarrierTurns * i / kCarrierPeriod;
    table[i] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  return table;
}

const std::array<std::complex<float>, kCarrierPeriod>& carrier() {
  static const auto table = make_carrier();
  return table;
}

float ramp(std::uint64_t distance_to_end) {
  if (distance_to_end >= kRampSamples) return 1;
  const double x = (static_cast<double>(distance_to_end) + 0.5) / kRampSamples;
  return static_cast<float>(0.5 - 0.5 * std::cos(std::numbers::pi * x));
}

}  // namespace

void SymbolModulator::write(std::uint64_t from, std::span<float> out) {
  for (float& value : out) value = sample(from++);
}

float SymbolModulator::sample(std::uint64_t at) const {
  const auto centre = static_cast<std::int64_t>(at / kSamplesPerSymbol);
  const auto count = static_cast<std::int64_t>(symbols_.size());
  const auto& weights = pulse()[at % kSamplesPerSymbol];
  const std::int64_t first = centre - kReachSymbols;
  const std::int64_t from = std::max<std::int64_t>(first, 0);
  const std::int64_t to = std::min<std::int64_t>(first + kTaps, count - 1);
  std::complex<float> baseband;
  for (std::int64_t n = from; n <= to; ++n) {
    baseband +=
        weights[static_cast<std::size_t>(n - first)] * symbols_[static_cast<std::size_t>(n)];
  }
  const std::complex<float> turn = carrier()[at % kCarrierPeriod];
  const float value = baseband.real() * turn.real() - baseband.imag() * turn.imag();
  return std::clamp(value * ramp(at) * ramp(total_samples() - 1 - at), -1.0F, 1.0F);
}

}  // namespace s5066::modem
