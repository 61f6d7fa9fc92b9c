// SPDX-License-Identifier: Apache-2.0
#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

// C.2(2)
TEST(DataTransfer, a_small_c_pdu_is_delivered_and_confirmed_in_one_exchange) {
  DtsWorld world(2, {}, 1);
  world.connect(0, 1);
  world.send(0, 1, 7, {1, 2, 3});
  world.run_for(10s);
  ASSERT_EQ(world[1].received.size(), 1u);
  EXPECT_EQ(world[1].received[0].cpdu, (Bytes{1, 2, 3}));
  EXPECT_EQ(world[1].received[0].source, DtsWorld::address(0));
  EXPECT_EQ(world[0].confirmed, std::vector{CpduId{7}});
  EXPECT_EQ(world.medium().bursts(), 2u);
  expect_clean_air(world);
}

TEST(DataTransfer, every_mode_carries_data_both_ways) {
  for (const modem::Mode& mode : modem::all_modes()) {
    SCOPED_TRACE(modem::to_string(mode));
    DtsWorld world(2, {}, 1, {.mode = mode});
    world.connect(0, 1);
    for (std::uint64_t i = 0; i < 5; ++i) world.send(0, 1, 10 + i, pattern(2000, i));
    world.run_for(10s);
    for (std::uint64_t i = 0; i < 5; ++i) world.send(1, 0, 20 + i, pattern(1000, 100 + i));
    world.run_for(mode.rate_bps < 300 ? 6h : 30min);
    ASSERT_EQ(world[1].received.size(), 5u);
    ASSERT_EQ(world[0].received.size(), 5u);
    for (std::uint64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(world[1].received[i].cpdu, pattern(2000, i));
      EXPECT_EQ(world[0].received[i].cpdu, pattern(1000, 100 + i));
    }
    EXPECT_EQ(world[0].confirmed.size(), 5u);
    EXPECT_EQ(world[1].confirmed.size(), 5u);
    EXPECT_EQ(world[0].counters[Counter::frames_sent_again], 0u);
    expect_clean_air(world);
  }
}

// C.1.2(1)
TEST(DataTransfer, under_loss_everything_arrives_once_and_in_order) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    DtsWorld world(2, {.frame_loss = 0.2, .missed_sync = 0.05, .fades_per_burst = 0.1}, seed,
                   {.replies_missed_max = 1000});
    world.connect(0, 1);
    for (std::uint64_t i = 0; i < 20; ++i) {
      world.send(0, 1, 100 + i, pattern(1500, i));
      if (i % 4 == 0) world.send(1, 0, 200 + i, pattern(700, 50 + i));
    }
    world.run_for(2h);
    ASSERT_EQ(world[1].received.size(), 20u);
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(world[1].received[i].cpdu, pattern(1500, i));
    EXPECT_EQ(world[0].received.size(), 5u);
    EXPECT_EQ(world[0].confirmed.size(), 20u);
    EXPECT_TRUE(world[0].rejected.empty());
    expect_clean_air(world);
  }
}

// C.2(9)-(11)
TEST(DataTransfer, a_silent_peer_is_given_up_and_its_data_rejected) {
  DtsWorld world(2, {.missed_sync = 1}, 3);
  world.connect(0, 1);
  world.send(0, 1, 1, pattern(3000, 1));
  world.send(0, 1, 2, pattern(10, 2));
  world.run_for(30min);
  EXPECT_EQ(world[0].lost, std::vector{DtsWorld::address(1)});
  ASSERT_EQ(world[0].rejected.size(), 2u);
  EXPECT_EQ(world[0].rejected[0].reason, CpduFailure::not_connected);
  EXPECT_EQ(world[0].counters[Counter::reply_timeouts], 8u);
}

