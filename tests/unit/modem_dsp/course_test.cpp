// SPDX-License-Identifier: Apache-2.0
// even_out() fits a parabola to the course of each tap.
#include "modem/dsp/course.h"

#include <gtest/gtest.h>

#include <vector>

namespace s5066::modem::dsp {
namespace {

TEST(EvenSteps, are_fewer_the_faster_the_channel_changes) {
  EXPECT_EQ(even_steps(1, 0.01), 27U);
  EXPECT_EQ(even_steps(5, 0.01), 5U);
  EXPECT_EQ(even_steps(10, 0.01), 2U);
  EXPECT_EQ(even_steps(15, 0.01), 0U);  // a parabola through three steps is no help
}

TEST(EvenSteps, are_bounded_where_it_stands_still) {
  EXPECT_EQ(even_steps(0.1, 0.01), even_steps(1, 0.01));
}

TEST(EvenOut, keeps_parabolas_also_at_the_ends) {
  constexpr std::size_t kSteps = 30;
  std::vector<Complex> steps;
  for (std::size_t s = 0; s < kSteps; ++s) {
    const float t = 0.1F * static_cast<float>(s);
    steps.push_back({1 - t + 0.5F * t * t, 2 * t});
    steps.push_back({3, -t * t});
  }
  std::vector<Complex> out(steps.size());
  even_out(steps, 2, 6, out);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    EXPECT_NEAR(out[k].real(), steps[k].real(), 1e-4);
    EXPECT_NEAR(out[k].imag(), steps[k].imag(), 1e-4);
  }
}

// The fit leaves a share of white noise that equals the weight of a step in itself. For m steps on
// each side it is 3 (3m^2 + 3m - 1) / ((2m + 1)(4m^2 + 4m - 3)), Savitzky and Golay 1964.
TEST(EvenOut, weighs_steps_by_a_fit_of_least_squares) {
  constexpr std::size_t kHalf = 8;
  std::vector<Complex> steps(41);
  std::vector<Complex> out(steps.size());
  steps[20] = 1;
  even_out(steps, 1, kHalf, out);
  EXPECT_NEAR(out[20].real(), 3.0 * (3 * 64 + 3 * 8 - 1) / (17 * (4 * 64 + 4 * 8 - 3)), 1e-6);
  EXPECT_EQ(out[20 + kHalf + 1], Complex());
  EXPECT_EQ(out[20 - kHalf - 1], Complex());
  EXPECT_LT(out[20 + kHalf].real(), 0);
  // At an end the fit rests on steps of one side only.
  steps.assign(41, Complex());
  steps[0] = 1;
  even_out(steps, 1, kHalf, out);
  constexpr double kCount = 17;
  EXPECT_NEAR(out[0].real(),
              3 * (3 * kCount * kCount - 3 * kCount + 2) / (kCount * (kCount + 1) * (kCount + 2)),
              1e-5);
}

TEST(EvenOut, takes_what_there_is_and_leaves_less_than_five_steps_alone) {
  const std::vector<Complex> four{1, -1, 1, -1};
  std::vector<Complex> out(4);
  even_out(four, 1, 8, out);
  EXPECT_EQ(out, four);
  const std::vector<Complex> five{1, -1, 1, -1, 1};
  out.resize(5);
  even_out(five, 1, 8, out);
  EXPECT_NEAR(out[2].real(), 17.0 / 35 - 2 * 12.0 / 35 + 2 * -3.0 / 35, 1e-6);
}

}  // namespace
}  // namespace s5066::modem::dsp
