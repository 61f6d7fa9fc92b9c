// SPDX-License-Identifier: Apache-2.0
// These tests cover reset and window resynchronisation: type 3 (C.3.6, C.6.3, C.6.5).
#include "s5066d/dts/resync.h"
#include "s5066d/dts/connection.h"
#include "s5066d/dts/window_verification.h"
#include "tests/support/lone_station.h"
#include "tests/support/seeds.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

std::vector<pdu::Reset> fill(Resync& resync, std::uint8_t tx_lwe = 0) {
  IntervalBudget budget({}, 10s);
  BurstBuilder burst;
  resync.fill({}, {tx_lwe}, budget, burst);
  resync.on_transmitted(true);
  std::vector<pdu::Reset> out;
  for (const auto& dpdu : burst.dpdus()) out.push_back(std::get<pdu::Reset>(dpdu));
  return out;
}

// C.3.6(7), C.3.6(18)(19), C.6.5(1)-(5), C.6.5(6)-(14), C.6.5(15)-(18)
TEST(Resync, a_full_reset_asks_with_all_else_zero_and_is_answered_by_zeros) {
  Resync ours;
  Resync theirs;
  ours.start(Resync::Kind::full);
  const auto command = fill(ours, 77);
  ASSERT_FALSE(command.empty());
  EXPECT_EQ(command[0], (pdu::Reset{.common = {}, .full_reset = true, .frame_id = 1}));
  EXPECT_TRUE(theirs.on_reset(command[0]).restart_all);
  EXPECT_FALSE(theirs.open());
  const auto answer = fill(theirs);
  ASSERT_FALSE(answer.empty());
  EXPECT_EQ(answer[0], (pdu::Reset{.common = {}, .ack = true}));
  const auto effects = ours.on_reset(answer[0]);
  EXPECT_TRUE(effects.restart_all);
  EXPECT_TRUE(effects.answered);
  EXPECT_FALSE(ours.open());
}

// C.3.6(3)(4), C.3.6(20)(21)
TEST(Resync, a_copy_of_a_command_is_acknowledged_and_not_executed_again_until_data_came) {
  Resync resync;
  const pdu::Reset command{.common = {}, .full_reset = true, .frame_id = 9};
  EXPECT_TRUE(resync.on_reset(command).restart_all);
  fill(resync);
  EXPECT_FALSE(resync.on_reset(command).restart_all);
  EXPECT_TRUE(resync.answer_owed());
  resync.on_data();
  EXPECT_TRUE(resync.on_reset(command).restart_all);
}

// C.3.6(10)-(16), C.3.6(17)
TEST(Resync, a_window_command_sets_rx_lwe_and_is_acknowledged) {
  Resync ours;
  Resync theirs;
  ours.start(Resync::Kind::rx_window);
  const auto command = fill(ours, 42);
  EXPECT_TRUE(command[0].rx_window_command);
  EXPECT_EQ(command[0].new_rx_lwe, FrameNumber{42});
  const auto effects = theirs.on_reset(command[0]);
  EXPECT_EQ(effects.restart_rx, FrameNumber{42});
  EXPECT_FALSE(effects.restart_all);
  const auto answer = fill(theirs);
  EXPECT_TRUE(answer[0].ack);
  EXPECT_FALSE(answer[0].rx_window_command);
  EXPECT_TRUE(ours.on_reset(answer[0]).answered);
}

// C.3.6(8)(9)
TEST(Resync, a_request_is_answered_by_the_command_which_is_then_acknowledged) {
  Resync ours;
  Resync theirs;
  ours.start(Resync::Kind::tx_window);
  const auto request = fill(ours);
  EXPECT_TRUE(request[0].tx_window_request);
  EXPECT_TRUE(theirs.on_reset(request[0]).restart_tx);
  const auto command = fill(theirs, 17);
  EXPECT_TRUE(command[0].rx_window_command);
  EXPECT_TRUE(command[0].ack);
  const auto effects = ours.on_reset(command[0]);
  EXPECT_EQ(effects.restart_rx, FrameNumber{17});
  EXPECT_TRUE(effects.answered);
  EXPECT_TRUE(theirs.on_reset(fill(ours)[0]).answered);
  EXPECT_FALSE(ours.open() || theirs.open());
}

