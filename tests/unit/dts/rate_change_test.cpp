// SPDX-License-Identifier: Apache-2.0
// These tests run the data rate change procedure between two stations (C.6.4).
#include "s5066d/dts/rate_change.h"
#include "s5066d/dts/data_rate.h"
#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

using modem::Interleaver;
constexpr modem::Mode kSlow{.rate_bps = 300, .interleaver = Interleaver::short_};
constexpr modem::Mode kFast{.rate_bps = 2400, .interleaver = Interleaver::long_};

std::vector<modem::Mode> modes_of(const DtsWorld::Station& station) {
  std::vector<modem::Mode> modes;
  for (const auto& changed : station.modes) modes.push_back(changed.mode);
  return modes;
}

// C.6.4.2(3)-(6),(18),(28),(29),(32)-(34)
TEST(RateChange, five_messages_change_the_masters_mode_and_the_slave_shows_that_it_lives) {
  DtsWorld world(3, {}, 1, {.mode = kSlow});
  world.connect(0, 1);
  world.connect(0, 2);
  ASSERT_TRUE(world.ask_for(0, 1, kFast).ok());
  EXPECT_FALSE(world.ask_for(0, 1, kSlow).ok());  // one at a time
  world.run_for(1min);
  EXPECT_EQ(modes_of(world[0]), std::vector{kFast});
  EXPECT_TRUE(world[1].modes.empty());
  EXPECT_EQ(world.medium().bursts(), 6u);  // the last is the zero-data D_PDU
  EXPECT_EQ(world[0].dts->mode_to(DtsWorld::address(1)), kFast);
  EXPECT_EQ(world[0].dts->mode_to(DtsWorld::address(2)), kSlow);
  EXPECT_EQ(world[1].dts->mode_to(DtsWorld::address(0)), kSlow);
  EXPECT_TRUE(world[0].warnings.empty() && world[1].warnings.empty());
  world.send(0, 1, 1, pattern(3000, 1));
  world.run_for(1min);
  world.send(1, 0, 2, pattern(300, 1));
  world.run_for(1min);
  EXPECT_EQ(world[1].received.size(), 1u);
  EXPECT_EQ(world[0].received.size(), 1u);
  expect_clean_air(world);
}

/// Plays a peer that agrees to our request.
void play_slave(test::LoneStation& station, Address us, Address peer, pdu::DrcReason reason) {
  const pdu::Common common{.eot_half_s = 1, .destination = us, .source = peer};
  const auto say = [&](pdu::DrcAnswer answer, pdu::DrcReason why, bool ack, std::uint8_t id) {
    pdu::Management said{.common = common, .valid = true, .ack = ack, .frame_id = id};
    said.common.eow = pdu::make_eow(pdu::EowType::drc_response, pdu::DrcResponse{answer, why});
    station.hear({said});
    station.run_for(6s);
  };
  say(pdu::DrcAnswer::accept, reason, true, 0);
  say(pdu::DrcAnswer::confirm, pdu::DrcReason::none, false, 1);
}

// C.6.4.2(8): "other" says that both directions change, if the modem of the peer needs that.
TEST(RateChange, a_peer_with_one_mode_for_both_directions_is_answered_in_its_mode) {
  constexpr Address kUs{2};
  constexpr Address kPeer{1};
  for (const bool equal : {true, false}) {
    test::LoneStation slave({.address = kUs, .mode = kSlow});
    slave.made(kPeer);
    const pdu::Common common{.eot_half_s = 1, .destination = kUs, .source = kPeer};
    pdu::Management request{.common = common, .valid = true};
    auto asked = *drc_request(kFast);
    asked.equal = equal;
    request.common.eow = pdu::make_eow(pdu::EowType::drc_request, asked);
    slave.hear({request});
    slave.run_for(3s);
    slave.hear({pdu::Management{.common = common, .ack = true, .frame_id = 1}});
    EXPECT_EQ(slave.dts().mode_to(kPeer), equal ? kFast : kSlow);

    test::LoneStation master({.address = kUs, .mode = kSlow});
    master.made(kPeer);
    ASSERT_TRUE(master.ask_for(kPeer, kFast).ok());
    master.run_for(3s);
    play_slave(master, kUs, kPeer, equal ? pdu::DrcReason::must_be_equal : pdu::DrcReason::none);
    EXPECT_EQ(master.dts().mode_to(kPeer), kFast);
    EXPECT_EQ(master.dts().transfer_state(kPeer), TransferState::idle_connected);
  }
}

