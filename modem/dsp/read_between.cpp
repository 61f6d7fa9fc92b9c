// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/read_between.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace s5066::modem::dsp {
namespace {

constexpr std::size_t kTaps = 2 * kBetweenReach;
/// Times between two samples that have weights of their own.
constexpr std::size_t kPlaces = 512;
using Weights = std::array<std::array<float, kTaps>, kPlaces + 1>;

// sinc under Blackman's window; tap i belongs to the sample i - (reach - 1) behind the whole part.
Weights make_weights() {
  constexpr double pi = std::numbers::pi;
  Weights weights{};
  for (std::size_t place = 0; place <= kPlaces; ++place) {
    const double between = static_cast<double>(place) / kPlaces;
    for (std::size_t i = 0; i < kTaps; ++i) {
      const double t = static_cast<double>(i) - (kBetweenReach - 1) - between;
      const double sinc = std::abs(t) < 1e-9 ? 1 : std::sin(pi * t) / (pi * t);
      const double c = pi * t / kBetweenReach;
      const double window = 0.42 + 0.5 * std::cos(c) + 0.08 * std::cos(2 * c);
      weights[place][i] = static_cast<float>(sinc * window);
    }
  }
  return weights;
}

}  // namespace

void read_between(const History<Complex>& history, double from, double step,
                  std::span<Complex> out) {
  static const Weights weights = make_weights();
  if (out.empty()) return;
  const double first = std::floor(from);
  if (first == from && step == 1) {
    const auto samples = history.window(static_cast<std::int64_t>(first), out.size());
    std::copy(samples.begin(), samples.end(), out.begin());
    return;
  }
  const auto begin = static_cast<std::int64_t>(first) - (kBetweenReach - 1);
  const double last = from + step * static_cast<double>(out.size() - 1);
  const auto end = static_cast<std::int64_t>(std::floor(last)) + kBetweenReach + 1;
  const auto samples = history.window(begin, static_cast<std::size_t>(end - begin));
  for (std::size_t n = 0; n < out.size(); ++n) {
    const double at = from - first + step * static_cast<double>(n);
    const auto whole = static_cast<std::size_t>(at);
    const auto place = static_cast<std::size_t>((at - static_cast<double>(whole)) * kPlaces + 0.5);
    Complex sum;
    for (std::size_t i = 0; i < kTaps; ++i) sum += weights[place][i] * samples[whole + i];
    out[n] = sum;
  }
}

}  // namespace s5066::modem::dsp
