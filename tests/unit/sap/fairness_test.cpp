// SPDX-License-Identifier: Apache-2.0
// A slow, greedy or hostile client does not keep others from being served, and every wait ends.
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::Confirmation;
using sis::RejectReason;
using std::chrono::nanoseconds;

class Fairness : public InterfaceFixture {
 protected:
  std::uint8_t source_of(std::size_t spdu) const { return spdus.at(spdu).spdu.at(1) >> 4; }

  /// Gives `urgent_ones` urgent U_PDUs on SAP 3 and `others` others on SAP 5. One U_PDU at a time
  /// is handed down.
  void offer(unsigned fair_turn, int urgent_ones, int others) {
    config.queue.fair_turn = fair_turn;
    config.link_outstanding_octets_max = 1;
    restart();
    const ClientId greedy = bind(3, Confirmation::none);
    const ClientId modest = bind(5, Confirmation::none);
    auto urgent = request(kPeer, Bytes(100));
    urgent.priority = 15;
    for (int i = 0; i < urgent_ones; ++i) give(greedy, urgent);
    for (int i = 0; i < others; ++i) give(modest, request(kPeer, Bytes(100)));
  }
};

TEST_F(Fairness, one_updu_in_so_many_is_of_the_client_served_longest_ago) {
  offer(4, 20, 3);
  make(kPeer);
  for (std::size_t i = 0; i < 12; ++i) confirm(i);
  std::vector<std::size_t> turns_of_modest;
  for (std::size_t i = 0; i < spdus.size(); ++i) {
    if (source_of(i) == 5) turns_of_modest.push_back(i);
  }
  EXPECT_EQ(turns_of_modest, (std::vector<std::size_t>{3, 7, 11}));
}

TEST_F(Fairness, who_sends_now_and_then_does_not_take_the_fair_turns_of_who_waits) {
  offer(2, 40, 10);
  const ClientId fitful = bind(6, Confirmation::none);
  make(kPeer);
  std::map<std::uint8_t, int> turns;
  for (std::size_t i = 0; i < 24; ++i) {
    if (i == 0 || source_of(i) == 6) give(fitful, request(kPeer, Bytes(100)));
    confirm(i);
    ++turns[source_of(i)];
  }
  EXPECT_EQ(turns, (std::map<std::uint8_t, int>{{3, 12}, {5, 6}, {6, 6}}));
}

TEST_F(Fairness, a_fair_turn_for_which_there_is_no_room_below_is_not_lost) {
  offer(4, 20, 3);
  make(kPeer);
  for (std::size_t i = 0; i < 3; ++i) confirm(i);
  for (std::size_t i = 3; i < 6; ++i) {
    ASSERT_EQ(source_of(i), 5) << i;
    refuse(i, cas::CpduFailure::queue_full);
    confirm(0);  // a U_PDU has left the queue below
  }
  EXPECT_EQ(source_of(6), 5);
  std::vector<std::size_t> turns_of_modest;
  for (std::size_t i = 6; i < 14; ++i) {
    confirm(i);
    if (source_of(i + 1) == 5) turns_of_modest.push_back(i + 1);
  }
  EXPECT_EQ(turns_of_modest, (std::vector<std::size_t>{10, 14}));
}

TEST_F(Fairness, without_fair_turns_priority_alone_decides) {
  offer(0, 12, 1);
  make(kPeer);
  for (std::size_t i = 0; i < 12; ++i) confirm(i);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(source_of(i), 3) << i;
  EXPECT_EQ(source_of(12), 5);
}

// --- What is handed down -------------------------------------------------------------------------

// Goal:   the node hands down only what the link will soon take at its rate, so that a later U_PDU
//         that must go first does go first.
// Method: a transmission has 1,000 octets. A U_PDU no longer counts when it has arrived at the peer
//         or is confirmed.
TEST_F(Fairness, three_transmissions_are_handed_down_at_the_rate_of_the_link) {
  config.queue.fair_turn = 0;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  for (int i = 0; i < 100; ++i) give(client, request(kPeer, Bytes(100)));
  core->on_link_capacity(now, kPeer, 1000);
  make(kPeer);
  const std::size_t full = spdus.size();
  EXPECT_GE(full * (100 + 6), 3000u);
  EXPECT_LT((full - 1) * (100 + 6), 3000u + 106u);
  core->on_spdu_arrived(now, spdus[1].id);
  core->on_spdu_arrived(now, spdus[1].id);
  drain();
  EXPECT_EQ(spdus.size(), full + 1);
  confirm(1);  // it had made room before
  EXPECT_EQ(spdus.size(), full + 1);
  confirm(0);
  EXPECT_EQ(spdus.size(), full + 2);
  core->on_link_capacity(now, kPeer, 2000);
  drain();
  EXPECT_GE(spdus.size(), 2 * full);
}

TEST_F(Fairness, an_urgent_u_pdu_is_handed_down_although_others_fill_the_link) {
  const ClientId bulk = bind(3, Confirmation::none);
  const ClientId urgent = bind(5, Confirmation::none);
  for (int i = 0; i < 100; ++i) give(bulk, request(kPeer, Bytes(100)));
  core->on_link_capacity(now, kPeer, 1000);
  make(kPeer);
  const std::size_t full = spdus.size();
  auto flash = request(kPeer, Bytes(100));
  flash.priority = 9;
  give(urgent, flash);
  ASSERT_GE(spdus.size(), full + 1);
  EXPECT_EQ(source_of(spdus.size() - 1), 5);
}