TEST(DataTransfer, polls_without_an_answer_double_up_to_eight_frames_until_the_link_is_lost) {
  constexpr Address kPeer{0x01020305};
  test::LoneStation station({.address = {0x01020304}});
  station.made(kPeer);
  station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(4000, 1)});
  std::vector<std::size_t> transmissions;
  for (int step = 0; step < 600; ++step) {
    station.run_for(500ms);
    const std::size_t frames = station.take_sent().size();
    if (frames > 0) transmissions.push_back(frames);
  }
  EXPECT_EQ(transmissions, (std::vector<std::size_t>{10, 1, 2, 4, 8, 8, 8, 8}));
  const auto actions = station.take_actions();
  EXPECT_TRUE(std::holds_alternative<ConnectionLost>(actions.back()));
}

TEST(DataTransfer, an_answered_poll_begins_with_one_frame_again) {
  constexpr Address kSelf{0x01020304};
  constexpr Address kPeer{0x01020305};
  test::LoneStation station({.address = kSelf});
  station.made(kPeer);
  station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(4000, 1)});
  const auto next_transmission = [&] {
    for (int step = 0; step < 600; ++step) {
      station.run_for(500ms);
      if (const std::size_t frames = station.take_sent().size()) return frames;
    }
    return std::size_t{0};
  };
  for (const std::size_t frames : {10u, 1u, 2u, 4u}) EXPECT_EQ(next_transmission(), frames);
  station.hear({pdu::AckOnly{{.eot_half_s = 1, .destination = kSelf, .source = kPeer}, {{1}, {}}}});
  for (const std::size_t frames : {9u, 1u, 2u}) EXPECT_EQ(next_transmission(), frames);
}

TEST(DataTransfer, an_acknowledgement_is_repeated_while_its_block_has_room) {
  constexpr Address kSelf{0x01020304};
  constexpr Address kPeer{0x01020305};
  for (const auto& [rate, copies] : {std::pair{2400u, 8u}, {600u, 1u}, {75u, 1u}}) {
    Config config{.address = kSelf};
    config.mode.rate_bps = rate;
    test::LoneStation station(config);
    station.made(kPeer);
    station.hear({pdu::Data{.common = {.eot_half_s = 1, .destination = kSelf, .source = kPeer},
                            .flags = {.start = true, .end = true},
                            .segment = Bytes(5)}});
    station.run_for(10s);
    EXPECT_EQ(station.take_sent().size(), copies) << rate;
  }
}

// C.3.10(3)-(5)
TEST(DataTransfer, a_short_expedited_c_pdu_alone_is_repeated_while_its_block_has_room) {
  constexpr Address kPeer{0x01020305};
  const auto sent_at = [&](unsigned rate) {
    Config config{.address = {0x01020304}};
    config.mode.rate_bps = rate;
    test::LoneStation station(config);
    station.request(
        {.id = {1}, .service = Service::expedited_nonarq, .destination = kPeer, .cpdu = {0x10}});
    station.run_for(30s);
    return station.take_sent();
  };
  const auto alone = sent_at(2400);
  EXPECT_EQ(alone.size(), 5u);  // 29 octets each in a block of 158
  for (const auto& dpdu : alone) {
    EXPECT_EQ(std::get<pdu::Nonarq>(dpdu).cpdu_id, std::get<pdu::Nonarq>(alone[0]).cpdu_id);
  }
  EXPECT_EQ(sent_at(75).size(), 1u);
}

TEST(DataTransfer, arq_data_without_a_connection_draws_one_warning) {
  DtsWorld world(2, {}, 4);
  world.made(0, 1);  // station 1 does not know of the link
  world.send(0, 1, 1, pattern(2000, 1));
  world.run_for(11s);  // time for the transmission and the answer
  ASSERT_EQ(world[0].warnings.size(), 1u);
  EXPECT_EQ(world[0].warnings[0].reason, 1);
  EXPECT_EQ(world[0].warnings[0].received_type, 0);
  EXPECT_TRUE(world[1].received.empty());
}

TEST(DataTransfer, an_expired_c_pdu_is_rejected_and_the_next_one_arrives) {
  DtsWorld world(2, {.frame_loss = 0.3}, 5);
  world.connect(0, 1);
  world.send(0, 1, 1, pattern(4000, 1), Service::arq, world.now() + 6s);  // expires in mid-burst
  world.send(0, 1, 2, pattern(500, 2));
  world.run_for(10min);
  ASSERT_EQ(world[0].rejected.size(), 1u);
  EXPECT_EQ(world[0].rejected[0].id, CpduId{1});
  EXPECT_EQ(world[0].rejected[0].reason, CpduFailure::expired);
  EXPECT_EQ(world[0].confirmed, std::vector{CpduId{2}});
  ASSERT_FALSE(world[1].received.empty());
  EXPECT_EQ(world[1].received.back().cpdu, pattern(500, 2));
}

