// SPDX-License-Identifier: Apache-2.0
// These tests run the data transfer sublayer with a frequency for each of two stations
// (C.3.2.3(9)).
#include "s5066d/dts/connection.h"
#include "tests/support/seeds.h"
#include "tests/unit/dts/advised_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

class FullDuplexConnection : public ::testing::Test {
 protected:
  static Instant t(int seconds) { return Instant(std::chrono::seconds(seconds)); }
  void request(std::uint64_t id, std::size_t octets, Service service) {
    ASSERT_TRUE(ours.request({.id = {id},
                              .service = service,
                              .destination = kPeer,
                              .cpdu = pattern(octets, id),
                              .time_to_die = {}}));
  }
  std::vector<pdu::Dpdu> send_until(Instant end, bool sent = true) {
    IntervalBudget budget({}, 60s);
    BurstBuilder burst;
    ours.fill(false, budget, burst);
    ours.on_keyed(end - 5s);
    ours.on_transmitted(sent, end);
    return burst.dpdus();
  }
  Connection::Verdict expedited_ack(int lwe, Instant formed_at) {
    return ours.on_expedited_ack({.rx_lwe = {static_cast<std::uint8_t>(lwe)}, .selective = {}},
                                 formed_at);
  }
  std::vector<std::uint64_t> confirmed() {
    std::vector<std::uint64_t> ids;
    while (auto outcome = ours.poll_outcome()) {
      if (auto* confirm = std::get_if<CpduConfirm>(&*outcome)) ids.push_back(confirm->id.value);
    }
    return ids;
  }
  Counters counters;
  Connection ours{kPeer,
                  {.self = kUs,
                   .regular = {200, 128, 100000, false},
                   .expedited = {200, 128, 5000, true},
                   .held_octets_max = 100'000},
                  counters};
};

// C.6.1.2(1), C.3.7(13)
TEST_F(FullDuplexConnection, regular_data_rests_until_expedited_data_is_acknowledged) {
  request(1, 100, Service::expedited_arq);
  request(2, 100, Service::arq);
  ASSERT_EQ(send_until(t(10)).size(), 1u);
  EXPECT_FALSE(ours.has_work());
  EXPECT_TRUE(send_until(t(20)).empty());
  ours.on_data(FrameNumber{0}, {.start = true, .end = true}, {1}, true);
  EXPECT_TRUE(ours.owes_only_ack());
  for (const auto& dpdu : send_until(t(20))) {
    EXPECT_TRUE(std::holds_alternative<pdu::AckOnly>(dpdu));
  }
  EXPECT_EQ(expedited_ack(1, t(25)), Connection::Verdict::taken);
  EXPECT_TRUE(std::holds_alternative<pdu::Data>(send_until(t(30)).front()));
}

// Method: the first answer is slow. The repetition gets another answer, which is heard when the
//         next C_PDU could have been lost.
TEST_F(FullDuplexConnection, a_late_answer_to_an_expedited_c_pdu_does_not_confirm_the_next) {
  request(1, 100, Service::expedited_arq);
  request(2, 100, Service::expedited_arq);
  send_until(t(10));
  ours.on_reply_missing();
  send_until(t(30));
  EXPECT_EQ(expedited_ack(1, t(20)), Connection::Verdict::taken);
  EXPECT_EQ(confirmed(), std::vector<std::uint64_t>{1});
  ours.on_heard(t(29));
  EXPECT_FALSE(ours.has_work());  // the peer could not answer the repetition
  EXPECT_EQ(ours.expedited_rests_since(), t(30));
  ours.on_heard(t(31));
  EXPECT_EQ(expedited_ack(1, t(31)), Connection::Verdict::taken);
  EXPECT_EQ(send_until(t(40)).size(), 1u);
  EXPECT_EQ(expedited_ack(1, t(31)), Connection::Verdict::late);
  EXPECT_EQ(expedited_ack(5, t(31)), Connection::Verdict::late);
  EXPECT_EQ(confirmed(), std::vector<std::uint64_t>{});
  EXPECT_EQ(expedited_ack(5, t(41)), Connection::Verdict::unexpected);
  EXPECT_EQ(expedited_ack(1, t(41)), Connection::Verdict::taken);
  EXPECT_EQ(confirmed(), std::vector<std::uint64_t>{2});
}

// Goal:   a broken key does not cost a link.
TEST_F(FullDuplexConnection, what_was_not_sent_is_due_again_and_no_answer_to_it_is_awaited) {
  request(1, 100, Service::arq);
  EXPECT_EQ(send_until(t(10), false).size(), 1u);
  EXPECT_FALSE(ours.awaits_answer());
  EXPECT_TRUE(ours.has_work());
  EXPECT_GE(send_until(t(20)).size(), 1u);
  EXPECT_TRUE(ours.awaits_answer());
  ours.on_reply_missing();
  EXPECT_FALSE(ours.awaits_answer());  // the answer is asked for first
  EXPECT_GE(send_until(t(30), false).size(), 1u);
  EXPECT_FALSE(ours.awaits_answer());
  EXPECT_TRUE(ours.has_work());
  EXPECT_GE(send_until(t(40)).size(), 1u);
  EXPECT_TRUE(ours.awaits_answer());
}

sim::MediumOptions both_heard(sim::MediumOptions medium = {}) {
  medium.full_duplex = true;
  return medium;
}

/// Sends one message each way, so that each station knows that the other hears while it sends.
void tell_each_other(DtsWorld& world) {
  for (const std::size_t i : {0u, 1u}) {
    world.send(i, 1 - i, 900 + i, pattern(10, i), Service::nonarq);
    world.run_for(1min);
  }
  world.connect(0, 1);
  for (const std::size_t i : {0u, 1u}) ASSERT_EQ(world[i].dts->duplex(), Duplex::full);
}

pdu::AckOnly says_full_duplex(Address peer) {
  pdu::AckOnly ack{{.eot_half_s = 1, .destination = kUs, .source = peer}, {}};
  ack.common.eow = pdu::make_capability(pdu::capability::kFullDuplex);
  return ack;
}

/// Sends broadcasts that other stations hear meanwhile. They answer nothing.
void chatter(DtsWorld& world, std::size_t from, int messages) {
  for (int i = 0; i < messages; ++i) {
    world.request(from, {.id = {1000u + static_cast<std::uint64_t>(i)},
                         .service = Service::nonarq,
                         .destination = Address::all_stations(),
                         .cpdu = pattern(50, 1)});
    world.run_for(1min);
  }
}

// Goal:   silence that was ordered does not cost a link.
// Method: one transmission has left and was not heard. EMCON begins before its answer is missed.
TEST(FullDuplexTransfer, who_may_not_send_misses_no_answer) {
  DtsWorld world(2, both_heard(), 1, {.full_duplex = true});
  tell_each_other(world);
  world.medium().set_options(both_heard({.deaf = {{1, 0}}}));
  world.send(0, 1, 1, pattern(100, 1));
  while (world[0].counters[Counter::bursts_sent] == 1) world.run_for(10ms);
  world.silence(0, true);
  chatter(world, 1, 60);
  EXPECT_LE(world[0].counters[Counter::reply_timeouts], 1u);
  EXPECT_TRUE(world[0].lost.empty());
  world.medium().set_options(both_heard());
  world.silence(0, false);
  world.run_for(1h);
  EXPECT_TRUE(world[0].lost.empty());
  EXPECT_EQ(world[0].confirmed.size(), 2u);
}

// Method: EMCON aborts the first transmission, of which nothing was heard.
TEST(FullDuplexTransfer, what_emcon_cut_off_goes_out_after_it) {
  DtsWorld world(2, both_heard(), 1, {.full_duplex = true});
  tell_each_other(world);
  world.medium().set_options(both_heard({.deaf = {{1, 0}}}));
  for (std::uint64_t i = 1; i <= 4; ++i) world.send(0, 1, i, pattern(1000, i));
  world.run_for(3s);
  ASSERT_TRUE(world[0].dts->transmitting());
  world.silence(0, true);
  chatter(world, 1, 60);
  world.medium().set_options(both_heard());
  world.silence(0, false);
  world.run_for(1h);
  EXPECT_EQ(world[0].counters[Counter::reply_timeouts], 0u);
  EXPECT_EQ(world[0].confirmed.size(), 5u);
  EXPECT_TRUE(world[0].lost.empty());
}

// Method: at 75 bit/s a poll lasts longer than the time for an answer.
TEST(FullDuplexTransfer, each_answer_missed_is_that_to_one_transmission) {
  DtsWorld world(
      2, both_heard(), 1,
      {.mode = {.rate_bps = 75, .interleaver = modem::Interleaver::short_}, .full_duplex = true});
  tell_each_other(world);
  world.medium().set_options(both_heard({.deaf = {{0, 1}}}));
  const auto before = world[0].counters[Counter::bursts_sent];
  world.send(0, 1, 1, pattern(100, 1));
  world.run_for(2h);
  ASSERT_EQ(world[0].lost.size(), 1u);
  EXPECT_EQ(world[0].counters[Counter::reply_timeouts], 8u);
  EXPECT_EQ(world[0].counters[Counter::bursts_sent], before + 8);
}

// Goal:   the time for an answer to data does not run out while a type 6 is on the air. Otherwise
//         that answer would count as missed.
// Method: a change of rate is requested while an answer to data is awaited. At 75 bit/s a type 6
//         lasts longer than the time for an answer. The peer is not heard, so that each
//         transmission is one missed answer.
TEST(FullDuplexTransfer, an_answer_to_a_type_6_is_not_missed_while_that_is_sent) {
  DtsWorld world(
      2, both_heard(), 1,
      {.mode = {.rate_bps = 75, .interleaver = modem::Interleaver::short_}, .full_duplex = true});
  tell_each_other(world);
  world.medium().set_options(both_heard({.deaf = {{0, 1}}}));
  const auto before = world[0].counters[Counter::bursts_sent];
  world.send(0, 1, 1, pattern(20, 1));
  while (world[0].counters[Counter::bursts_sent] == before) world.run_for(10ms);
  ASSERT_TRUE(world.ask_for(0, 1, {.rate_bps = 150, .interleaver = modem::Interleaver::short_}));
  while (world[0].lost.empty() && world.now() < Instant(1h)) world.run_for(100ms);
  EXPECT_EQ(
      world[0].counters[Counter::reply_timeouts] + 1,
      world[0].counters[Counter::bursts_sent] - before);  // the one with the data was never polled
}

// Goal:   an answer that comes while its question is still on the air counts.
// Method: data that lasts for a quarter of a minute follows a type 6 or a type 3.
TEST(FullDuplexTransfer, an_answer_counts_that_is_heard_while_we_send) {
  for (const bool managed : {true, false}) {
    SCOPED_TRACE(managed);
    DtsWorld world(2, both_heard({.latency = 50ms}), 1,
                   {.mode = {.rate_bps = 300, .interleaver = modem::Interleaver::short_},
                    .full_duplex = true});
    tell_each_other(world);
    world[0].dts->on_connection_terminated(world.now(), DtsWorld::address(1));
    world[0].dts->gather(world.now(), true);
    world.made(0, 1, !managed);
    world.request(0, {.id = {7},
                      .service = managed ? Service::expedited_nonarq : Service::nonarq,
                      .destination = DtsWorld::address(1),
                      .cpdu = pattern(managed ? 1000 : 3000, 7)});
    if (managed) {
      const modem::Mode faster{.rate_bps = 600, .interleaver = modem::Interleaver::short_};
      ASSERT_TRUE(world.ask_for(0, 1, faster));
    }
    world[0].dts->gather(world.now(), false);
    world.send(0, 1, 1, pattern(100, 1));
    world.run_for(10min);
    EXPECT_EQ(world[0].confirmed.size(), 3u);
    for (const std::size_t i : {0u, 1u}) {
      EXPECT_EQ(world[i].counters[Counter::reply_timeouts], 0u);
      EXPECT_EQ(world[i].counters[Counter::managements_repeated], 0u);
    }
    EXPECT_EQ(world[0].modes.size(), managed ? 1u : 0u);
  }
}

// Goal:   the end of a C_PDU is acknowledged at once, whatever else is heard and sent.
// Method: there is much to send one way on a channel without losses, and then also short broadcasts
//         the other way. No answer may be missed.
TEST(FullDuplexTransfer, no_acknowledgement_is_late) {
  for (const bool beside : {false, true}) {
    SCOPED_TRACE(beside);
    DtsWorld world(2, both_heard({.latency = 50ms}), 1,
                   {.mode = {.rate_bps = 1200, .interleaver = modem::Interleaver::short_},
                    .full_duplex = true});
    world.connect(0, 1);
    for (std::uint64_t i = 1; i <= 360; ++i) {
      world.send(0, 1, i, pattern(1400, i));
      if (beside) {
        world.request(1, {.id = {i},
                          .service = Service::nonarq,
                          .destination = Address::all_stations(),
                          .cpdu = pattern(100, i)});
      }
      world.run_for(10s);
    }
    world.run_for(10min);
    EXPECT_EQ(world[0].confirmed.size(), 360u);
    EXPECT_EQ(world[0].counters[Counter::reply_timeouts], 0u);
    EXPECT_EQ(world[0].counters[Counter::frames_sent_again], 0u);
  }
}

// Goal:   an answer counts for the mode of the transmission that it answers, not for a later mode.
// Method: one frame goes at 300 bit/s and the next at 2400. An answer to the first is heard right
//         after the second, and nothing more. A station falls back from a mode that was not
//         answered to one that was.
TEST(FullDuplexTransfer, an_answer_speaks_for_the_mode_of_what_it_answers) {
  Config config = adapting();
  config.full_duplex = true;
  auto station = with_adapting_peer(config);
  station.hear({says_full_duplex(kPeer)});
  ASSERT_EQ(station.dts().duplex(), Duplex::full);
  const auto sent = [&station] { return station.counters()[Counter::bursts_sent]; };
  const auto send = [&](std::uint64_t id) {
    const auto before = sent();
    station.request({.id = {id},
                     .service = Service::arq,
                     .destination = kPeer,
                     .cpdu = pattern(50, id),
                     .time_to_die = {}});
    while (sent() == before) station.run_for(1ms);
  };
  send(1);
  station.dts().set_data_rate(station.now(), kPeer,
                              {.rate_bps = 2400, .interleaver = Interleaver::short_});
  send(2);
  station.hear({pdu::AckOnly{{.destination = kUs, .source = kPeer}, {.rx_lwe = {1}}}});
  EXPECT_EQ(station.take_modes().back().rate_bps, 2400u);
  std::vector<modem::Mode> polls;
  while (polls.size() < 2) {
    station.run_for(1s);
    for (const auto& mode : station.take_modes()) polls.push_back(mode);
  }
  EXPECT_EQ(polls[0].rate_bps, 1200u);
  EXPECT_EQ(polls[1], kSlow);
}

/// Makes a station with a link to a peer from which it has heard nothing.
test::LoneStation hearing_while_sending() {
  test::LoneStation station({.address = kUs, .mode = kSlow, .full_duplex = true});
  station.run_for(10s);
  station.made(kPeer);
  return station;
}

// C.5.4(1)(2)
TEST(FullDuplexAgreed, only_with_a_peer_that_says_so) {
  auto station = hearing_while_sending();
  EXPECT_EQ(station.dts().duplex(), Duplex::untold);
  pdu::AckOnly silent{{.eot_half_s = 1, .destination = kUs, .source = kPeer}, {}};
  station.hear({silent});
  EXPECT_EQ(station.dts().duplex(), Duplex::peer_is_half);
  station.hear({says_full_duplex(kPeer)});
  EXPECT_EQ(station.dts().duplex(), Duplex::full);
  silent.common.eow = pdu::make_capability(pdu::capability::kDrc);
  station.hear({silent});
  EXPECT_EQ(station.dts().duplex(), Duplex::peer_is_half);
  station.hear({says_full_duplex(kPeer)});
  station.terminated(kPeer);
  EXPECT_EQ(station.dts().duplex(), Duplex::no_link);
}

/// Returns the duplex state that our answers to the peer's data announce. They take turns with our
/// offers.
std::optional<bool> told_full_duplex(test::LoneStation& station, std::uint8_t& number) {
  std::optional<bool> told;
  station.take_sent();
  for (int i = 0; i < 3 && !told; ++i) {
    station.hear({data_from(kPeer, number++)});
    station.run_for(20s);
    for (const auto& dpdu : station.take_sent()) {
      const pdu::Eow eow = pdu::common_of(dpdu).eow;
      if (eow.type != static_cast<std::uint8_t>(pdu::EowType::capability)) continue;
      told = (eow.contents & pdu::capability::kFullDuplex) != 0;
    }
  }
  return told;
}

// Method: a D_PDU for another station is overheard once.
TEST(FullDuplexAgreed, not_for_half_an_hour_after_a_third_station_was_heard_and_the_peer_is_told) {
  auto station = hearing_while_sending();
  std::uint8_t number = 0;
  station.hear({says_full_duplex(kPeer)});
  EXPECT_EQ(told_full_duplex(station, number), true);
  pdu::AckOnly other{{.eot_half_s = 1, .destination = kPeer, .source = Address{77}}, {}};
  station.hear({other});
  EXPECT_EQ(station.dts().duplex(), Duplex::third_station);
  EXPECT_EQ(told_full_duplex(station, number), false);
  station.run_for(30min);
  EXPECT_EQ(told_full_duplex(station, number), true);
  EXPECT_EQ(station.dts().duplex(), Duplex::full);
}

// C.3.2.3(9)
// Goal:   where stations take turns, the end of a transmission is announced, and observed.
TEST(FullDuplexAgreed, without_it_an_end_is_told_and_waited_for) {
  auto station = hearing_while_sending();
  const auto request = [&station](std::uint64_t id) {
    station.request({.id = {id},
                     .service = Service::arq,
                     .destination = kPeer,
                     .cpdu = pattern(50, id),
                     .time_to_die = {}});
  };
  request(1);
  station.run_for(10s);
  for (const auto& dpdu : station.take_sent()) EXPECT_GT(pdu::common_of(dpdu).eot_half_s, 0);
  pdu::AckOnly ack{{.eot_half_s = 40, .destination = kUs, .source = kPeer}, {.rx_lwe = {1}}};
  station.hear({ack});
  request(2);
  station.run_for(15s);
  EXPECT_TRUE(station.take_sent().empty());
  station.run_for(30s);
  EXPECT_FALSE(station.take_sent().empty());
  ack = says_full_duplex(kPeer);
  ack.ack.rx_lwe = {2};
  station.hear({ack});
  station.take_sent();
  request(3);
  station.run_for(10s);
  const auto sent = station.take_sent();
  ASSERT_FALSE(sent.empty());
  for (const auto& dpdu : sent) EXPECT_EQ(pdu::common_of(dpdu).eot_half_s, 0);
}

// Goal:   every expedited and regular C_PDU arrives once, each kind in order, both ways, and none
//         is confirmed that did not arrive.
// Method: loss, missed transmissions and fades. Requests of both kinds come at random times.
TEST(FullDuplexTransfer, under_loss_both_kinds_arrive_once_and_in_order_in_both_directions) {
  for (const sim::Seed seed : sim::thinned_seeds(500)) {
    SCOPED_TRACE(seed);
    DtsWorld world(2, both_heard({.frame_loss = 0.2, .missed_sync = 0.05, .fades_per_burst = 0.1}),
                   seed, {.replies_missed_max = 1000, .full_duplex = true});
    expect_both_kinds_once_and_in_order(world, seed, 10);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace s5066::dts
