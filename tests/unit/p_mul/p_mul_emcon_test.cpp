// SPDX-License-Identifier: Apache-2.0
// P_MUL runs in EMCON, our own or that of other nodes, and where no node acknowledges at all.
#include <algorithm>

#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

// PM-055
TEST(PMulEmcon, a_silent_receiver_collects_and_says_it_all_when_it_may_speak) {
  Station alpha(kSender, [](auto& config) { config.sender.silent = {{2}}; });
  Station bravo({2});
  bravo.core->on_own_silence(bravo.now, true);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
  ASSERT_TRUE(alpha.submit(8, {{2}}, 250).ok());
  std::size_t n = 0;
  for (const Bytes& pdu : alpha.pdus()) {
    if (++n != 2) bravo.hear(pdu);
  }
  bravo.advance(at(1h));
  EXPECT_EQ(bravo.received.size(), 1u);
  EXPECT_TRUE(bravo.pdus().empty());
  bravo.core->on_own_silence(bravo.now, false);
  bravo.advance(at(1h + 10min));
  const auto acks = bravo.pdus();
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(only<AckPdu>(acks).at(0).entries.size(), 2u);
  alpha.advance(at(1h + 10min));
  alpha.pdus();
  alpha.hear(acks[0]);
  EXPECT_EQ(alpha.ended.size(), 1u);
}

// PM-008, PM-053, PM-055: the transmitter gets all acknowledgements at once, after a random wait.
TEST(PMulEmcon, after_silence_all_for_one_transmitter_has_one_turn) {
  Station bravo({2});
  bravo.core->on_own_silence(bravo.now, true);
  for (const std::uint32_t source : {1u, 3u}) {
    for (std::uint32_t id = 1; id <= 5; ++id) {
      bravo.hear(encode(AddressPdu{.name = {{source}, id},
                                   .total = 2,
                                   .expiry = {kUtc.value + 86400},
                                   .destinations = {{{2}, id}}}));
    }
  }
  bravo.advance(at(1h));
  bravo.core->on_own_silence(bravo.now, false);
  std::vector<Instant> turns;
  while (turns.size() < 2) {
    bravo.advance(*bravo.core->next_deadline());
    for (const AckPdu& ack : only<AckPdu>(bravo.pdus())) {
      EXPECT_EQ(ack.entries.size(), 5u);
      turns.push_back(bravo.now);
    }
  }
  EXPECT_GT(turns[0], at(1h));
  EXPECT_NE(turns[0], turns[1]);
}

// PM-055: nothing is sent during silence about messages from before a restart. All of it is sent
// afterwards.
TEST(PMulEmcon, who_is_restarted_in_silence_acknowledges_afterwards_what_the_spool_knows) {
  Station bravo({2}), charlie({2});
  bravo.core->on_own_silence(bravo.now, true);
  for (Station* station : {&bravo, &charlie}) {
    station->core->on_known(station->now, {kSender, 7}, {kUtc.value + 3600});
  }
  bravo.advance(at(10min));
  EXPECT_TRUE(bravo.pdus().empty());
  bravo.core->on_own_silence(bravo.now, false);
  charlie.core->on_own_silence(charlie.now, false);
  bravo.advance(at(20min));
  charlie.advance(at(20min));
  const auto acks = only<AckPdu>(bravo.pdus());
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].entries.at(0), (AckEntry{.name = {kSender, 7}}));
  EXPECT_TRUE(charlie.pdus().empty());  // sent before the restart, or asked for later
  bravo.hear(encode(DiscardPdu{.name = {kSender, 7}}));
  bravo.advance(at(2h));
  EXPECT_TRUE(bravo.pdus().empty());
}

