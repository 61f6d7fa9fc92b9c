// SPDX-License-Identifier: Apache-2.0
// Tests which receptions count for and against the mode that a peer was advised
// (docs/protocol/rate_control.md).
#include "tests/unit/dts/advised_station.h"

namespace s5066::dts {
namespace {

// Goal:   a type 6 for a mode that the peer was not told does not show that the peer asks.
// Method: the peer's operator asks for another rate, before any advice was given and after it.
TEST(Adaptation, a_request_that_nobody_advised_does_not_make_a_peer_one_that_asks) {
  const auto ask = [](test::LoneStation& station, const modem::Mode& mode) {
    const pdu::Common common{.eot_half_s = 1, .destination = kUs, .source = kPeer};
    pdu::Management request{.common = common, .valid = true};
    request.common.eow = pdu::make_eow(pdu::EowType::drc_request, *drc_request(mode));
    station.hear({request});
    station.run_for(3s);
    station.hear({pdu::Management{.common = common, .ack = true}});
    station.run_for(3s);
    station.take_sent();
  };
  auto station = with_plain_peer();
  std::uint8_t number = 0;
  ask(station, kSlowLong);  // the peer was not told this mode yet
  for (int i = 0; i < 3; ++i) EXPECT_EQ(advised_after_data(station, number), kSlowLong);
  ask(station, {.rate_bps = 600, .interleaver = Interleaver::short_});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(advised_after_data(station, number), kSlowLong);
  // On the next connection no other mode is advised at first, but there the peer can still show
  // that it hears this one.
  number = 0;
  station.made(kPeer);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(advised_after_data(station, number), kSlowLong);
  ask(station, kSlowLong);
  EXPECT_NE(advised_after_data(station, number), kSlowLong);
}

// --- The sender of a transmission ----------------------------------------------------------------

// Goal:   a third station's transmission is not held against the peer if none of it can be read.
// Method: between whole transmissions of the peer come unreadable ones, later than an answer. The
//         cases have a third station on the frequency, or none.
TEST(Adaptation, what_a_third_station_sends_without_a_header_that_is_read_is_not_the_peers) {
  for (const bool third : {true, false}) {
    auto station = with_adapting_peer(adapting());
    if (third) {
      pdu::Data other = data_from({77}, 0);
      other.common.destination = {78};
      station.hear({other});
      station.run_for(5s);
    }
    station.set_heard(kSlow, 25);
    std::uint8_t number = 0;
    auto before = advised_after_data(station, number);
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(before.has_value());
      station.set_heard(*before, 12);
      before = advised_after_data(station, number);
    }
    ASSERT_TRUE(before && before->rate_bps > 300);
    station.set_heard(*before, 12);
    ASSERT_EQ(advised_after_data(station, number), before);
    for (int i = 0; i < 4; ++i) {
      station.run_for(30s);
      station.hear(Bytes(before->rate_bps * 6, 0x55));
    }
    station.run_for(5s);
    const auto after = advised_after_data(station, number);
    if (third) {
      EXPECT_EQ(after, before);
    } else {
      EXPECT_NE(after, before);
    }
  }
}

/// The channel is good, and the peer was told so but is as slow as before. Returns the advised
/// mode.
modem::Mode wish_of_a_good_channel(test::LoneStation& station, std::uint8_t& number) {
  station.set_heard(kSlow, 25);
  const auto wish = advised_after_data(station, number);
  EXPECT_TRUE(wish && wish->rate_bps > 300u);
  return wish.value_or(kSlow);
}

// Goal:   a header that tells the peer something else has not advised it.
// Method: the advice has been given. Then we send transmissions that are not answered and carry no
//         advice, and the peer is heard long after, slower than it was once advised. If we do
//         advise, the same counts against the mode.
TEST(Adaptation, only_a_header_with_advice_has_advised) {
  for (const bool advises : {false, true}) {
    auto station = with_adapting_peer(adapting());
    std::uint8_t number = 0;
    const modem::Mode wish = wish_of_a_good_channel(station, number);
    const pdu::AckOnly ack{{.eot_half_s = 1, .destination = kUs, .source = kPeer}, {}};
    station.hear({ack});  // at once, so no answer was missed
    for (std::uint64_t i = 0; i < 6; ++i) {
      if (advises) {
        station.hear({data_from(kPeer, number++)});  // our answer advises
      } else {
        station.request({.id = {i}, .service = Service::nonarq, .destination = kPeer, .cpdu = {1}});
      }
      station.run_for(1min);
      station.hear({ack});
    }
    station.take_sent();
    const auto after = advised_after_data(station, number);
    if (advises) {
      EXPECT_NE(after, wish);
    } else {
      EXPECT_EQ(after, wish);
    }
  }
}

}  // namespace
}  // namespace s5066::dts
