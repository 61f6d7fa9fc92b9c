// SPDX-License-Identifier: Apache-2.0
// Discarded data is traced with the reason and all that is known about the data, whether or not a
// client or another node is told.
#include <gtest/gtest.h>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::Confirmation;
using sis::TransmissionMode;

class DiscardedData : public InterfaceFixture {
 protected:
  /// Returns the events with discarded data since the last call.
  std::vector<TraceEvent> discarded() {
    std::vector<TraceEvent> found;
    for (const TraceEvent& event : trace.events()) {
      if (event.discarded) found.push_back(event);
    }
    trace = TraceRing();
    return found;
  }
  void expect(TraceKind kind, Address peer, const Discarded& data, std::int64_t id = 0) {
    const auto found = discarded();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, kind);
    EXPECT_EQ(found[0].peer, peer);
    EXPECT_EQ(found[0].a, id);
    EXPECT_EQ(found[0].at, now);
    EXPECT_TRUE(found[0].discarded == data) << to_string(found[0]);
  }
  /// Makes a U_PDU from SAP 3 to SAP 4 without any confirmation.
  static sis::UnidataRequest unconfirmed(std::size_t octets) {
    sis::UnidataRequest wish = request(kPeer, Bytes(octets));
    wish.priority = 7;
    return wish;
  }
  static Discarded of_3_to_4(DiscardReason why, std::size_t octets, std::uint8_t priority = 7) {
    return {.reason = why, .octets = octets, .clients = {{SapId{3}, SapId{4}, priority}}};
  }
  static DataSpdu data_for_4(std::size_t octets) {
    return {.priority = 7,
            .source_sap = SapId{3},
            .destination_sap = SapId{4},
            .updu = Bytes(octets, 1)};
  }
};

TEST_F(DiscardedData, what_dies_in_the_queue) {
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest wish = unconfirmed(100);
  wish.time_to_live = 10;
  give(client, wish);
  wait(std::chrono::seconds(19));
  EXPECT_TRUE(discarded().empty());
  wait(std::chrono::seconds(1));
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::expired, 100), 1);
}

TEST_F(DiscardedData, what_dies_in_the_sublayers_below) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, unconfirmed(100));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 1u);
  refuse(0, cas::CpduFailure::expired);
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::expired, 100), 1);
}

TEST_F(DiscardedData, what_nobody_answers) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, unconfirmed(100));
  for (unsigned i = 0; i < config.attempts_max; ++i) {
    EXPECT_TRUE(discarded().empty());
    wait(std::chrono::minutes(2));
    no_answer(kPeer);
  }
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::not_responding, 100), 1);
}

TEST_F(DiscardedData, what_its_client_left_behind) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, unconfirmed(100));
  give(client, sis::UnbindRequest{});
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::client_gone, 100), 1);
}

// The client has left, so the node does not send such a U_PDU again.
TEST_F(DiscardedData, what_comes_back_when_its_client_has_left) {
  const ClientId client = bind(3, Confirmation::none);
  for (int i = 0; i < 3; ++i) give(client, unconfirmed(100));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 3u);
  give(client, sis::UnbindRequest{});
  confirm(0);
  EXPECT_TRUE(discarded().empty());
  refuse(1, cas::CpduFailure::not_connected);
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::client_gone, 100), 2);
  refuse(2, cas::CpduFailure::expired);
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::expired, 100), 3);
}

TEST_F(DiscardedData, what_is_not_accepted) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, unconfirmed(config.mtu + 1));
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::too_large, config.mtu + 1));
  sis::UnidataRequest to_us = unconfirmed(100);
  to_us.destination = kOwn;
  config.loopback = false;
  restart();
  give(bind(3, Confirmation::none), to_us);
  expect(TraceKind::updu_discarded, kOwn, of_3_to_4(DiscardReason::refused, 100));
}

