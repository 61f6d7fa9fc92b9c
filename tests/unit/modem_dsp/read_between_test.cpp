// SPDX-License-Identifier: Apache-2.0
// Reading a stream of samples at times between them.
#include "modem/dsp/read_between.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace s5066::modem::dsp {
namespace {

Complex tone(double turns, double at) {
  return Complex(std::polar(1.0, 2 * std::numbers::pi * turns * at));
}
History<Complex> tone_history(double turns) {
  History<Complex> history(1000);
  std::vector<Complex> samples;
  for (int n = 0; n < 1000; ++n) samples.push_back(tone(turns, n));
  history.push(samples);
  return history;
}

TEST(ReadBetween, hears_a_tone_as_it_is_anywhere_between_the_samples) {
  for (const double turns : {0.0, 0.1, -0.2, 0.33, -0.35}) {
    const auto history = tone_history(turns);
    for (const double step : {1.0, 1.0003, 0.9997}) {
      for (const double from : {20.0, 20.25, 20.999, 37.5}) {
        std::vector<Complex> out(900);
        read_between(history, from, step, out);
        double error = 0;
        for (std::size_t n = 0; n < out.size(); ++n) {
          error += std::norm(
              std::complex<double>(out[n] - tone(turns, from + step * static_cast<double>(n))));
        }
        EXPECT_LT(error / static_cast<double>(out.size()), 1e-5) << turns << ' ' << from;
      }
    }
  }
}

TEST(ReadBetween, gives_the_samples_themselves_at_whole_numbers) {
  const auto history = tone_history(0.3);
  std::vector<Complex> out(1000);
  read_between(history, 0, 1, out);
  for (int n = 0; n < 1000; ++n) EXPECT_EQ(out[static_cast<std::size_t>(n)], tone(0.3, n));
}

}  // namespace
}  // namespace s5066::modem::dsp