// PM-055: the node may report the silence only after the spool has reported what it knows.
TEST(PMulEmcon, who_hears_of_the_silence_after_a_restart_acknowledges_all_the_same) {
  Station bravo({2});
  for (const std::uint32_t number : {7u, 8u, 9u, 10u}) {
    const std::int64_t life = number == 10 ? 60 : 3600;
    bravo.core->on_known(bravo.now, {kSender, number}, {kUtc.value + life});
  }
  bravo.advance(at(1min));
  EXPECT_TRUE(bravo.pdus().empty());
  bravo.core->on_own_silence(bravo.now, true);  // a modem did not work
  bravo.core->on_own_silence(bravo.now, false, false);
  bravo.hear(encode(DiscardPdu{.name = {kSender, 8}}));
  bravo.advance(at(10min));
  EXPECT_TRUE(bravo.pdus().empty());
  bravo.core->on_own_silence(bravo.now, true);
  bravo.advance(at(15min));
  EXPECT_TRUE(bravo.pdus().empty());
  bravo.core->on_own_silence(bravo.now, false);
  bravo.advance(at(20min));
  const auto acks = only<AckPdu>(bravo.pdus());
  ASSERT_EQ(acks.size(), 1u);
  ASSERT_EQ(acks[0].entries.size(), 2u);  // neither the released one nor the expired one
  EXPECT_EQ(acks[0].entries[0], (AckEntry{.name = {kSender, 7}}));
  EXPECT_EQ(acks[0].entries[1], (AckEntry{.name = {kSender, 9}}));
}

// PM-055, PM-036: messages to send wait, and still end in time.
TEST(PMulEmcon, a_transmitter_in_silence_says_nothing_and_goes_on_where_it_was) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 450).ok());
  ASSERT_TRUE(alpha.submit(8, {{3}}, 450).ok());
  const auto before = alpha.pdus(3);
  alpha.core->on_own_silence(alpha.now, true);
  alpha.hear(ack_of({2}, 99, {}));  // would draw a Discard_PDU
  for (int i = 1; i <= 20; ++i) {
    alpha.advance(at(i * 1h));
    EXPECT_TRUE(alpha.pdus().empty());
    EXPECT_FALSE(alpha.core->has_pdu());
  }
  alpha.core->on_own_silence(alpha.now, false);
  auto all = numbers(alpha.pdus());
  EXPECT_EQ(std::count(all.begin(), all.end(), 1), 1);  // block 1 has been sent before
  EXPECT_EQ(std::count(all.begin(), all.end(), 5), 2);
  alpha.core->on_own_silence(alpha.now, true);
  alpha.advance(at(25h));
  EXPECT_EQ(alpha.ended.size(), 2u);
  EXPECT_TRUE(alpha.pdus().empty());
}

// PM-037: the message is sent, then repeated the configured number of times, and then only expires.
TEST(PMulEmcon, a_silent_destination_is_sent_everything_so_often_and_no_more) {
  Station alpha(kSender, [](auto& config) {
    config.sender.silent = {{2}};
    config.sender.emcon_repeats_max = 3;
  });
  ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
  std::size_t rounds = 0;
  for (int i = 0; i < 300; ++i) {
    rounds += only<DataPdu>(alpha.pdus()).size() / 3;
    alpha.advance(alpha.now + 1min);
  }
  EXPECT_EQ(rounds, 4u);
  // PM-038: its answer makes the destination an ordinary one.
  alpha.hear(ack_of({2}, 7, {{3, 3}}));
  alpha.advance(alpha.now + 2min);
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{3}));
}

TEST(PMulEmcon, a_message_nobody_acknowledges_ends_as_sent) {
  Station alpha(kSender, [](auto& config) {
    config.sender.unacknowledged_repeats = 1;
    config.sender.emcon_repeats_max = 0;
  });
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}}, 250, 6, false).ok());
  EXPECT_EQ(only<DataPdu>(alpha.pdus()).size(), 3u);
  alpha.collect();
  EXPECT_TRUE(alpha.ended.empty());
  alpha.advance(at(10min));
  EXPECT_EQ(only<DataPdu>(alpha.pdus()).size(), 3u);
  alpha.collect();
  ASSERT_EQ(alpha.ended.size(), 2u);
  EXPECT_EQ(alpha.ended[0].outcome, Outcome::sent);
}

}  // namespace
}  // namespace s5066::p_mul