pdu::AckOnly advising(Address us, Address peer, const modem::Mode& mode) {
  pdu::AckOnly ack{{.eot_half_s = 1, .destination = us, .source = peer}, {}};
  auto advice = *drc_request(mode);
  advice.advisory = true;
  ack.common.eow = pdu::make_eow(pdu::EowType::drc_request, advice);
  return ack;
}

// Goal:   a station whose transmissions are kept short goes to no mode in which they hold no frame.
// Method: the mode is requested, advised, set, and requested by a peer for both directions. Only
//         the other mode is open.
TEST(RateChange, no_mode_is_taken_in_which_a_transmission_holds_no_frame) {
  constexpr modem::Mode kTooSlow{.rate_bps = 75, .interleaver = Interleaver::short_};
  constexpr Address kUs{2};
  constexpr Address kPeer{1};
  test::LoneStation station({.address = kUs, .mode = kFast, .transmission_max = 10s});
  station.made(kPeer);
  EXPECT_EQ(station.ask_for(kPeer, kTooSlow).error().code, ErrorCode::unsupported);
  station.dts().set_data_rate(station.now(), kPeer, kTooSlow);
  station.hear({advising(kUs, kPeer, kTooSlow)});
  station.run_for(20s);
  EXPECT_EQ(station.dts().mode_to(kPeer), kFast);
  std::size_t advised = 0;
  for (const auto& action : station.take_actions()) {
    advised += std::holds_alternative<DataRateAdvised>(action);
  }
  EXPECT_EQ(advised, 1u);

  auto asked = *drc_request(kTooSlow);
  for (const bool equal : {true, false}) {
    RateChange slave({.mode = kFast, .unusable = {kTooSlow}});
    asked.equal = equal;
    ASSERT_TRUE(slave.on_message({pdu::make_eow(pdu::EowType::drc_request, asked)}));
    EXPECT_EQ(slave.step(), equal ? RateChange::Step::refusing : RateChange::Step::accepting);
  }
}

// Goal:   whatever is lost, both stations stay or both change, and data flows before and after.
// Method: many seeds with heavy loss, data both ways, and changes back and forth.
TEST(RateChange, under_loss_data_and_changes_go_on_and_the_sender_ends_in_a_mode_it_asked_for) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    DtsWorld world(2, {.frame_loss = 0.3, .missed_sync = 0.1}, seed,
                   {.mode = kSlow, .replies_missed_max = 1000, .management_repeats_max = 1000});
    world.connect(0, 1);
    for (std::uint64_t i = 0; i < 10; ++i) {
      world.send(0, 1, 100 + i, pattern(700, i));
      world.send(1, 0, 200 + i, pattern(200, 50 + i));
    }
    world.run_for(20s);
    ASSERT_TRUE(world.ask_for(0, 1, kFast).ok());
    world.run_for(1h);
    static_cast<void>(world.ask_for(0, 1, kSlow));
    static_cast<void>(world.ask_for(1, 0, kFast));  // at the same time
    world.run_for(2h);
    ASSERT_EQ(world[1].received.size(), 10u);
    ASSERT_EQ(world[0].received.size(), 10u);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(world[1].received[i].cpdu, pattern(700, i));
    EXPECT_EQ(world[0].confirmed.size(), 10u);
    EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
    ASSERT_GE(world[0].modes.size(), 1u);
    EXPECT_EQ(world[0].modes[0].mode, kFast);
    changed += world[0].modes.size() + world[1].modes.size();
    EXPECT_EQ(world[0].modes.size() + world[0].rates_refused.size() + world[1].modes.size() +
                  world[1].rates_refused.size(),
              3u);
    EXPECT_TRUE(world[0].warnings.empty() && world[1].warnings.empty());
    expect_clean_air(world);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(changed, 600u);  // of two that cross one is carried out
}

