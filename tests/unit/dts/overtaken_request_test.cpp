// SPDX-License-Identifier: Apache-2.0
// A request for another data rate gets an answer that the clause does not provide for (C.6.4.2).
#include <gtest/gtest.h>

#include "tests/support/lone_station.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr Address kUs{0x01020305};
constexpr Address kFriend{0x01020304};

pdu::Common from(Address source) {
  return {.eow = {}, .eot_half_s = 1, .destination = kUs, .source = source};
}

pdu::Management message(const pdu::Eow& eow, bool ack) {
  pdu::Management management{.common = from(kFriend), .valid = true, .ack = ack};
  management.common.eow = eow;
  return management;
}

/// After this message of the peer data must go on, or the link must be lost (C.6.4.2(9)). It must
/// never stand still.
void expect_no_standstill(const pdu::Management& said, bool acknowledges_ours) {
  const modem::Mode wanted{modem::Waveform::ms110a, 600, modem::Interleaver::short_};
  test::LoneStation station({.address = kUs});
  station.made(kFriend);
  ASSERT_TRUE(station.ask_for(kFriend, wanted).ok());
  station.run_for(4s);
  station.hear({said});
  station.run_for(4s);
  if (acknowledges_ours) {
    station.hear({pdu::Management{.common = from(kFriend), .ack = true, .frame_id = 1}});
  }
  station.request({.id = {1}, .destination = kFriend, .cpdu = Bytes(50, 1)});
  station.run_for(10min);
  bool data = false;
  for (const auto& dpdu : station.take_sent()) {
    data = data || std::holds_alternative<pdu::Data>(dpdu);
  }
  bool lost = false;
  for (const auto& action : station.take_actions()) {
    lost = lost || std::holds_alternative<ConnectionLost>(action);
  }
  EXPECT_TRUE(data || lost);
}

// C.6.4.2(9)
TEST(OvertakenRequest, a_frequency_request_in_between_brings_no_standstill) {
  const pdu::DrcRequest asked{.rate = 3};
  expect_no_standstill(message(pdu::make_eow(pdu::EowType::frequency_request, asked), false), true);
}

TEST(OvertakenRequest, capabilities_that_acknowledge_it_bring_no_standstill) {
  expect_no_standstill(message(pdu::make_capability(0x80), true), false);
}

TEST(OvertakenRequest, a_request_of_the_peer_that_acknowledges_it_brings_no_standstill) {
  const pdu::DrcRequest asked{.rate = 3, .interleaver = 1};
  expect_no_standstill(message(pdu::make_eow(pdu::EowType::drc_request, asked), true), false);
}

TEST(OvertakenRequest, an_answer_that_is_none_brings_no_standstill) {
  for (const auto answer : {pdu::DrcAnswer::confirm, pdu::DrcAnswer::cancel, pdu::DrcAnswer{5}}) {
    const pdu::DrcResponse said{answer, pdu::DrcReason::none};
    expect_no_standstill(message(pdu::make_eow(pdu::EowType::drc_response, said), true), false);
  }
}

TEST(OvertakenRequest, advice_that_acknowledges_it_brings_no_standstill) {
  const pdu::DrcRequest advice{.rate = 3, .interleaver = 1, .advisory = true};
  expect_no_standstill(message(pdu::make_eow(pdu::EowType::drc_request, advice), true), false);
}

/// Makes any message, often one of a change.
pdu::Eow random_eow(Rng& rng) {
  const auto type = static_cast<std::uint8_t>(rng.chance(0.6) ? 1 + rng.below(3) : rng.below(16));
  return {type, static_cast<std::uint8_t>(rng.below(256))};
}

// Goal:   whatever a peer sends in type 6 and in its headers, the link carries data afterwards or
//         is reported lost (C.6.4.2(9)).
// Method: the peer sends random messages while we ask for changes. Then it is silent, and there is
//         data.
TEST(OvertakenRequest, after_whatever_was_said_a_link_carries_data_or_is_lost) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    test::LoneStation station({.address = kUs, .rate_change = rng.chance(0.7)});
    const Address peer = rng.chance(0.5) ? kFriend : Address{kUs.value + 1};
    station.made(peer);
    const auto steps = 1 + rng.below(12);
    for (unsigned step = 0; step < steps; ++step) {
      if (rng.chance(0.4)) {
        const modem::Mode mode{modem::Waveform::ms110a, rng.chance(0.5) ? 600u : 1200u,
                               modem::Interleaver::short_};
        static_cast<void>(station.ask_for(peer, mode));
        if (rng.chance(0.7)) station.run_for(4s);
      }
      pdu::Common common{.eow = random_eow(rng), .eot_half_s = 1, .destination = kUs};
      common.source = peer;
      if (rng.chance(0.8)) {
        pdu::Management said{.common = common, .valid = rng.chance(0.7), .ack = rng.chance(0.6)};
        said.frame_id = static_cast<std::uint8_t>(step / 2);
        if (rng.chance(0.2)) said.extension = {0, 0, 0x25, 0x80, 0x03, 0x60};
        station.hear({said});
      } else {
        station.hear({pdu::AckOnly{common, {{0}, {}}}});
      }
      station.run_for(std::chrono::milliseconds(rng.below(6000)));
    }
    static_cast<void>(station.take_sent());
    station.request({.id = {1}, .destination = peer, .cpdu = Bytes(50, 1)});
    station.run_for(10min);
    bool data = false;
    for (const auto& dpdu : station.take_sent()) {
      data = data || std::holds_alternative<pdu::Data>(dpdu) ||
             std::holds_alternative<pdu::DataAck>(dpdu);
    }
    bool lost = false;
    for (const auto& action : station.take_actions()) {
      lost = lost || std::holds_alternative<ConnectionLost>(action);
    }
    EXPECT_TRUE(data || lost);
  }
}

}  // namespace
}  // namespace s5066::dts