// C.6.3.1(1)(2)
TEST(DataTransfer, a_peer_that_starts_anew_is_followed_after_the_link_is_made_again) {
  DtsWorld world(2, {}, 6);
  world.connect(0, 1);
  world.send(0, 1, 1, pattern(3000, 1));
  world.run_for(1min);
  world[0].dts->on_connection_terminated(world.now(), DtsWorld::address(1));
  world.connect(0, 1);  // station 1 missed the end; the new link resets it
  world.send(0, 1, 2, pattern(3000, 2));
  world.run_for(1min);
  ASSERT_EQ(world[1].received.size(), 2u);
  EXPECT_EQ(world[1].received[1].cpdu, pattern(3000, 2));
}

// C.1(1)(2), C.3.2.3(7)(8)
TEST(DataTransfer, nonarq_reaches_everybody_and_is_confirmed_when_sent) {
  DtsWorld world(4, {}, 8);
  world.request(0, {.id = {5},
                    .service = Service::nonarq,
                    .destination = Address::all_stations(),
                    .cpdu = pattern(1500, 1),
                    .repeats = 1});
  world.send(0, 1, 6, pattern(10, 2), Service::expedited_nonarq);
  world.run_for(1min);
  EXPECT_EQ(world[0].confirmed.size(), 2u);
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_GE(world[i].received.size(), 1u) << i;
    EXPECT_EQ(world[i].received[0].cpdu, pattern(1500, 1));
    EXPECT_EQ(world[i].received[0].destination, Address::all_stations());
  }
  EXPECT_EQ(world[1].received.size(), 2u);
  EXPECT_EQ(world[2].received.size(), 1u);
}

// Goal:   if any part of a C_PDU was heard, it is delivered once, and is right outside the noted
//         ranges.
// Method: copies have damaged segments, over many seeds. More copies leave less damage.
// C.1.1(3)
TEST(DataTransfer, nonarq_with_errors_is_delivered_once_and_right_outside_what_is_noted) {
  std::size_t octets_bad[2] = {};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const std::uint8_t repeats : {std::uint8_t{0}, std::uint8_t{2}}) {
      SCOPED_TRACE(seed);
      DtsWorld world(2, {.frame_loss = 0.4}, seed);
      const Bytes sent = pattern(3000, seed);
      world.request(0, {.id = {5},
                        .service = Service::nonarq,
                        .destination = Address::all_stations(),
                        .cpdu = sent,
                        .repeats = repeats});
      world.run_for(10min);
      ASSERT_EQ(world[1].received.size(), 1u);
      const CpduIndication& got = world[1].received[0];
      ASSERT_EQ(got.cpdu.size(), sent.size());
      std::vector<char> noted(sent.size(), 0);
      for (const auto* list : {&got.errored, &got.missing}) {
        for (const OctetRange& range : *list) {
          for (std::size_t i = 0; i < range.octets; ++i) noted[range.offset + i] = 1;
          octets_bad[repeats / 2] += range.octets;
        }
      }
      for (const OctetRange& range : got.missing) EXPECT_EQ(got.cpdu[range.offset], 0);
      for (std::size_t i = 0; i < sent.size(); ++i) {
        ASSERT_TRUE(noted[i] || got.cpdu[i] == sent[i]) << i;
      }
    }
  }
  EXPECT_GT(octets_bad[0], 0u);
  EXPECT_LT(octets_bad[1], octets_bad[0] / 3);
}

TEST(DataTransfer, bulk_data_does_not_keep_nonarq_data_off_the_air) {
  DtsWorld world(3, {}, 10);
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 100; ++i) world.send(0, 1, i, pattern(2000, i));
  world.send(0, 2, 1000, pattern(500, 1), Service::nonarq);
  world.run_for(150s);  // this transmission, the answer, and the next one
  EXPECT_EQ(world[2].received.size(), 1u);
}