// C.6.4.2(9): this is the only way out of a procedure without an answer.
TEST(RateChange, a_peer_that_falls_silent_in_the_middle_is_lost) {
  for (const auto silent_after : {1, 2, 3, 4}) {
    SCOPED_TRACE(silent_after);
    DtsWorld world(2, {}, 3, {.mode = kSlow});
    world.connect(0, 1);
    ASSERT_TRUE(world.ask_for(0, 1, kFast).ok());
    for (int i = 0; i < 3000 && world.medium().bursts() < static_cast<unsigned>(silent_after);
         ++i) {
      world.run_for(10ms);
    }
    world.run_for(1s);  // the preamble has been heard, or not
    world.medium().set_options({.missed_sync = 1});
    world.run_for(30min);
    // A station that has heard the confirmation has finished the procedure.
    EXPECT_EQ(world[0].lost.size(), silent_after < 4 ? 1u : 0u);
    EXPECT_EQ(world[1].lost.size(), 1u);
  }
}

// C.6.4.2(28)
TEST(RateChange, a_repeated_acknowledgement_goes_in_the_old_and_the_new_mode_in_turn) {
  constexpr Address kMaster{0x01020305};
  constexpr Address kSlave{0x01020304};
  test::LoneStation station({.address = kMaster, .mode = kSlow});
  station.made(kSlave);
  ASSERT_TRUE(station.ask_for(kSlave, kFast).ok());
  station.run_for(3s);
  EXPECT_EQ(station.take_modes(), std::vector{kSlow});
  const pdu::DrcResponse accepted{pdu::DrcAnswer::accept, pdu::DrcReason::none};
  const pdu::Management accept{
      .common = {.eow = pdu::make_eow(pdu::EowType::drc_response, accepted),
                 .eot_half_s = 1,
                 .destination = kMaster,
                 .source = kSlave},
      .valid = true,
      .ack = true};
  std::vector<modem::Mode> modes;
  for (int i = 0; i < 4; ++i) {  // the slave has missed ours and repeats its own
    station.hear({accept});
    station.run_for(14s);  // covers the long preamble
    for (const modem::Mode& mode : station.take_modes()) modes.push_back(mode);
    EXPECT_EQ(station.dts().mode_to(kSlave), kFast);
  }
  ASSERT_GE(modes.size(), 4u);
  EXPECT_EQ(modes[0], kSlow);
  for (std::size_t i = 1; i < modes.size(); ++i) {
    EXPECT_EQ(modes[i], i % 2 == 1 ? kSlow : kFast) << i;
  }
}

// Goal:   advice is followed without an announcement if receivers find the mode by themselves,
//         otherwise by agreement, and not at all if there is no data rate change.
// C.6.4.2(2)
// C.6.4.2(12)
TEST(RateChange, advice_is_followed_at_once_or_by_agreement) {
  constexpr modem::Mode kUntold{.rate_bps = 2400, .interleaver = Interleaver::zero};
  constexpr Address kUs{2};
  constexpr Address kPeer{1};
  for (const modem::Mode& mode : {kFast, kUntold}) {
    for (const bool rate_change : {true, false}) {
      test::LoneStation station({.address = kUs, .mode = kSlow, .rate_change = rate_change});
      station.made(kPeer);
      station.hear({advising(kUs, kPeer, mode)});
      station.run_for(3s);
      const bool asks = rate_change && mode == kUntold;
      const auto sent = station.take_sent();
      ASSERT_EQ(sent.size(), asks ? 1u : 0u);
      if (asks) {
        EXPECT_EQ(station.dts().mode_to(kPeer), kSlow);
        EXPECT_EQ(pdu::common_of(sent[0]).eow,
                  pdu::make_eow(pdu::EowType::drc_request, *drc_request(mode)));
        play_slave(station, kUs, kPeer, pdu::DrcReason::none);
      }
      EXPECT_EQ(station.dts().mode_to(kPeer), rate_change ? mode : kSlow);
    }
  }
}

