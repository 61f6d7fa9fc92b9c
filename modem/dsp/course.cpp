// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/course.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

/// This is half the span in Doppler spreads, and the least spread, because carrier and clock also
/// vary.
constexpr double kHalfSpan = 0.27;
constexpr double kDopplerMinHz = 1;
/// A parabola fits any three points exactly, so that fewer steps smooth nothing.
constexpr std::size_t kHalfMin = 2;

}  // namespace

std::size_t even_steps(double doppler_hz, double step_seconds) {
  const double seconds = kHalfSpan / std::max(doppler_hz, kDopplerMinHz);
  const auto half = static_cast<std::size_t>(seconds / step_seconds);
  return half < kHalfMin ? 0 : half;
}

void even_out(std::span<const Complex> steps, std::size_t values, std::size_t half,
              std::span<Complex> out) {
  S5066_ASSERT(steps.size() == out.size() && steps.size() % values == 0);
  const std::size_t total = steps.size() / values;
  const std::size_t count = std::min(2 * half + 1, total);
  if (count < 2 * kHalfMin + 1) {
    std::copy(steps.begin(), steps.end(), out.begin());
    return;
  }
  // The code uses the orthogonal polynomials 1, x and x^2 - mean over the steps, and their
  // energies.
  const auto n = static_cast<double>(count);
  const double mean = (n * n - 1) / 12;
  const double energy_1 = n * mean;
  const double energy_2 = energy_1 * (n * n - 4) / 15;
  std::fill(out.begin(), out.end(), Complex());
  for (std::size_t s = 0; s < total; ++s) {
    const std::size_t first = std::min(s > half ? s - half : 0, total - count);
    const double at = static_cast<double>(s - first) - (n - 1) / 2;
    Complex* const sum = &out[s * values];
    for (std::size_t i = 0; i < count; ++i) {
      const double x = static_cast<double>(i) - (n - 1) / 2;
      const auto weight = static_cast<float>(1 / n + x * at / energy_1 +
                                             (x * x - mean) * (at * at - mean) / energy_2);
      const Complex* const from = &steps[(first + i) * values];
      for (std::size_t k = 0; k < values; ++k) sum[k] += weight * from[k];
    }
  }
}

}  // namespace s5066::modem::dsp
