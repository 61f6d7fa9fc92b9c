// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/doppler_meter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::framed {
namespace {

using dsp::Complex;

constexpr double kMemorySeconds = 10;
/// A correlation that has fallen to kFallen measures the spread. One below kLost is noise.
constexpr double kFallen = 0.8;
constexpr double kLost = 0.05;
constexpr double kPairsMin = 12;
constexpr double kTiny = 1e-30;

}  // namespace

void DopplerMeter::add(std::span<const Complex> responses, std::span<const float> weight,
                       double step_seconds) {
  const std::size_t taps = weight.size();
  S5066_ASSERT(taps > 0 && responses.size() % taps == 0);
  const std::size_t steps = responses.size() / taps;
  const double kept = std::exp(-static_cast<double>(steps) * step_seconds / kMemorySeconds);
  for (std::size_t k = 0; k < kLags; ++k) {
    sums_[k] *= kept;
    pairs_[k] *= kept;
    const std::size_t lag = std::size_t{1} << k;
    for (std::size_t step = 0; step + lag < steps; ++step) {
      const Complex* const a = &responses[step * taps];
      const Complex* const b = a + lag * taps;
      Complex sum;
      for (std::size_t i = 0; i < taps; ++i) sum += weight[i] * dsp::mul_conj(a[i], b[i]);
      sums_[k] += std::complex<double>(sum);
      pairs_[k] += 1;
    }
  }
  doppler_hz_ = measured(step_seconds);
}

// The fall is measured from the first lag on, because noise is not correlated with another step.
// The spectrum is Gaussian, and so is the correlation.
double DopplerMeter::measured(double step_seconds) const {
  if (pairs_[1] < kPairsMin) return doppler_hz_;
  const double near = std::abs(sums_[0]) / pairs_[0] + kTiny;
  double ratio = 1;
  double lag = 1;
  for (std::size_t k = 1; k < kLags && pairs_[k] >= kPairsMin && ratio > kFallen; ++k) {
    ratio = std::abs(sums_[k]) / pairs_[k] / near;
    lag *= 2;
  }
  const double fall = -std::log(std::clamp(ratio, kLost, 1.0));
  const double hz = std::sqrt(2 * fall / (lag * lag - 1)) / (std::numbers::pi * step_seconds);
  return std::clamp(hz, kMinHz, kMaxHz);
}

}  // namespace s5066::modem::framed
