// SPDX-License-Identifier: Apache-2.0
// These tests show broadcast sessions (A.1.1.3, A.3.2.3), radio silence, availability (A.2.1.26)
// and management messages (A.2.1.15, A.2.1.16) as clients see them.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::AvailabilityReason;
using sis::Confirmation;
using sis::NodeStatus;
using sis::RejectReason;
using sis::TransmissionMode;
using std::chrono::nanoseconds;

class NodeState : public InterfaceFixture {
 protected:
  ClientId bind_nonarq(std::uint8_t sap) {
    const ClientId id = connect();
    sis::BindRequest request = bind_to(sap, Confirmation::none);
    request.service.mode = TransmissionMode::nonarq;
    give(id, request);
    EXPECT_EQ(sent<sis::BindAccepted>(id), 1u);
    return id;
  }
  Result<void> broadcast(bool on) {
    const auto done = core->request_broadcast_session(now, on);
    drain();
    return done;
  }
  void silence(bool on) {
    core->request_silence(now, on);
    drain();
  }
  static sis::UnidataRequest arq_request(Address destination) {
    sis::UnidataRequest r = request(destination, Bytes{1});
    r.delivery.mode = TransmissionMode::arq;
    r.delivery.confirmation = Confirmation::node;
    return r;
  }
};

// --- Broadcast sessions --------------------------------------------------------------------------

TEST_F(NodeState, a_broadcast_session_unbinds_arq_clients_until_it_ends) {
  const ClientId arq = bind(3, Confirmation::none);
  const ClientId nonarq = bind_nonarq(4);
  ASSERT_TRUE(broadcast(true));
  EXPECT_EQ(last<sis::UnbindIndication>(arq).reason,
            sis::UnbindReason::arq_unsupportable_in_broadcast);
  EXPECT_FALSE(closed.count(arq));
  EXPECT_EQ(sent<sis::UnbindIndication>(nonarq), 0u);
  give(arq, bind_to(3, Confirmation::none));
  EXPECT_EQ(last<sis::BindRejected>(arq).reason,
            sis::BindRejectReason::arq_unsupportable_in_broadcast);
  ASSERT_TRUE(broadcast(false));
  give(arq, bind_to(3, Confirmation::none));
  EXPECT_EQ(sent<sis::BindAccepted>(arq), 2u);
}

TEST_F(NodeState, arq_data_of_the_rest_is_rejected_when_the_session_begins_and_while_it_lasts) {
  const ClientId client = bind_nonarq(4);
  give(client, arq_request(kPeer));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 1u);
  give(client, arq_request(kOther));
  ASSERT_TRUE(broadcast(true));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).destination, kOther);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::mode_not_specified);
  lose(kPeer, cas::LinkEnd::by_us);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 2u);
  // The U_PDU may have been on the air.
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_not_responding);
  give(client, arq_request(kPeer));
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 3u);
  give(client, request(Address::all_stations(), Bytes{1}));
  EXPECT_EQ(spdus.size(), 2u);
  wait(hours(1));
  EXPECT_EQ(std::count(calls.begin(), calls.end(), kPeer), 1);
  EXPECT_EQ(core->updus_queued(), 0u);
}

TEST_F(NodeState, a_broadcast_only_node_stays_one) {
  config.broadcast_only = true;
  restart();
  EXPECT_FALSE(broadcast(false).ok());
  EXPECT_TRUE(core->in_broadcast_session());
}

TEST_F(NodeState, a_broadcast_only_node_may_take_updus_of_4096_octets) {
  config.broadcast_only = true;
  config.mtu = 4096;
  restart();
  const ClientId client = bind_nonarq(4);
  EXPECT_EQ(last<sis::BindAccepted>(client).mtu, 4096);
  give(client, request(Address::all_stations(), Bytes(4096)));
  EXPECT_EQ(spdus.size(), 1u);
  give(client, request(Address::all_stations(), Bytes(4097)));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::larger_than_mtu);
}

// --- Silence -------------------------------------------------------------------------------------

TEST_F(NodeState, in_silence_nothing_is_asked_of_the_sublayers_below_and_data_is_held) {
  const ClientId client = bind(3, Confirmation::node);
  make(kPeer, false);
  silence(true);
  give(client, request(kPeer, Bytes{1}));
  give(client, request(kOther, Bytes{2}));
  auto nonarq = request(kPeer, Bytes{3});
  nonarq.delivery.mode = TransmissionMode::nonarq;
  give(client, nonarq);
  give(client, expedited(kPeer, Bytes{4}));
  hear(DataSpdu{.source_sap = SapId{4},
                .destination_sap = SapId{3},
                .client_confirm_required = true,
                .time_to_die = std::nullopt,
                .updu = Bytes{5}});
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 1u);
  wait(hours(2));
  EXPECT_TRUE(spdus.empty());
  EXPECT_TRUE(calls.empty());
  EXPECT_TRUE(breaks.empty());
  // The node does not spin either.
  EXPECT_FALSE(core->next_deadline() && *core->next_deadline() <= now);
  give(client, request(kPeer, Bytes{6}));
  silence(false);
  EXPECT_EQ(calls, std::vector{kOther});
  EXPECT_EQ(spdus.size(), 2u);  // the non-ARQ and the expedited one, not the other
}

TEST_F(NodeState, time_to_live_runs_in_silence) {
  const ClientId client = bind(3, Confirmation::node);
  silence(true);
  auto soon = request(kPeer, Bytes{1});
  soon.time_to_live = 5;
  give(client, soon);
  wait(seconds(10));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::ttl_expired);
}

