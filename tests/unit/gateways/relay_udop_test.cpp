// SPDX-License-Identifier: Apache-2.0
// Files by BFTP over UDOP (F.9, F.10.2): without ARQ, with FRAP by RCOP or without acknowledgement.
#include <gtest/gtest.h>

#include "tests/unit/gateways/relay_stations.h"
#include "tests/unit/gateways/relay_world.h"

namespace s5066::file_relay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::RelayStations;
using test::RelayWorld;
using Side = RelayWorld::Side;
using Kind = RelayEvent::Kind;
using Files = std::map<std::string, Bytes>;

constexpr Side kLeft = RelayWorld::kLeft;
constexpr Side kRight = RelayWorld::kRight;

Bytes content_of(std::size_t size, std::uint64_t seed = 1) {
  Rng rng(seed);
  Bytes bytes(size);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

/// Restarts both relays with files by UDOP.
void use_udop(RelayWorld& world, std::optional<AckMode> acknowledgement = std::nullopt) {
  for (SendingTable* table :
       {&world.core_config.sender.sending, &world.core_config.receiver.sending}) {
    table->others.by_udop = true;
    table->others.acknowledgement = acknowledgement;
  }
  for (const Side side : {kLeft, kRight}) {
    world.kill(side);
    world.start(side);
  }
}

// F.10.2.2(2)
TEST(RelayUdop, a_file_crosses_without_arq_and_is_acknowledged_by_rcop) {
  for (const AckMode mode : {AckMode::frap, AckMode::frap_v2}) {
    for (const std::size_t size : {0u, 1u, 2031u, 20'000u}) {
      SCOPED_TRACE(size);
      RelayWorld world(1, {.transfers = {true, true}, .udop_mtu = 2048});
      use_udop(world, mode);
      const auto id = world.send(kLeft, "MAP.BIN", content_of(size));
      EXPECT_TRUE(world.run_until_delivered(hours(1)));
      EXPECT_EQ(world.inbox(kRight), (Files{{"MAP.BIN", content_of(size)}}));
      EXPECT_EQ(world.item(kLeft, id).attempts, 1u);
      EXPECT_EQ(world.updus_sent(kLeft), 0u);
      EXPECT_EQ(world.updus_sent(kRight), 1u) << "the acknowledgement";
      EXPECT_GE(world.udop_sent(kLeft), 1u);
    }
  }
}

// F.8.2(1), F.9.2(1)
TEST(RelayUdop, rcop_goes_with_arq_to_sap_6_and_udop_without_to_sap_7) {
  RelayWorld world(1, {.udop_mtu = 2048});
  world.send(kLeft, "f", content_of(100));
  ASSERT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.last_unidata(kLeft).destination_sap, SapId{6});
  EXPECT_EQ(world.last_unidata(kLeft).delivery,
            (sis::DeliveryMode{.mode = sis::TransmissionMode::arq,
                               .confirmation = sis::Confirmation::client}));
  world.core_config.sender.sending.others.udop_repeats = 2;
  use_udop(world);
  world.send(kLeft, "g", content_of(100));
  ASSERT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.last_unidata(kLeft).destination_sap, SapId{7});
  EXPECT_EQ(world.last_unidata(kLeft).delivery,
            (sis::DeliveryMode{.mode = sis::TransmissionMode::nonarq, .retransmissions = 2}));
}

TEST(RelayUdop, without_acknowledgement_a_file_is_sent_when_it_has_left) {
  RelayWorld world(1, {.udop_mtu = 2048});
  use_udop(world, AckMode::none);
  world.run_for(seconds(5));
  const auto id = world.send(kLeft, "f", content_of(20'000));
  world.run_for(seconds(60));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active) << "it takes 67 s at 2400 bit/s";
  world.run_for(seconds(20));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::sent);
  EXPECT_EQ(world.events(kLeft, Kind::sent), 1u);
  EXPECT_EQ(world.inbox(kRight).size(), 1u);
  EXPECT_EQ(world.updus_sent(kRight), 0u);
  world.run_for(hours(2));
  EXPECT_EQ(world.udop_sent(kLeft), 10u) << "once";
}

// F.9.2(2)
TEST(RelayUdop, a_file_of_which_segments_were_lost_goes_again_until_it_is_acknowledged) {
  RelayWorld world(3, {.udop_mtu = 2048, .udop_lost = 0.2});
  use_udop(world);
  for (int i = 0; i < 5; ++i) {
    world.send(kLeft, "f" + std::to_string(i), content_of(5000, 10 + static_cast<unsigned>(i)));
  }
  EXPECT_TRUE(world.run_until_delivered(hours(20)));
  EXPECT_EQ(world.inbox(kRight).size(), 5u) << "none came twice";
}