TEST(Resync, two_full_resets_that_cross_end_both) {
  Resync a;
  Resync b;
  a.start(Resync::Kind::full);
  b.start(Resync::Kind::full);
  const auto from_a = fill(a);
  const auto from_b = fill(b);
  EXPECT_TRUE(a.on_reset(from_b[0]).restart_all);
  EXPECT_TRUE(b.on_reset(from_a[0]).restart_all);
  EXPECT_FALSE(a.open() || b.open());
  EXPECT_FALSE(a.on_reset(fill(b)[0]).restart_all);
}

TEST(Resync, a_transmission_that_did_not_leave_is_no_try_and_keeps_the_answer_owed) {
  Resync resync;
  resync.on_reset({.common = {}, .rx_window_command = true, .frame_id = 1});
  resync.start(Resync::Kind::full);
  IntervalBudget budget({}, 10s);
  BurstBuilder burst;
  resync.fill({}, {0}, budget, burst);
  resync.on_transmitted(false);
  EXPECT_EQ(resync.tries(), 0u);
  EXPECT_TRUE(resync.answer_owed());
}

/// Station 1 forgets its windows while station 0 is at frame 130 of its own.
void make_them_disagree(DtsWorld& world) {
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 130; ++i) world.send(0, 1, i, pattern(10, i));
  world.run_for(5min);
  ASSERT_EQ(world[1].received.size(), 130u);
  world[1].received.clear();
  world[1].dts->on_connection_terminated(world.now(), DtsWorld::address(0));
  world.made(1, 0);
}

// C.3.6(1)(2), C.6.3.2(1)
TEST(ResyncTransfer, peers_that_disagree_about_the_windows_agree_again_and_lose_nothing) {
  DtsWorld world(2, {}, 7, {.segment_octets = 400});
  make_them_disagree(world);
  for (std::uint64_t i = 0; i < 10; ++i) world.send(0, 1, 1000 + i, pattern(900, i));
  for (std::uint64_t i = 0; i < 10; ++i) world.send(1, 0, 2000 + i, pattern(900, i));
  world.run_for(10min);
  EXPECT_TRUE(world[0].lost.empty());
  EXPECT_EQ(world[0].confirmed.size(), 140u);
  EXPECT_EQ(world[1].confirmed.size(), 10u);
  ASSERT_EQ(world[1].received.size(), 10u);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(world[1].received[i].cpdu, pattern(900, i));
  EXPECT_GE(world[0].counters[Counter::windows_resynced], 1u);
  expect_clean_air(world);
}

// C.6.3.2(1)
TEST(WindowVerification, what_fits_hides_nothing_unless_it_tells_something_new) {
  WindowVerification windows;
  const auto heard = [&](bool disagrees, bool fits, bool moved) {
    if (disagrees) windows.on_disagrees();
    if (fits) windows.on_fits(moved);
    windows.on_heard_over();
    return windows.in_a_row();
  };
  EXPECT_EQ(heard(true, false, false), 1u);
  EXPECT_EQ(heard(false, false, false), 1u);  // a transmission without this direction
  EXPECT_EQ(heard(true, true, false), 2u);
  EXPECT_TRUE(windows.disagrees());
  EXPECT_EQ(heard(true, true, true), 0u);
  EXPECT_FALSE(windows.disagrees());
  EXPECT_EQ(heard(true, false, false), 1u);
  EXPECT_EQ(heard(false, true, false), 0u);
  EXPECT_EQ(windows.mend(), 0u);
  EXPECT_EQ(windows.mend(), 1u);
  windows.restart();
  EXPECT_EQ(windows.mend(), 2u);
  heard(false, true, false);  // a copy after each reset mends nothing
  EXPECT_EQ(windows.mend(), 3u);
  heard(false, true, true);
  EXPECT_EQ(windows.mend(), 0u);
}

enum class Wrong : std::uint8_t { acknowledgements, data };