TEST_F(NodeState, what_silence_ends_below_is_no_failed_attempt) {
  config.attempts_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  give(client, request(kOther, Bytes{2}));
  silence(true);
  no_answer(kOther);
  lose(kPeer, cas::LinkEnd::by_peer);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  EXPECT_EQ(core->updus_queued(), 2u);
}

// --- Availability --------------------------------------------------------------------------------

TEST_F(NodeState, clients_hear_once_of_each_change_and_of_the_state_they_bind_in) {
  const ClientId client = bind_nonarq(3);
  EXPECT_EQ(sent<sis::SubnetAvailability>(client), 0u);
  silence(true);
  silence(true);
  EXPECT_EQ(sent<sis::SubnetAvailability>(client), 1u);
  EXPECT_EQ(last<sis::SubnetAvailability>(client),
            (sis::SubnetAvailability{NodeStatus::receive_only, AvailabilityReason::emcon}));
  const ClientId late = connect();
  EXPECT_EQ(sent<sis::SubnetAvailability>(late), 0u);
  give(late, bind_to(4, Confirmation::none));
  EXPECT_EQ(sent<sis::SubnetAvailability>(late), 1u);
  core->on_modem_state(now, false);
  drain();
  EXPECT_EQ(last<sis::SubnetAvailability>(client),
            (sis::SubnetAvailability{NodeStatus::off, AvailabilityReason::unspecified}));
  silence(false);
  EXPECT_EQ(sent<sis::SubnetAvailability>(client), 2u);
  core->on_modem_state(now, true);
  drain();
  EXPECT_EQ(last<sis::SubnetAvailability>(client), ClientTable::kNormal);
  EXPECT_EQ(last<sis::SubnetAvailability>(late), ClientTable::kNormal);
  ASSERT_TRUE(broadcast(true));
  EXPECT_EQ(last<sis::SubnetAvailability>(client).status, NodeStatus::transmit_only);
}

// --- Management ----------------------------------------------------------------------------------

class Management : public NodeState {
 protected:
  Management() {
    config.bind.allow_rank_15 = true;
    restart();
  }
  ClientId bind_ranked(std::uint8_t sap, std::uint8_t rank) {
    const ClientId id = connect();
    sis::BindRequest request = bind_to(sap, Confirmation::none);
    request.rank = rank;
    give(id, request);
    EXPECT_EQ(sent<sis::BindAccepted>(id), 1u);
    return id;
  }
};

TEST_F(Management, only_rank_15_is_heard) {
  const ClientId manager = bind_ranked(1, 15);
  const ClientId other = bind_ranked(2, 14);
  give(other, sis::ManagementRequest{1, {}});
  EXPECT_EQ(counters[Counter::primitives_invalid], 1u);
  EXPECT_TRUE(asked.empty());
  give(manager, sis::ManagementRequest{1, {2, 3}});
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].client, manager);
  EXPECT_EQ(asked[0].message_type, 1);
  EXPECT_EQ(asked[0].body, (Bytes{2, 3}));
}

TEST_F(Management, a_long_answer_comes_in_parts_of_whole_lines) {
  config.management_octets_max = 64;
  restart();
  const ClientId manager = bind_ranked(1, 15);
  const std::vector<std::string> lines{"a=" + std::string(13, 'x'), "b=" + std::string(13, 'y'),
                                       "c=" + std::string(99, 'z')};
  core->on_management_answer(now, manager, 7, lines);
  drain();
  std::vector<std::string> bodies;
  for (const auto& primitive : log[manager]) {
    const auto* part = std::get_if<sis::ManagementIndication>(&primitive);
    if (part == nullptr) continue;
    EXPECT_EQ(part->message_type, 7);
    EXPECT_LE(part->body.size(), 64u);
    bodies.emplace_back(part->body.begin(), part->body.end());
  }
  EXPECT_EQ(bodies, (std::vector<std::string>{"part=1/2\n" + lines[0] + "\n" + lines[1] + "\n",
                                              "part=2/2\n" + lines[2].substr(0, 31) + "\n"}));
}

TEST_F(Management, an_empty_answer_is_one_part) {
  const ClientId manager = bind_ranked(1, 15);
  core->on_management_answer(now, manager, 3, {});
  drain();
  const auto body = last<sis::ManagementIndication>(manager).body;
  EXPECT_EQ(std::string(body.begin(), body.end()), "part=1/1\n");
}

TEST_F(Management, a_sap_that_is_shut_ends_its_bind_and_takes_no_other_until_it_is_open_again) {
  const ClientId client = bind(3, Confirmation::none);
  ASSERT_TRUE(core->request_sap_open(now, SapId{3}, false));
  drain();
  EXPECT_EQ(last<sis::UnbindIndication>(client).reason, sis::UnbindReason::preempted);
  EXPECT_FALSE(closed.count(client));
  give(client, bind_to(3, Confirmation::none));
  EXPECT_EQ(last<sis::BindRejected>(client).reason, sis::BindRejectReason::invalid_sap);
  ASSERT_TRUE(core->request_sap_open(now, SapId{3}, true));
  give(client, bind_to(3, Confirmation::none));
  EXPECT_EQ(sent<sis::BindAccepted>(client), 2u);
  EXPECT_FALSE(core->request_sap_open(now, SapId{16}, true).ok());
}

}  // namespace
}  // namespace s5066::sap