TEST(RelayUdop, the_node_gets_no_more_than_one_transmission_ahead) {
  RelayWorld world(1, {.udop_mtu = 2048});
  use_udop(world, AckMode::none);
  world.run_for(seconds(5));
  world.send(kLeft, "f", content_of(300'000));
  world.run_for(seconds(10));
  EXPECT_GE(world.udop_sent(kLeft), 15u);
  EXPECT_LE(world.udop_sent(kLeft), 22u) << "137 s at 2400 bit/s are 20 segments";
  world.run_for(minutes(5));
  EXPECT_GE(world.udop_sent(kLeft), 60u);
}

TEST(RelayUdop, what_had_not_left_when_sap_7_was_lost_goes_again) {
  RelayWorld world(1, {.udop_mtu = 2048});
  use_udop(world, AckMode::none);
  world.run_for(seconds(5));
  const auto id = world.send(kLeft, "f", content_of(20'000));
  world.run_for(seconds(10));
  world.set_udop(kLeft, false);
  world.run_for(minutes(10));
  EXPECT_EQ(world.inbox(kRight).size(), 0u);
  EXPECT_FALSE(gateways::is_over(world.item(kLeft, id).state));
  world.set_udop(kLeft, true);
  world.run_for(minutes(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::sent);
  EXPECT_EQ(world.inbox(kRight).size(), 1u);
}

TEST(RelayUdop, our_own_emcon_takes_back_what_had_not_left_and_counts_no_attempt) {
  RelayWorld world(1, {.udop_mtu = 2048});
  world.core_config.sender.attempts_max = 1;
  use_udop(world, AckMode::none);
  world.run_for(seconds(5));
  const auto id = world.send(kLeft, "f", content_of(20'000));
  world.run_for(seconds(10));
  world.core(kLeft).on_own_silence(world.now(), true);
  world.poke(kLeft);
  world.run_for(minutes(30));
  EXPECT_EQ(world.events(kLeft, Kind::attempt_failed), 1u);
  EXPECT_FALSE(gateways::is_over(world.item(kLeft, id).state));
  EXPECT_EQ(world.udop_sent(kLeft), 10u);
  world.core(kLeft).on_own_silence(world.now(), false);
  world.poke(kLeft);
  world.run_for(minutes(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::sent);
  EXPECT_EQ(world.udop_sent(kLeft), 20u);
}

TEST(RelayUdop, its_segments_are_no_matter_of_p_mul) {
  RelayWorld world(1, {.udop_mtu = 2048});
  world.core_config.multicast.own = Address{0x01020301};
  use_udop(world, AckMode::none);
  world.run_for(seconds(5));
  world.send(kLeft, "f", content_of(20'000));
  world.run_for(minutes(5));
  EXPECT_EQ(world.inbox(kRight).size(), 1u);
  CounterRows rows;
  world.core(kRight).list(rows);
  const auto wrong = std::find_if(rows.begin(), rows.end(), [](const auto& row) {
    return row.name == "carrier_wrong_application";
  });
  ASSERT_NE(wrong, rows.end());
  EXPECT_EQ(wrong->value, 0u);
}

// P_MUL and BFTP share the line, so each waits for what the other has given to the node.
TEST(RelayUdop, a_file_is_sent_when_the_data_of_p_mul_have_left_as_well) {
  RelayWorld world(1, {.udop_mtu = 2048});
  world.core_config.multicast.own = Address{0x01020301};
  use_udop(world, AckMode::none);
  world.run_for(seconds(5));
  world.core(kLeft).multicast().on_other_handed(world.now(), 8, 2400 / 8 * 600);
  const auto id = world.send(kLeft, "f", content_of(1000));
  world.run_for(minutes(9));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
  world.run_for(minutes(2));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::sent);
}

TEST(RelayUdop, a_small_mtu_of_sap_7_is_told_and_files_wait) {
  RelayWorld world(1, {.udop_mtu = 299});
  use_udop(world);
  world.send(kLeft, "f", content_of(1000));
  world.run_for(minutes(10));
  EXPECT_EQ(world.udop_sent(kLeft), 0u);
  EXPECT_GE(world.events(kLeft, Kind::mtu_too_small), 1u);
}

// F.10.2.3(2)
TEST(RelayUdop, an_acknowledgement_that_comes_without_arq_does_not_count) {
  RelayWorld world(1, {.udop_mtu = 2048});
  use_udop(world);
  world.mute(kRight, true);
  const auto id = world.send(kLeft, "f", content_of(100));
  world.run_for(seconds(30));
  world.core(kLeft).on_udop(world.now(),
                            gateways::SisIndication{Address{0x01020301}, SapId{7},
                                                    frap_updu(0, world.item(kLeft, id).updu_id)});
  world.poke(kLeft);
  EXPECT_EQ(world.events(kLeft, Kind::unknown_application), 1u);
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
}

// Goal: a station that never answers by UDOP holds up neither files by UDOP to others nor by RCOP.
TEST(RelayUdop, a_station_that_never_answers_holds_up_no_others) {
  RelayCore::Config config;
  config.sender.attempts_max = 3;
  for (const unsigned station : {3u, 4u}) {
    config.sender.sending.stations[RelayStations::station(station)].by_udop = true;
  }
  config.sender.sending.stations[RelayStations::station(4)].acknowledgement = AckMode::none;
  RelayStations world(config);
  world.core().on_udop(world.now(), gateways::SisBound{2048});
  const auto lost = world.send(3, "never answered", 2000);
  const auto sent = world.send(4, "not acknowledged", 2000);
  world.send(1, "now", 2000);
  world.run_for(minutes(3));
  EXPECT_EQ(world.files_at(1), 1u);
  EXPECT_EQ(world.item(sent).state, SpoolState::sent);
  world.run_for(hours(3));
  EXPECT_EQ(world.item(lost).state, SpoolState::failed);
  EXPECT_EQ(world.item(lost).attempts, 3u);
}

}  // namespace
}  // namespace s5066::file_relay
