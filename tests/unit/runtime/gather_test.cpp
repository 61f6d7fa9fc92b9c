// SPDX-License-Identifier: Apache-2.0
// octets_of_whole_frames() chooses how many waiting primitives go out in one write.
#include "s5066d/runtime/gather.h"

#include <gtest/gtest.h>

#include "sis/codec.h"

namespace s5066::runtime {
namespace {

/// Makes frames with bodies of these sizes.
Bytes frames(const std::vector<std::size_t>& bodies) {
  Bytes all;
  for (const std::size_t body : bodies) {
    append(all, Bytes{sis::kPreamble0, sis::kPreamble1, sis::kVersion});
    put_u16(all, static_cast<std::uint16_t>(body));
    all.resize(all.size() + body, 0x55);
  }
  return all;
}

TEST(Gather, as_many_whole_primitives_as_a_segment_holds) {
  const Bytes three = frames({5, 15, 25});  // frames of 10, 20 and 30 octets
  EXPECT_EQ(octets_of_whole_frames(three, 60), 60u);
  EXPECT_EQ(octets_of_whole_frames(three, 59), 30u);
  EXPECT_EQ(octets_of_whole_frames(three, 30), 30u);
  EXPECT_EQ(octets_of_whole_frames(three, 29), 10u);
}

TEST(Gather, a_primitive_longer_than_a_segment_goes_alone) {
  const Bytes two = frames({995, 5});
  EXPECT_EQ(octets_of_whole_frames(two, 100), 1000u);
  EXPECT_EQ(octets_of_whole_frames(ByteSpan(two).subspan(1000), 100), 10u);
  EXPECT_EQ(octets_of_whole_frames({}, 100), 0u);
}

}  // namespace
}  // namespace s5066::runtime