// Goal:   operators see the result of a request and of advice in the log and in the status.
// Method: the peer refuses one request and grants another. One advice changes nothing.
TEST(RateChange, what_is_refused_advised_and_changed_is_traced_and_told) {
  constexpr Address kUs{2};
  constexpr Address kPeer{1};
  test::LoneStation station({.address = kUs, .mode = kSlow});
  station.made(kPeer);
  const auto ask = [&](const modem::Mode& mode) {
    ASSERT_TRUE(station.ask_for(kPeer, mode).ok());
    station.run_for(3s);
  };
  const pdu::Common common{.eot_half_s = 1, .destination = kUs, .source = kPeer};
  ask(kFast);
  pdu::Management refusal{.common = common, .valid = true, .ack = true};
  refusal.common.eow = pdu::make_eow(
      pdu::EowType::drc_response,
      pdu::DrcResponse{pdu::DrcAnswer::refuse, pdu::DrcReason::not_consistent_with_conditions});
  station.hear({refusal});
  station.run_for(3s);
  station.hear({pdu::Management{.common = common, .ack = true, .frame_id = 1}});
  auto traced = station.traced(TraceKind::mode_refused);
  ASSERT_EQ(traced.size(), 1u);
  EXPECT_EQ(traced[0].peer, kPeer);
  EXPECT_EQ(traced[0].a, 5);
  EXPECT_EQ(station.dts().connection_status(kPeer)->refused,
            pdu::DrcReason::not_consistent_with_conditions);

  station.hear({advising(kUs, kPeer, kSlow)});
  traced = station.traced(TraceKind::mode_advised);
  ASSERT_EQ(traced.size(), 1u);
  EXPECT_EQ(traced[0].peer, kPeer);
  EXPECT_EQ(traced[0].a, 300);
  EXPECT_EQ(traced[0].b, static_cast<std::int64_t>(Interleaver::short_));
  EXPECT_EQ(station.dts().connection_status(kPeer)->advised, kSlow);
  EXPECT_EQ(station.dts().connection_status(kPeer)->mode, kSlow);

  station.hear({advising(kUs, kPeer, kFast)});
  EXPECT_EQ(station.traced(TraceKind::mode_changed).size(), 1u);
  EXPECT_EQ(station.dts().connection_status(kPeer)->mode, kFast);
  EXPECT_EQ(station.dts().connection_status(kPeer)->refused,
            std::nullopt);  // the refusal was long ago

  station.terminated(kPeer);
  station.made(kPeer);
  EXPECT_EQ(station.dts().connection_status(kPeer)->advised, std::nullopt);
}

TEST(RateChange, what_is_for_others_goes_in_the_mode_for_all_beside_bulk_data) {
  DtsWorld world(3, {}, 1, {.mode = kFast});
  world.connect(0, 1);
  world[0].dts->set_data_rate(world.now(), DtsWorld::address(1), kSlow);
  for (std::uint64_t i = 0; i < 50; ++i) world.send(0, 1, i, pattern(2000, i));
  world.send(0, 2, 1000, pattern(500, 1), Service::nonarq);
  world.run_for(5min);
  EXPECT_EQ(world[2].received.size(), 1u);
  EXPECT_GT(world[0].counters[Counter::frames_sent_new], 5u);
  expect_clean_air(world);
}

// C.6.4.2(31)
TEST(RateChange, a_refused_change_ends_with_a_d_pdu_without_data) {
  constexpr Address kUs{2};
  constexpr Address kMaster{1};
  test::LoneStation station({.address = kUs, .rate_change = false});
  station.made(kMaster);
  const pdu::Common common{.eot_half_s = 1, .destination = kUs, .source = kMaster};
  pdu::Management request{.common = common, .valid = true};
  request.common.eow = {1, 0x54};
  station.hear({request});
  station.run_for(3s);
  ASSERT_FALSE(station.take_sent().empty());
  pdu::Management cancel{.common = common, .valid = true, .ack = true, .frame_id = 1};
  cancel.common.eow = {2, 0x40};
  station.hear({cancel});
  station.run_for(10s);
  const auto sent = station.take_sent();
  ASSERT_GE(sent.size(), 2u);
  const auto& acknowledged = std::get<pdu::Management>(sent.front());
  EXPECT_TRUE(acknowledged.ack && !acknowledged.valid);
  EXPECT_EQ(std::get<pdu::AckOnly>(sent.back()).ack.rx_lwe, FrameNumber{0});
  EXPECT_EQ(station.dts().transfer_state(kMaster), TransferState::idle_connected);
}

// C.6.4.1(1)(2)
TEST(RateChange, a_new_connection_begins_in_the_mode_for_all) {
  DtsWorld world(2, {}, 1, {.mode = kSlow});
  world.connect(0, 1);
  world[0].dts->set_data_rate(world.now(), DtsWorld::address(1), kFast);
  world[0].dts->on_connection_terminated(world.now(), DtsWorld::address(1));
  world.made(0, 1);
  EXPECT_EQ(world[0].dts->mode_to(DtsWorld::address(1)), kSlow);
}

}  // namespace
}  // namespace s5066::dts