/// Counts the transmissions of a peer whose acknowledgements or data are never right, until we send
/// type 3.
int heard_before_reset(Wrong wrong, bool other_way_goes_on) {
  const Address us{0x01020305};
  const Address peer{0x01020304};
  const pdu::Common common{.eow = {}, .eot_half_s = 1, .destination = us, .source = peer};
  test::LoneStation station({.address = us});
  station.made(peer);
  // Frame 1 leaves a gap at 0, so that some numbers are outside the window.
  if (wrong == Wrong::data)
    station.hear({pdu::Data{common, {.start = true, .end = true}, {1}, {}}});
  for (std::uint64_t i = 0; i < 60; ++i) {
    station.request({.id = {i}, .service = Service::arq, .destination = peer, .cpdu = Bytes(400)});
  }
  std::uint8_t next = 0;  // the number that we would send
  for (int heard = 0; heard < 20; ++heard) {
    std::vector<pdu::Dpdu> sent;
    for (int tries = 0; tries < 600 && sent.empty(); ++tries) {
      station.run_for(200ms);
      sent = station.take_sent();
    }
    for (const auto& dpdu : sent) {
      if (std::holds_alternative<pdu::Reset>(dpdu)) return heard;
      if (const auto* data = std::get_if<pdu::Data>(&dpdu)) next = data->number.value + 1;
      if (const auto* data = std::get_if<pdu::DataAck>(&dpdu)) next = data->number.value + 1;
    }
    const pdu::DataFlags whole{.start = true, .end = true};
    const pdu::DataFlags last{.start = true, .end = true, .uwe = true};
    std::vector<pdu::Dpdu> said;
    if (wrong == Wrong::acknowledgements) {
      said.emplace_back(pdu::AckOnly{common, {{200}, {}}});
      const FrameNumber number{static_cast<std::uint8_t>(heard)};
      if (other_way_goes_on) said.emplace_back(pdu::Data{common, whole, number, {}});
    } else {
      said.emplace_back(pdu::Data{common, last, {131}, {}});
      if (other_way_goes_on) said.emplace_back(pdu::AckOnly{common, {{next}, {}}});
    }
    station.hear(said);
  }
  return -1;
}

// C.6.3.2(1)
TEST(ResyncTransfer, windows_are_made_to_agree_as_soon_whatever_goes_the_other_way) {
  for (const bool other_way_goes_on : {false, true}) {
    SCOPED_TRACE(other_way_goes_on);
    EXPECT_EQ(heard_before_reset(Wrong::acknowledgements, other_way_goes_on), 3);
    EXPECT_EQ(heard_before_reset(Wrong::data, other_way_goes_on), 3);
  }
}

/// Returns the answer to type 3 of a peer that does what it is asked.
std::optional<pdu::Reset> answer_to(const std::vector<pdu::Dpdu>& sent, pdu::Common common) {
  for (const auto& dpdu : sent) {
    const auto* reset = std::get_if<pdu::Reset>(&dpdu);
    if (!reset) continue;
    if (!reset->tx_window_request) return pdu::Reset{.common = common, .ack = true};
    return pdu::Reset{.common = common, .rx_window_command = true, .ack = true, .frame_id = 1};
  }
  return std::nullopt;
}

/// Returns the number of the first frame of type 0.
std::optional<FrameNumber> first_frame(const std::vector<pdu::Dpdu>& sent) {
  for (const auto& dpdu : sent) {
    if (const auto* data = std::get_if<pdu::Data>(&dpdu)) return data->number;
  }
  return std::nullopt;
}

/// Plays a peer that answers every reset. With `once_right` its numbers are right once after each
/// reset, but they acknowledge nothing new.
void expect_given_up(bool once_right) {
  SCOPED_TRACE(once_right);
  const Address us{0x01020305};
  const Address peer{0x01020304};
  const pdu::Common common{.eow = {}, .eot_half_s = 1, .destination = us, .source = peer};
  test::LoneStation station({.address = us, .resyncs_max = 4});
  station.made(peer);
  for (std::uint64_t i = 0; i < 60; ++i) {
    station.request({.id = {i}, .service = Service::arq, .destination = peer, .cpdu = Bytes(400)});
  }
  std::size_t lost = 0;
  std::size_t rejected = 0;
  int resets_answered = 0;
  bool first_behind_reset = false;
  for (int heard = 0; heard < 100 && lost == 0; ++heard) {
    std::vector<pdu::Dpdu> sent;
    for (int tries = 0; tries < 600 && sent.empty(); ++tries) {
      station.run_for(200ms);
      sent = station.take_sent();
    }
    ASSERT_FALSE(sent.empty());
    if (const auto answer = answer_to(sent, common)) {
      ++resets_answered;
      station.hear({*answer});
      first_behind_reset = true;
    } else {
      const auto number = first_frame(sent);
      ASSERT_TRUE(number);
      const bool right = once_right && std::exchange(first_behind_reset, false);
      const FrameNumber wrong{static_cast<std::uint8_t>(number->value + 190)};
      station.hear({pdu::AckOnly{common, {right ? *number : wrong, {}}}});
    }
    for (const auto& action : station.take_actions()) {
      if (std::holds_alternative<ConnectionLost>(action)) ++lost;
      if (std::holds_alternative<CpduRejected>(action)) ++rejected;
    }
  }
  EXPECT_EQ(lost, 1u);
  EXPECT_EQ(rejected, 60u);
  EXPECT_EQ(resets_answered, 4);
  EXPECT_EQ(station.counters()[Counter::windows_resynced], 4u);
}