TEST(DataTransfer, one_transmission_asks_only_one_station_for_an_answer) {
  DtsWorld world(3, {}, 11);
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 100; ++i) world.send(0, 1, i, pattern(2000, i));
  world.run_for(5s);
  world.send(0, 2, 1000, {0x10}, Service::expedited_nonarq);
  world.send(2, 0, 2000, {0x20}, Service::expedited_nonarq);  // like an answer
  world.run_for(10min);
  EXPECT_EQ(world[2].received.size(), 1u);
  EXPECT_EQ(world.medium().collisions(), 0u);
}

// Goal:   two stations with much to send to each other leave a third station its turn, again and
//         again.
TEST(DataTransfer, a_busy_two_way_peer_does_not_starve_a_third_station) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    DtsWorld world(3, {.frame_loss = 0.02}, seed, {.transmission_max = 20s});
    world.connect(0, 1);
    world.connect(0, 2);
    for (std::uint64_t i = 0; i < 200; ++i) {
      world.send(0, 1, i, pattern(2000, i));
      world.send(1, 0, i, pattern(2000, i));
    }
    for (std::uint64_t i = 0; i < 5; ++i) {
      world.run_for(1min);
      world.send(0, 2, 1000 + i, pattern(100, i));
      world.run_for(7min);
      EXPECT_EQ(world[2].received.size(), i + 1);
    }
    EXPECT_LT(world[0].confirmed.size(), 205u);  // the channel was busy all the time
    EXPECT_EQ(world[0].counters[Counter::links_lost], 0u);
    expect_clean_air(world);
  }
}

TEST(DataTransfer, a_modem_that_never_finishes_does_not_block_the_node) {
  Counters counters;
  NullTrace trace;
  Rng rng(1);
  DataTransfer dts({.address = {1}}, rng, counters, trace);
  const auto drain = [&dts] {
    while (dts.poll_action()) {
    }
  };
  const Instant start(1min);
  dts.request_cpdu(
      start, {.id = {1}, .service = Service::expedited_nonarq, .destination = {2}, .cpdu = {0x10}});
  drain();
  ASSERT_TRUE(dts.transmitting());
  const auto deadline = dts.next_deadline();
  ASSERT_TRUE(deadline);
  dts.on_deadline(*deadline - 1ns);
  drain();
  EXPECT_TRUE(dts.transmitting());
  dts.on_deadline(*deadline);
  drain();
  EXPECT_EQ(counters[Counter::modem_faults], 1u);
  dts.on_deadline(*deadline + 1min);
  drain();
  EXPECT_TRUE(dts.transmitting());  // the station tries again
}

TEST(DataTransfer, the_queue_refuses_the_octet_past_its_limit) {
  DtsWorld world(2, {.missed_sync = 1}, 9, {.link_queue_octets_max = 4000});
  world.connect(0, 1);
  world.send(0, 1, 1, pattern(3000, 1));
  world.send(0, 1, 2, pattern(1000, 2));
  EXPECT_TRUE(world[0].rejected.empty());
  world.send(0, 1, 3, pattern(1, 3));
  ASSERT_EQ(world[0].rejected.size(), 1u);
  EXPECT_EQ(world[0].rejected[0].reason, CpduFailure::queue_full);
}

// C.3.2.3(3)
TEST(DataTransfer, eight_stations_share_the_channel_without_keying_over_each_other) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    DtsWorld world(8, {.frame_loss = 0.05, .fades_per_burst = 0.2}, seed,
                   {.replies_missed_max = 1000});
    for (std::size_t i = 0; i < 8; i += 2) world.connect(i, i + 1);
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::uint64_t k = 0; k < 4; ++k) world.send(i, i ^ 1, k, pattern(800, 10 * i + k));
    }
    world.run_for(3h);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(world[i].received.size(), 4u) << i;
      EXPECT_EQ(world[i].confirmed.size(), 4u) << i;
    }
    expect_clean_air(world);
  }
}

}  // namespace
}  // namespace s5066::dts
