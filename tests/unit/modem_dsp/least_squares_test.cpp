// What is read off a channel's profile of powers.
#include "modem/dsp/least_squares.h"

#include <gtest/gtest.h>

#include <vector>

namespace s5066::modem::dsp {
namespace {

TEST(FirstPath, is_the_first_peak_of_a_quarter_of_the_highest_value) {
  EXPECT_EQ(first_path(std::vector<float>{0, 1, 0, 4, 0}), 1U);
  EXPECT_EQ(first_path(std::vector<float>{0, 0.99F, 0, 4, 0}), 3U);
  // A value on the way up to a peak is none.
  EXPECT_EQ(first_path(std::vector<float>{0, 2, 3, 4, 0}), 3U);
}

TEST(FirstPath, may_be_at_either_end) {
  EXPECT_EQ(first_path(std::vector<float>{4, 1, 0}), 0U);
  EXPECT_EQ(first_path(std::vector<float>{0, 1, 4}), 2U);
  EXPECT_EQ(first_path(std::vector<float>{0, 0}), 0U);
}

TEST(PeakPlace, lies_between_its_neighbours_by_their_amplitudes) {
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{1, 4, 1}, 1), 1);
  // Amplitudes 1, 3, 2: half a step of (1 - 2) by a bend of -3.
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{1, 9, 4}, 1), 1 + 1.0 / 6);
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{4, 9, 1}, 1), 1 - 1.0 / 6);
}

TEST(PeakPlace, is_the_step_itself_where_a_neighbour_is_missing_or_nothing_bends) {
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{4, 1}, 0), 0);
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{1, 4}, 1), 1);
  EXPECT_DOUBLE_EQ(peak_place(std::vector<float>{4, 4, 4}, 1), 1);
}

}  // namespace
}  // namespace s5066::modem::dsp