TEST_F(Fairness, a_fair_turn_is_handed_down_although_more_urgent_ones_fill_the_link) {
  config.queue.fair_turn = 4;
  restart();
  const ClientId greedy = bind(3, Confirmation::none);
  const ClientId modest = bind(5, Confirmation::none);
  auto urgent = request(kPeer, Bytes(100));
  urgent.priority = 15;
  for (int i = 0; i < 100; ++i) give(greedy, urgent);
  for (int i = 0; i < 3; ++i) give(modest, request(kPeer, Bytes(100)));
  core->on_link_capacity(now, kPeer, 200);
  make(kPeer);
  std::size_t confirmed = 0;
  for (; confirmed < 12; ++confirmed) confirm(confirmed);
  std::vector<std::size_t> turns_of_modest;
  for (std::size_t i = 0; i < spdus.size(); ++i) {
    if (source_of(i) != 5) continue;
    turns_of_modest.push_back(i);
    EXPECT_NE(spdus[i].flow, spdus[0].flow);
  }
  EXPECT_EQ(turns_of_modest, (std::vector<std::size_t>{3, 7, 11}));
}

// Goal:   an honest client gets through beside a client that floods at priority 15, one that sends
//         garbage and one that asks for confirmations which never come.
// Method: there is one link, the U_PDUs are acknowledged one by one, and the flood goes on.
TEST_F(Fairness, an_honest_client_gets_through_beside_hostile_ones) {
  config.link_outstanding_octets_max = 4096;
  config.awaiting_client_confirm_max = 20;
  restart();
  const ClientId flood = bind(3, Confirmation::client);
  const ClientId garbage = bind(5, Confirmation::none);
  const ClientId honest = bind(6, Confirmation::client);
  auto urgent = request(kPeer, Bytes(1000, 3));
  urgent.priority = 15;
  while (!paused[flood]) give(flood, urgent);
  for (std::uint8_t i = 0; i < 10; ++i) give(honest, request(kPeer, Bytes{i}));
  make(kPeer);
  std::size_t done = 0;
  while (done < 100) {
    while (!paused[flood]) give(flood, urgent);
    if (!closed.count(garbage)) core->on_invalid_primitive(now, garbage, 0);
    drain();
    confirm(done++);
  }
  EXPECT_TRUE(closed.count(garbage));
  std::size_t through = 0;
  for (std::size_t i = 0; i < done; ++i) through += source_of(i) == 6;
  EXPECT_EQ(through, 10u);
  // The unconfirmed U_PDUs of the flood pushed out one another, but none of the honest client's.
  EXPECT_GT(sent<sis::UnidataRequestRejected>(flood), 0u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(honest), 0u);
  for (std::uint8_t i = 0; i < 10; ++i) hear(DeliveryConfirm{SapId{6}, SapId{4}, Bytes{i}});
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(honest), 10u);
}

TEST_F(Fairness, a_node_that_waits_out_its_patience_gets_a_session_whatever_the_priorities) {
  config.links.soft_links_max = 1;
  config.link_outstanding_octets_max = 2100;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  auto urgent = request(kPeer, Bytes(2000));
  urgent.priority = 15;
  for (int i = 0; i < 4; ++i) give(client, urgent);
  make(kPeer);
  give(client, request(kOther, Bytes{1}));
  wait(config.links.patience - nanoseconds(1));
  confirm(0);
  ASSERT_EQ(spdus.size(), 2u);
  wait(nanoseconds(1));
  confirm(1);
  EXPECT_EQ(spdus.size(), 2u);  // the session finishes what is out …
  EXPECT_EQ(breaks, std::vector{kPeer});
  lose(kPeer, cas::LinkEnd::by_us);
  EXPECT_EQ(calls.back(), kOther);  // … and then the other node has its turn
}

// --- Waits that end ------------------------------------------------------------------------------

TEST_F(Fairness, an_acknowledgement_that_does_not_come_is_reported_when_its_wait_is_over) {
  config.node_confirm_wait_max = minutes(10);
  restart();
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  wait(minutes(10) - nanoseconds(1));
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  wait(nanoseconds(1));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_not_responding);
  EXPECT_EQ(core->holdings().octets_charged, 0u);
  confirm(0);  // too late
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 0u);
  EXPECT_EQ(core->holdings(), Holdings{});
}

TEST_F(Fairness, below_too_a_time_to_die_that_passed_is_the_reason) {
  const ClientId client = bind(3, Confirmation::node);
  auto soon = request(kPeer, Bytes{1});
  soon.time_to_live = 30;
  give(client, soon);
  make(kPeer);
  wait(seconds(60) + config.client_confirm_grace);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::ttl_expired);
  lose(kPeer);
  EXPECT_EQ(core->updus_queued(), 0u);  // settled, so it does not come back
}

TEST_F(Fairness, a_client_that_confirmed_makes_up_for_an_acknowledgement_that_never_comes) {
  const ClientId client = bind(3, Confirmation::client);
  auto soon = request(kPeer, Bytes{1});
  soon.time_to_live = 30;
  give(client, soon);
  make(kPeer);
  hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{1}});
  wait(seconds(60) + config.client_confirm_grace);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 1u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
}

TEST_F(Fairness, the_copied_part_may_be_empty_or_all_here_and_on_the_air) {
  config.response_octets_local = 0;
  config.response_octets_air = 0;
  restart();
  const ClientId client = bind(4, Confirmation::node);
  give(client, request(kPeer, Bytes{1, 2}));
  make(kPeer);
  confirm(0);
  EXPECT_TRUE(last<sis::UnidataRequestConfirm>(client).updu_part.empty());
  hear(DataSpdu{.source_sap = SapId{3},
                .destination_sap = SapId{4},
                .client_confirm_required = true,
                .time_to_die = std::nullopt,
                .updu = Bytes(40)});
  EXPECT_EQ(spdus.back().spdu.size(), 2u);
}

}  // namespace
}  // namespace s5066::sap
