// SPDX-License-Identifier: Apache-2.0
// The modem reports the end of these bursts too early, because the user's bits look like an end.
#include <gtest/gtest.h>

#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

constexpr Address kUs{0x01020305};
constexpr Address kPeer{0x01020304};

std::size_t delivered_of_burst_cut_at(std::size_t cut, Duration pause, unsigned joined = 0) {
  test::LoneStation station({.address = kUs});
  station.made(kPeer);
  const pdu::Common common{.eow = {}, .eot_half_s = 4, .destination = kUs, .source = kPeer};
  Bytes octets;
  for (std::uint8_t n = 0; n < 3; ++n) {
    pdu::Data data;
    data.common = common;
    data.flags = {.start = true, .end = true};
    data.number = FrameNumber{n};
    data.segment = Bytes(100, n);
    pdu::encode(data, octets);
  }
  station.hear_in_two(octets, cut, pause, joined);
  std::size_t count = 0;
  for (const auto& action : station.take_actions()) {
    count += std::holds_alternative<CpduIndication>(action) ? 1 : 0;
  }
  return count;
}

TEST(SplitBurst, frames_go_on_where_bits_do) {
  for (const std::size_t cut : {1U, 60U, 119U, 150U, 180U, 260U}) {
    EXPECT_EQ(delivered_of_burst_cut_at(cut, {}), 3u) << cut;
  }
}

// The modem may report the rest as a transmission that it joins, before it knows that it is the
// same one.
TEST(SplitBurst, frames_go_on_behind_a_carrier_without_bits) {
  for (const std::size_t cut : {1U, 60U, 119U, 150U, 180U, 260U}) {
    EXPECT_EQ(delivered_of_burst_cut_at(cut, {}, 1), 3u) << cut;
    EXPECT_EQ(delivered_of_burst_cut_at(cut, {}, 2), 3u) << cut;
  }
}

TEST(SplitBurst, bits_of_another_burst_do_not_go_on_with_the_last) {
  for (const std::size_t cut : {1U, 60U, 119U, 150U, 180U, 260U}) {
    // All frames are there except the one that was cut.
    EXPECT_EQ(delivered_of_burst_cut_at(cut, 10ms), 2u) << cut;
    EXPECT_EQ(delivered_of_burst_cut_at(cut, -10ms), 2u) << cut;
    EXPECT_EQ(delivered_of_burst_cut_at(cut, 500ms, 1), 2u) << cut;
  }
}

}  // namespace
}  // namespace s5066::dts
