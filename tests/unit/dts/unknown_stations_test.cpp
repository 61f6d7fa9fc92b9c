// SPDX-License-Identifier: Apache-2.0
// One transmission has frames from many addresses, none of which has a link.
#include <gtest/gtest.h>

#include "tests/support/lone_station.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr Address kUs{0x01020305};
constexpr Address kFriend{0x01020304};

std::vector<pdu::Dpdu> crowd(pdu::EowType type) {
  std::vector<pdu::Dpdu> all;
  for (std::uint32_t i = 0; i < 64; ++i) {
    pdu::Management asked{.valid = true};
    asked.common = {.eot_half_s = 1, .destination = kUs, .source = {0x02000000u + i}};
    asked.common.eow = type == pdu::EowType::capability
                           ? pdu::make_capability(0x80)
                           : pdu::make_eow(type, pdu::DrcRequest{.rate = 3});
    all.push_back(asked);
  }
  return all;
}

// Goal:   a few seconds of type 6 block no new link, and are soon answered to the end.
// Method: 64 addresses ask for something in one transmission. None ever acknowledges the refusal.
TEST(UnknownStations, type_6_of_many_addresses_blocks_no_new_link) {
  for (const auto type : {pdu::EowType::drc_request, pdu::EowType::frequency_request}) {
    SCOPED_TRACE(static_cast<int>(type));
    test::LoneStation station({.address = kUs});
    station.hear(crowd(type));
    station.made(kFriend);
    station.request({.id = {1}, .destination = kFriend, .cpdu = Bytes(50, 1)});
    station.run_for(30s);
    bool data = false;
    for (const auto& dpdu : station.take_sent()) {
      data = data || std::holds_alternative<pdu::Data>(dpdu);
    }
    EXPECT_TRUE(data);
    station.hear(
        {pdu::AckOnly{{.eot_half_s = 1, .destination = kUs, .source = kFriend}, {{1}, {}}}});
    station.run_for(1h);
    for (const auto& action : station.take_actions()) {
      EXPECT_FALSE(std::holds_alternative<ConnectionLost>(action));
    }
  }
}

// Goal:   eight of the addresses get one answer each, and the others none.
TEST(UnknownStations, no_more_than_eight_are_answered_once_each) {
  for (const auto type : {pdu::EowType::drc_request, pdu::EowType::capability}) {
    test::LoneStation station({.address = kUs});
    station.hear(crowd(type));
    station.run_for(1h);
    EXPECT_EQ(station.take_modes().size(), 8u);
    station.hear(crowd(type));  // addresses that repeat the request get an answer again
    station.run_for(1h);
    EXPECT_EQ(station.take_modes().size(), 8u);
  }
}

// Goal:   a link is made although unknown stations that are owed an answer hold all records.
TEST(UnknownStations, an_unknown_station_makes_room_for_a_link) {
  test::LoneStation station({.address = kUs, .peers_max = 2});
  station.hear(crowd(pdu::EowType::drc_request));
  station.made(kFriend);
  for (const auto& action : station.take_actions()) {
    EXPECT_FALSE(std::holds_alternative<ConnectionLost>(action));
  }
  EXPECT_LE(station.dts().peers_known(), 2u);
}

// Goal:   a round has slots for stations, not for addresses.
// Method: one transmission of one station has frames from 40 addresses.
TEST(UnknownStations, one_transmission_adds_one_station_to_the_round) {
  test::LoneStation station({.address = kUs});
  std::vector<pdu::Dpdu> all;
  for (std::uint32_t i = 0; i < 40; ++i) {
    pdu::AckOnly ack;
    ack.common = {.eot_half_s = 1, .destination = Address{99}, .source = {0x02000000u + i}};
    all.push_back(ack);
  }
  station.hear(all);
  // The time covers four slots of 0.8 s, and the guard.
  station.request(
      {.id = {1}, .service = Service::nonarq, .destination = Address::all_stations(), .cpdu = {1}});
  station.run_for(8s);
  EXPECT_EQ(station.take_modes().size(), 1u);
}

}  // namespace
}  // namespace s5066::dts