TEST_F(DiscardedData, what_there_is_no_room_for) {
  config.queue.client_octets_max = config.queue.client_octets_reserved;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  const auto is_full = [&] { return counters[Counter::updus_refused] > 0; };
  while (!is_full()) give(client, unconfirmed(1000));
  expect(TraceKind::updu_discarded, kPeer, of_3_to_4(DiscardReason::no_room, 1000));
}

TEST_F(DiscardedData, what_comes_after_its_time_to_die) {
  bind(4, Confirmation::none);
  const UtcSeconds utc{1772409540};
  core->on_utc(now, utc);
  make(kPeer, false);
  wait(seconds(6));
  DataSpdu data = data_for_4(50);
  data.time_to_die = encode_time_to_die(utc, utc);
  hear(data);
  expect(TraceKind::spdu_discarded, kPeer, of_3_to_4(DiscardReason::expired, 50));
}

TEST_F(DiscardedData, what_comes_for_a_client_that_is_not_there) {
  hear(data_for_4(50));
  expect(TraceKind::spdu_discarded, kPeer, of_3_to_4(DiscardReason::not_bound, 50));
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest to_us = unconfirmed(100);
  to_us.destination = kOwn;
  give(client, to_us);
  expect(TraceKind::spdu_discarded, kOwn, of_3_to_4(DiscardReason::not_bound, 100));
}

TEST_F(DiscardedData, what_comes_damaged_or_makes_no_sense) {
  bind(4, Confirmation::none);
  hear_damaged(data_for_4(50), {{20, 1}}, {});
  expect(TraceKind::spdu_discarded, kPeer, of_3_to_4(DiscardReason::damaged, 50));
  hear_damaged(data_for_4(50), {{0, 1}}, {});  // the damage hides whose data it was
  const std::size_t all = encode(Spdu(data_for_4(50))).size();
  expect(TraceKind::spdu_discarded, kPeer,
         {.reason = DiscardReason::damaged, .octets = all, .clients = {}});
  core->on_spdu(now, {cas::Service::arq, kPeer, kOwn, Bytes{0x00}});
  expect(TraceKind::spdu_discarded, kPeer,
         {.reason = DiscardReason::malformed, .octets = 1, .clients = {}});
  core->on_spdu(now, {cas::Service::arq, kPeer, kOwn, Bytes{0x80}});
  expect(TraceKind::spdu_discarded, kPeer,
         {.reason = DiscardReason::unsupported, .octets = 1, .clients = {}});
  hear(HardLinkConfirm{}, cas::Service::nonarq);
  expect(TraceKind::spdu_discarded, kPeer,
         {.reason = DiscardReason::unsupported, .octets = 1, .clients = {}});
}

TEST_F(DiscardedData, what_had_come_before) {
  bind(4, Confirmation::none);
  const UtcSeconds utc{1772409540};
  core->on_utc(now, utc);
  DataSpdu data = data_for_4(50);
  data.time_to_die = encode_time_to_die(utc, {utc.value + 600});
  hear(data);
  make(kPeer);
  EXPECT_TRUE(discarded().empty());
  hear(data);
  expect(TraceKind::spdu_discarded, kPeer, of_3_to_4(DiscardReason::repeated, 50));
}

TEST_F(DiscardedData, a_delivery_confirmation_that_does_not_leave) {
  config.queue.responses_max = 1;
  restart();
  bind(4, Confirmation::none);
  DataSpdu data = data_for_4(50);
  data.client_confirm_required = true;
  const Discarded of_4_to_3{.reason = DiscardReason::no_room, .clients = {{SapId{4}, SapId{3}, 7}}};
  hear(data);
  EXPECT_TRUE(discarded().empty());
  data.updu = Bytes(51, 1);
  hear(data);
  expect(TraceKind::answer_discarded, kPeer, of_4_to_3);
  wait(config.client_confirm_wait_max);
  Discarded expired = of_4_to_3;
  expired.reason = DiscardReason::expired;
  expect(TraceKind::answer_discarded, kPeer, expired);
}

}  // namespace
}  // namespace s5066::sap
