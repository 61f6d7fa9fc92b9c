// SPDX-License-Identifier: Apache-2.0
// These functions read paths and windows off a channel's profile of powers.
#include "modem/dsp/least_squares.h"

#include <gtest/gtest.h>

#include <vector>

namespace s5066::modem::dsp {
namespace {

TEST(FirstPath, is_the_first_peak_of_a_quarter_of_the_highest_value) {
  EXPECT_EQ(first_path(std::vector<float>{0, 1, 0, 4, 0}), 1U);
  EXPECT_EQ(first_path(std::vector<float>{0, 0.99F, 0, 4, 0}), 3U);
  // A value on the rise to a peak is not a path.
  EXPECT_EQ(first_path(std::vector<float>{0, 2, 3, 4, 0}), 3U);
}

TEST(FirstPath, may_be_at_either_end) {
  EXPECT_EQ(first_path(std::vector<float>{4, 1, 0}), 0U);
  EXPECT_EQ(first_path(std::vector<float>{0, 1, 4}), 2U);
  EXPECT_EQ(first_path(std::vector<float>{0, 0}), 0U);
}

TEST(PeakPlace, lies_between_its_neighbours_by_their_amplitudes) {
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{1, 4, 1}, 1), 1);
  // The amplitudes are 1, 3, 2: half a step of (1 - 2) divided by a bend of -3.
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{1, 9, 4}, 1), 1 + 1.0 / 6);
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{4, 9, 1}, 1), 1 - 1.0 / 6);
}

TEST(PeakPlace, is_the_step_itself_where_a_neighbour_is_missing_or_nothing_bends) {
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{4, 1}, 0), 0);
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{1, 4}, 1), 1);
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{4, 4, 4}, 1), 1);
}

// Two steps of the profile make a symbol.
TEST(FullestWindow, lies_around_the_middle_of_what_fits_in) {
  const std::vector<float> profile(40, 1);
  EXPECT_EQ(fullest_window(profile, {.earliest = 6, .span = 8, .taps = 12, .margin = 2}), 4);
  EXPECT_EQ(fullest_window(profile, {.earliest = 6, .span = 8, .taps = 8, .margin = 2}), 6);
  EXPECT_EQ(fullest_window(profile, {.earliest = -2, .span = 8, .taps = 11, .margin = 2}), -3);
}

TEST(FullestWindow, has_the_most_power_where_not_all_fits_in) {
  std::vector<float> profile(40, 0);
  profile[4] = 0.1F;
  profile[22] = profile[34] = 1;
  const WindowSought sought{.earliest = 0, .span = 20, .taps = 12, .margin = 2};
  // The window holds both strong paths with their margins: symbols 11 and 17.
  const int begin = fullest_window(profile, sought);
  EXPECT_GE(begin, 17 - 9);
  EXPECT_LE(begin, 11 - 2);
  // If the weak path is as strong as the others, the window with the earlier path wins.
  profile[34] = 0.05F;
  profile[4] = 1;
  EXPECT_EQ(fullest_window(profile, sought), 0);
}

}  // namespace
}  // namespace s5066::modem::dsp
