// SPDX-License-Identifier: Apache-2.0
// Tests how a station reacts when the channel changes (docs/protocol/rate_control.md).
#include <algorithm>

#include "tests/unit/dts/advised_station.h"

namespace s5066::dts {
namespace {

// Goal:   the advice is for the present channel, not for the mean of the present and the past one.
// Method: most of a long transmission has one ratio. At the other ratio its frames do not arrive.
TEST(Adaptation, where_a_transmission_ends_on_another_channel_that_one_is_advised_for) {
  for (const bool falls : {true, false}) {
    auto station = with_adapting_peer(adapting());
    std::uint8_t number = 0;
    const float before_db = falls ? 25 : 2;
    const float after_db = falls ? 2 : 25;
    station.set_heard(kSlow, before_db);
    for (int i = 0; i < 3; ++i) {
      const auto mode = advised_after_data(station, number);
      ASSERT_TRUE(mode.has_value());
      station.set_heard(*mode, before_db);
      ASSERT_EQ(mode->rate_bps >= 4800, falls);
    }
    Bytes octets;
    const int frames = falls ? 20 : 6;
    for (int i = 0; i < frames; ++i) pdu::encode(data_from(kPeer, number++), octets);
    std::vector<float> snr_db(20, before_db);
    std::fill(snr_db.begin() + 14, snr_db.end(), after_db);
    if (falls) std::fill(octets.begin() + octets.size() * 14 / 20, octets.end(), 0x55);
    station.hear(octets, snr_db);
    station.run_for(20s);
    const auto advice = advised(station);
    ASSERT_TRUE(advice.has_value());
    if (falls) {
      EXPECT_LE(advice->rate_bps, 1200u);
    } else {
      EXPECT_GE(advice->rate_bps, 4800u);
    }
  }
}

}  // namespace
}  // namespace s5066::dts