// C.6.3.2(1)
TEST(ResyncTransfer, a_peer_that_answers_every_reset_and_never_agrees_is_given_up) {
  expect_given_up(false);
  expect_given_up(true);
}

// C.6.3.2(1)
TEST(ResyncTransfer, an_acknowledgement_of_nothing_begins_no_reset) {
  const Address us{0x01020305};
  const Address peer{0x01020304};
  const pdu::Common common{.eow = {}, .eot_half_s = 1, .destination = us, .source = peer};
  test::LoneStation station({.address = us});
  station.made(peer);
  for (int heard = 0; heard < 30; ++heard) {
    station.hear({pdu::AckOnly{common, {{200}, {}}}});
    station.run_for(1min);
    for (const auto& dpdu : station.take_sent()) {
      EXPECT_FALSE(std::holds_alternative<pdu::Reset>(dpdu));
    }
    for (const auto& action : station.take_actions()) {
      EXPECT_FALSE(std::holds_alternative<ConnectionLost>(action));
    }
  }
  EXPECT_EQ(station.counters()[Counter::windows_resynced], 0u);
}

// C.6.3.2(1)
TEST(ResyncTransfer, peers_that_disagree_with_much_to_send_both_ways_lose_nothing) {
  DtsWorld world(2, {}, 7, {.segment_octets = 400});
  make_them_disagree(world);
  for (std::uint64_t i = 0; i < 300; ++i) {
    world.send(0, 1, 1000 + i, pattern(900, i));
    world.send(1, 0, 5000 + i, pattern(900, 1000 + i));
  }
  world.run_for(2h);
  for (const std::size_t at : {0, 1}) {
    SCOPED_TRACE(at);
    EXPECT_TRUE(world[at].lost.empty());
    EXPECT_TRUE(world[at].rejected.empty());
    ASSERT_EQ(world[at].received.size(), 300u);
    for (std::uint64_t i = 0; i < 300; ++i) {
      EXPECT_EQ(world[at].received[i].cpdu, pattern(900, at == 0 ? 1000 + i : i));
    }
  }
  EXPECT_EQ(world[0].confirmed.size(), 130u + 300u);
  EXPECT_EQ(world[1].confirmed.size(), 300u);
  expect_clean_air(world);
}

