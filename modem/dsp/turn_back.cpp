// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/turn_back.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {

void turn_back(std::span<const Complex> samples, std::int64_t first, double turns,
               std::span<Complex> out) {
  S5066_ASSERT(out.size() == samples.size());
  const double start = std::remainder(turns * static_cast<double>(first), 1.0);
  const std::complex<double> step = std::polar(1.0, -2 * std::numbers::pi * turns);
  std::complex<double> turn = std::polar(1.0, -2 * std::numbers::pi * start);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    out[i] = mul(samples[i], Complex(turn));
    turn = {turn.real() * step.real() - turn.imag() * step.imag(),
            turn.real() * step.imag() + turn.imag() * step.real()};
  }
}

}  // namespace s5066::modem::dsp
