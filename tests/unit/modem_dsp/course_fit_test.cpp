// SPDX-License-Identifier: Apache-2.0
// The responses in these tests change while known symbols are sent.
#include "modem/dsp/course_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::dsp {
namespace {

constexpr std::size_t kRows = 120;
constexpr std::size_t kFirst = 10;
constexpr std::array<std::uint8_t, 2> kDelays = {1, 6};

/// Gives the value of a tap by its place among the delays, at a time from -1 to 1.
using Course = std::function<Complex(std::size_t tap, double time)>;

struct Sent {
  std::vector<Complex> symbols;
  std::vector<Complex> samples;
};

Sent send(const Course& course, float noise) {
  Rng rng(3);
  Sent sent;
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto angle = static_cast<float>(std::numbers::pi / 4 * rng.below(8));
    sent.symbols.push_back(std::polar(1.0F, angle));
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    const double time = (static_cast<double>(row) + 0.5) / (kRows / 2.0) - 1;
    for (std::size_t p = 0; p < kPhases; ++p) {
      Complex y(noise * static_cast<float>(rng.gaussian()),
                noise * static_cast<float>(rng.gaussian()));
      for (std::size_t tap = 0; tap < kDelays.size(); ++tap) {
        if (row >= kDelays[tap]) y += mul(course(tap, time), sent.symbols[row - kDelays[tap]]);
      }
      sent.samples.push_back(y);
    }
  }
  return sent;
}

CourseFit fitted(const Sent& sent, std::size_t terms) {
  CourseFit fit(kDelays, terms, kRows);
  for (std::size_t tap = 0; tap < kDelays.size(); ++tap) fit.expect(tap, 1e-6);
  // The rows are added in two parts.
  for (const auto& [from, to] : {std::pair{kFirst, 50UL}, std::pair{50UL, kRows}}) {
    fit.add_symbols(sent.symbols, from, to);
    fit.add_samples(sent.symbols, sent.samples, from, to);
  }
  fit.solve();
  return fit;
}

double energy(const Sent& sent) {
  double sum = 0;
  for (std::size_t n = kPhases * kFirst; n < sent.samples.size(); ++n) {
    sum += static_cast<double>(std::norm(sent.samples[n]));
  }
  return sum;
}

double left_share(const Sent& sent, std::size_t terms) {
  return fitted(sent, terms).left_over(sent.symbols, sent.samples, kFirst, kRows) / energy(sent);
}

// Both taps pass through zero in the middle of the fit.
Complex line(std::size_t tap, double time) {
  return static_cast<float>(time) * Complex(tap == 0 ? 1.0F : 0.2F, tap == 0 ? 0.0F : 0.7F);
}

TEST(CourseFit, a_line_through_zero_is_found_where_what_stands_still_explains_nothing) {
  const Sent sent = send(line, 0);
  EXPECT_GT(left_share(sent, 1), 0.9);
  EXPECT_LT(left_share(sent, 2), 1e-6);
}

TEST(CourseFit, a_parabola_takes_three_terms) {
  const auto parabola = [](std::size_t tap, double time) {
    return line(tap, time) + Complex(0, static_cast<float>(time * time));
  };
  const Sent sent = send(parabola, 0);
  EXPECT_GT(left_share(sent, 2), 0.03);
  EXPECT_LT(left_share(sent, 3), 1e-6);
}

TEST(CourseFit, tells_the_power_of_each_tap_over_time) {
  const CourseFit fit = fitted(send(line, 0), 3);
  EXPECT_NEAR(fit.power(0), 1.0 / 3, 1e-3);
  EXPECT_NEAR(fit.power(1), 0.53 / 3, 1e-3);
}

TEST(CourseFit, what_it_explains_and_what_it_leaves_are_all_there_is) {
  const Sent sent = send(line, 0.3F);
  CourseFit fit = fitted(sent, 2);
  const double left = fit.left_over(sent.symbols, sent.samples, kFirst, kRows);
  EXPECT_NEAR(fit.solve() + left, energy(sent), 1e-3 * energy(sent));
}

TEST(CourseFit, what_was_cleared_counts_no_more) {
  const Sent sent = send(line, 0.1F);
  CourseFit fit = fitted(sent, 2);
  const double once = fit.solve();
  fit.add_samples(sent.symbols, sent.samples, kFirst, kRows);
  EXPECT_GT(fit.solve(), 2 * once);
  fit.clear_samples();
  fit.add_samples(sent.symbols, sent.samples, kFirst, kRows);
  EXPECT_DOUBLE_EQ(fit.solve(), once);
}

// The response turns by a tenth of a turn over the whole fit.
TEST(CourseFit, tells_how_fast_the_response_turns) {
  const double turns = 0.1;
  const auto turning = [&](std::size_t tap, double time) {
    return (tap == 0 ? 1.0F : 0.5F) * Complex(std::polar(1.0, std::numbers::pi * turns * time));
  };
  EXPECT_NEAR(fitted(send(turning, 0), 3).turn(), turns / (kPhases * kRows), 1e-5);
}

// The phase of such a response jumps by half a turn, but that is no rotation.
TEST(CourseFit, a_response_that_passes_through_zero_does_not_turn) {
  EXPECT_NEAR(fitted(send(line, 0), 3).turn(), 0, 1e-6);
}

}  // namespace
}  // namespace s5066::modem::dsp
