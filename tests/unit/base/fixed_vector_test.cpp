// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/fixed_vector.h"

#include <gtest/gtest.h>

#include <complex>
#include <span>

namespace s5066 {
namespace {

TEST(FixedVector, grows_up_to_its_capacity_and_starts_at_zero_again) {
  FixedVector<int, 3> numbers;
  EXPECT_TRUE(numbers.empty());
  for (const int n : {4, 5, 6}) numbers.push_back(n);
  EXPECT_EQ(numbers.size(), numbers.capacity());
  EXPECT_EQ(numbers.back(), 6);
  numbers.resize(1);
  numbers.resize(3);
  EXPECT_EQ(numbers[0], 4);
  EXPECT_EQ(numbers[1], 0);  // the earlier value has gone
  numbers.clear();
  EXPECT_EQ(numbers.begin(), numbers.end());
}

TEST(FixedVector, is_seen_as_a_span_of_what_is_in_it) {
  FixedVector<std::complex<float>, 8> points(2);
  points[1] = {1, 2};
  const std::span<const std::complex<float>> all = points;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], std::complex<float>());
  EXPECT_EQ(all[1], std::complex<float>(1, 2));
}

TEST(FixedVectorDeathTest, one_more_than_the_capacity_is_a_bug) {
  FixedVector<int, 2> numbers(2);
  EXPECT_DEATH(numbers.push_back(1), "size_ < kCapacity");
  EXPECT_DEATH(numbers.resize(3), "size <= kCapacity");
}

}  // namespace
}  // namespace s5066