// Goal:   if a window turns out to be another one, the stations agree again. All arrives in order,
//         some of it twice.
// Method: either station forgets its windows at a random moment, on a channel with losses.
TEST(ResyncTransfer, under_loss_a_forgotten_window_costs_nothing_but_time) {
  for (const sim::Seed seed : sim::thinned_seeds(300)) {
    SCOPED_TRACE(seed);
    DtsWorld world(2, {.frame_loss = 0.2, .missed_sync = 0.05}, seed,
                   {.replies_missed_max = 1000, .resets_missed_max = 1000});
    Rng rng(seed);
    world.connect(0, 1);
    // The numbers are further back than frames can be out, because the old window would otherwise
    // pass for the new one.
    const std::uint64_t before = 70 + rng.below(58);
    for (std::uint64_t i = 0; i < before; ++i) world.send(0, 1, i, pattern(5, i));
    world.run_for(20min);
    const std::size_t forgets = rng.below(2);
    world[forgets].dts->on_connection_terminated(world.now(), DtsWorld::address(1 - forgets));
    world.made(forgets, 1 - forgets);
    world[1].received.clear();
    world[0].confirmed.clear();
    for (std::uint64_t i = 0; i < 20; ++i) world.send(0, 1, 1000 + i, pattern(900, i));
    world.run_for(2h);
    EXPECT_EQ(world[0].confirmed.size(), 20u);
    EXPECT_TRUE(world[0].lost.empty());
    std::vector<Bytes> got;
    for (const auto& indication : world[1].received) {
      if (std::find(got.begin(), got.end(), indication.cpdu) == got.end()) {
        got.push_back(indication.cpdu);
      }
    }
    ASSERT_EQ(got.size(), 20u);
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(got[i], pattern(900, i));
    expect_clean_air(world);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Station 0 has sent 20 C_PDUs of each kind and begins anew without telling station 1.
void begin_anew(DtsWorld& world) {
  for (const std::size_t i : {0, 1}) {
    world[i].dts->on_connection_made(world.now(), DtsWorld::address(1 - i), true);
  }
  for (std::uint64_t i = 0; i < 20; ++i) {
    world.send(0, 1, i, pattern(50, i), i % 2 == 0 ? Service::arq : Service::expedited_arq);
  }
  world.run_for(10min);
  ASSERT_EQ(world[1].received.size(), 20u);
  ASSERT_EQ(world[0].confirmed.size(), 20u);
  world[1].received.clear();
  world[0].confirmed.clear();
  world[0].dts->on_connection_terminated(world.now(), DtsWorld::address(1));
  world[0].dts->on_connection_made(world.now(), DtsWorld::address(1), true);
}

// C.6.3.1(2)
TEST(ResyncTransfer, a_connection_begun_with_a_reset_delivers_all_it_confirms) {
  for (const Service service : {Service::arq, Service::expedited_arq}) {
    for (const std::uint64_t count : {1, 9, 10, 11, 16, 17, 30}) {
      SCOPED_TRACE(count);
      DtsWorld world(2, {}, 7);
      begin_anew(world);
      for (std::uint64_t i = 0; i < count; ++i) {
        world.send(0, 1, 1000 + i, pattern(60, 100 + i), service);
      }
      world.run_for(30min);
      EXPECT_EQ(world[0].confirmed.size(), count);
      ASSERT_EQ(world[1].received.size(), count);
      for (std::uint64_t i = 0; i < count; ++i) {
        EXPECT_EQ(world[1].received[i].cpdu, pattern(60, 100 + i));
      }
      expect_clean_air(world);
    }
  }
}

// C.3.6(5)
TEST(ResyncTransfer, no_data_goes_before_the_opening_reset_is_acknowledged) {
  Counters counters;
  const Address us{1};
  const Address peer{2};
  const Connection::Config config{.self = us,
                                  .regular = {200, 128, 100000, false},
                                  .expedited = {200, 128, 5000, true},
                                  .out_of_sync_max = 3,
                                  .resyncs_max = 4,
                                  .resets_missed_max = 3,
                                  .held_octets_max = 100'000};
  Connection ours(peer, config, counters);
  ours.begin_with_reset();
  for (const Service service : {Service::arq, Service::expedited_arq}) {
    ASSERT_TRUE(ours.request({.id = {service == Service::arq ? 1u : 2u},
                              .service = service,
                              .destination = peer,
                              .cpdu = pattern(10, 1)}));
  }
  const auto sent = [&ours] {
    IntervalBudget budget({}, 10s);
    BurstBuilder burst;
    ours.fill(false, budget, burst);
    ours.on_transmitted(true);
    return burst.dpdus();
  };
  for (int i = 0; i < 2; ++i) {
    for (const auto& dpdu : sent()) EXPECT_TRUE(std::get<pdu::Reset>(dpdu).full_reset);
  }
  EXPECT_EQ(ours.on_reset({.common = {}, .ack = true}), Connection::Verdict::taken);
  EXPECT_TRUE(std::holds_alternative<pdu::ExpeditedData>(sent().front()));
}

TEST(ResyncTransfer, a_peer_that_never_answers_a_reset_is_given_up) {
  DtsWorld world(2, {}, 7);
  make_them_disagree(world);
  world.send(0, 1, 1000, pattern(10, 1));
  // Station 1 finds the frames outside its window and asks. From then on no station hears anything.
  for (int i = 0; i < 60000 && world[1].counters[Counter::windows_resynced] == 0; ++i) {
    world.run_for(10ms);
  }
  ASSERT_EQ(world[1].counters[Counter::windows_resynced], 1u);
  world.medium().set_options({.missed_sync = 1});
  world.run_for(30min);
  EXPECT_EQ(world[1].lost, std::vector{DtsWorld::address(0)});
  EXPECT_EQ(world[1].counters[Counter::reply_timeouts], 3u);
  EXPECT_EQ(world[0].rejected.size(), 1u);
}

}  // namespace
}  // namespace s5066::dts
