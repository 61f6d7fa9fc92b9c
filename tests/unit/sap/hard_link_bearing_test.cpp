// SPDX-License-Identifier: Apache-2.0
// A hard link affects everything else that a node's clients send.
#include <algorithm>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::Confirmation;

class Bearing : public InterfaceFixture {
 protected:
  void up(ClientId owner, unsigned type, Address peer = kPeer) {
    give(owner, sis::HardLinkEstablish{link(type, peer)});
    exclusive(peer);
    hear_from(peer, HardLinkConfirm{});
    ASSERT_EQ(sent<sis::HardLinkEstablished>(owner), 1u);
  }
  void be_called(unsigned type, Address peer = kPeer) {
    exclusive(peer, false);
    hear_from(peer, HardLinkRequest{static_cast<std::uint8_t>(type), 0, SapId{7}, SapId{3}});
    ASSERT_EQ(core->hard_links().size(), 1u);
  }
  static sis::HardLink link(unsigned type, Address peer) {
    return {static_cast<sis::HardLinkType>(type), 0, SapId{4}, peer};
  }
  void exclusive(Address peer, bool we_called = true) {
    core->on_link_made(now, {peer, we_called, cas::LinkType::exclusive});
    drain();
  }
  void hear_from(Address peer, const Spdu& spdu) {
    core->on_spdu(now, {.service = cas::Service::expedited_arq,
                        .source = peer,
                        .destination = kOwn,
                        .spdu = encode(spdu)});
    drain();
  }
  void break_exclusive(Address peer, cas::LinkEnd end = cas::LinkEnd::by_us) {
    for (const auto& spdu : std::exchange(below[peer], {})) {
      core->on_spdu_rejected(now, {spdu, cas::CpduFailure::not_connected});
    }
    core->on_link_broken(now, {peer, end, cas::LinkType::exclusive});
    drain();
  }
  /// Counts the DATA S_PDUs that were handed down for this peer.
  std::size_t data_for(Address peer) const {
    return static_cast<std::size_t>(std::count_if(spdus.begin(), spdus.end(), [&](const auto& s) {
      return s.destination == peer && s.spdu[0] >> 4 == 0;
    }));
  }
  sis::UnidataRequest nonarq(Address destination) {
    sis::UnidataRequest r = request(destination, Bytes{9});
    r.delivery.mode = sis::TransmissionMode::nonarq;
    return r;
  }
};

// A.2.1.26(1) A.1.1.2.2(1)-(3) A.1.1.2.3(1)-(3)
TEST_F(Bearing, a_client_is_told_when_anothers_hard_link_shuts_it_out_and_when_that_ends) {
  for (const unsigned type : {1u, 2u}) {
    SCOPED_TRACE(type);
    restart();
    const ClientId owner = bind(3, Confirmation::none);
    const ClientId other = bind(6, Confirmation::none);
    give(owner, sis::HardLinkEstablish{link(type, kPeer)});
    exclusive(kPeer);
    EXPECT_EQ(sent<sis::SubnetAvailability>(other), 0u);  // not while the link is being requested
    hear_from(kPeer, HardLinkConfirm{});
    const sis::SubnetAvailability shut_out{sis::NodeStatus::receive_only,
                                           sis::AvailabilityReason::higher_priority_link};
    ASSERT_EQ(sent<sis::SubnetAvailability>(other), 1u);
    EXPECT_EQ(last<sis::SubnetAvailability>(other), shut_out);
    const ClientId late = bind(7, Confirmation::none);
    EXPECT_EQ(sent<sis::SubnetAvailability>(late), 1u);
    core->on_client_closed(now, owner);
    hear_from(kPeer, HardLinkTerminateConfirm{});
    break_exclusive(kPeer);
    ASSERT_EQ(sent<sis::SubnetAvailability>(other), 2u);
    EXPECT_EQ(last<sis::SubnetAvailability>(other), ClientTable::kNormal);
    EXPECT_EQ(sent<sis::SubnetAvailability>(late), 2u);
    EXPECT_EQ(sent<sis::SubnetAvailability>(owner), 0u);
  }
}

// A.2.1.26(1) A.1.1.2.1(1)-(4) A.1.1.2.2(1)-(3)
TEST_F(Bearing, nobody_is_told_so_by_a_link_that_all_may_use) {
  const ClientId owner = bind(3, Confirmation::none);
  const ClientId other = bind(6, Confirmation::none);
  up(owner, 0);
  EXPECT_EQ(sent<sis::SubnetAvailability>(other), 0u);
  restart();
  const ClientId local = bind(6, Confirmation::none);
  be_called(1);
  EXPECT_EQ(core->hard_links().front().state, HardLinkState::active);
  EXPECT_EQ(sent<sis::SubnetAvailability>(local), 0u);
}

// A.1.1.2.1(1)-(4)
TEST_F(Bearing, a_type_0_carries_everybody_to_its_peer) {
  const ClientId owner = bind(3, Confirmation::none);
  const ClientId other = bind(6, Confirmation::none);
  up(owner, 0);
  give(owner, request(kPeer, Bytes{1}));
  give(other, request(kPeer, Bytes{2}));
  give(other, nonarq(kOther));
  EXPECT_EQ(data_for(kPeer), 2u);
  EXPECT_EQ(data_for(kOther), 1u);
}

// A.1.1.2.2(1)-(3)
TEST_F(Bearing, a_type_1_carries_its_owner_and_holds_the_others) {
  const ClientId owner = bind(3, Confirmation::none);
  const ClientId other = bind(6, Confirmation::node);
  up(owner, 1);
  sis::UnidataRequest urgent = request(kPeer, Bytes{2});
  urgent.priority = 15;
  give(other, urgent);
  give(other, nonarq(kPeer));
  EXPECT_EQ(data_for(kPeer), 0u);
  give(owner, request(kPeer, Bytes{1}));
  give(owner, nonarq(kOther));
  EXPECT_EQ(data_for(kPeer), 1u);
  EXPECT_EQ(data_for(kOther), 1u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(other), 0u);
}

// A.1.1.2.3(1)-(3)
TEST_F(Bearing, a_type_2_carries_two_clients_and_nobody_else) {
  const ClientId owner = bind(3, Confirmation::none);
  up(owner, 2);
  sis::UnidataRequest elsewhere = request(kPeer, Bytes{1});
  elsewhere.destination_sap = SapId{9};
  give(owner, elsewhere);
  give(owner, nonarq(kOther));
  EXPECT_EQ(spdus.size(), 1u);  // the request for the link
  give(owner, request(kPeer, Bytes{2}));
  EXPECT_EQ(data_for(kPeer), 1u);
}

TEST_F(Bearing, what_is_held_lives_until_its_time_and_goes_when_the_link_has_ended) {
  const ClientId owner = bind(3, Confirmation::none);
  const ClientId other = bind(6, Confirmation::node);
  up(owner, 1);
  sis::UnidataRequest short_lived = request(kPeer, Bytes{1});
  short_lived.time_to_live = 30;
  give(other, short_lived);
  give(other, request(kPeer, Bytes{2}));
  wait(seconds(60));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(other).reason, sis::RejectReason::ttl_expired);
  give(owner, sis::HardLinkTerminate{kPeer});
  hear_from(kPeer, HardLinkTerminateConfirm{});
  ASSERT_EQ(breaks, std::vector{kPeer});
  calls.clear();
  break_exclusive(kPeer);
  EXPECT_EQ(calls, std::vector{kPeer});  // the node calls a soft link by itself
  make(kPeer);
  EXPECT_EQ(data_for(kPeer), 1u);
}

// A.1.1.2.2(2), B.3(5),(6)
TEST_F(Bearing, no_soft_link_is_called_for_while_there_is_an_exclusive_one) {
  const ClientId owner = bind(3, Confirmation::none);
  give(owner, sis::HardLinkEstablish{link(0, kPeer)});
  EXPECT_EQ(calls, std::vector{kPeer});
  give(owner, request(kOther, Bytes{1}));
  EXPECT_EQ(calls, std::vector{kPeer});
  no_answer(kPeer, std::nullopt, cas::LinkType::exclusive);
  EXPECT_EQ(sent<sis::HardLinkRejected>(owner), 1u);
  EXPECT_EQ(calls, (std::vector{kPeer, kOther}));
}

// B.3.2.1(19) applies to the caller. The called side keeps its soft links until it accepts the hard
// link.
TEST_F(Bearing, soft_links_end_when_a_hard_link_needs_the_channel) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kOther, Bytes{1}));
  make(kOther);
  exclusive(kPeer, false);
  EXPECT_TRUE(breaks.empty());
  hear_from(kPeer, HardLinkRequest{0, 0, SapId{7}, SapId{}});
  EXPECT_EQ(breaks, std::vector{kOther});

  restart();
  const ClientId owner = bind(3, Confirmation::none);
  make(kOther);
  give(owner, sis::HardLinkEstablish{link(0, kPeer)});
  EXPECT_TRUE(breaks.empty());
  exclusive(kPeer);
  EXPECT_EQ(breaks, std::vector{kOther});
}

// A U_PDU on such a link has not failed. It waits, however often the link ends.
TEST_F(Bearing, a_soft_link_that_ends_for_a_hard_link_uses_up_no_attempt) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kOther, Bytes{1}));
  for (unsigned i = 0; i <= config.attempts_max; ++i) {
    make(kOther);
    be_called(0);
    ASSERT_EQ(breaks.back(), kOther);
    lose(kOther, cas::LinkEnd::by_us);
    hear_from(kPeer, HardLinkTerminate{});
    break_exclusive(kPeer, cas::LinkEnd::by_peer);
    ASSERT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  }
}

TEST_F(Bearing, a_soft_link_that_ends_for_a_hard_link_to_its_peer_uses_up_no_attempt) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  for (unsigned i = 0; i <= config.attempts_max; ++i) {
    make(kPeer);
    give(client, sis::HardLinkEstablish{link(0, kPeer)});
    lose(kPeer, cas::LinkEnd::by_us);
    no_answer(kPeer, cas::RejectReason::supporting_exclusive_link, cas::LinkType::exclusive);
    ASSERT_EQ(sent<sis::HardLinkRejected>(client), i + 1);
    ASSERT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  }
}

// B.3.2.1(19): the sublayer below is already breaking the soft links. A U_PDU that is handed down
// now would come back at once, again and again.
TEST_F(Bearing, an_exclusive_link_that_ends_in_the_moment_it_is_made_has_ended_the_soft_links) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kOther, Bytes{1}));
  make(kOther);
  confirm(0);
  give(client, sis::HardLinkEstablish{link(0, kPeer)});
  core->on_link_made(now, {kPeer, true, cas::LinkType::exclusive});
  core->on_link_broken(now, {kPeer, cas::LinkEnd::by_peer, cas::LinkType::exclusive});
  drain();
  EXPECT_EQ(breaks, std::vector{kOther});
  give(client, request(kOther, Bytes{2}));
  EXPECT_EQ(data_for(kOther), 1u);
}

TEST_F(Bearing, silence_and_broadcast_sessions_reach_the_hard_links) {
  const ClientId owner = bind(3, Confirmation::none);
  core->request_silence(now, true);
  give(owner, sis::HardLinkEstablish{link(0, kPeer)});
  EXPECT_EQ(sent<sis::HardLinkRejected>(owner), 1u);
  EXPECT_TRUE(calls.empty());
  core->request_silence(now, false);
  be_called(0);
  ASSERT_TRUE(core->request_broadcast_session(now, true).ok());
  drain();
  EXPECT_TRUE(core->hard_links().empty());
}

TEST_F(Bearing, data_under_way_on_a_broken_hard_link_is_queued_again) {
  const ClientId owner = bind(3, Confirmation::node);
  up(owner, 1);
  give(owner, request(kPeer, Bytes{1}));
  ASSERT_EQ(data_for(kPeer), 1u);
  break_exclusive(kPeer, cas::LinkEnd::not_connected);
  EXPECT_EQ(last<sis::HardLinkTerminated>(owner).reason,
            sis::HardLinkEndReason::physical_link_broken);
  EXPECT_EQ(counters[Counter::updus_requeued], 1u);
  make(kPeer);
  EXPECT_EQ(data_for(kPeer), 2u);
}

TEST_F(Bearing, the_called_side_of_a_type_1_sends_to_the_owner_only) {
  const ClientId client = bind(6, Confirmation::none);
  be_called(1);
  give(client, request(kPeer, Bytes{1}));  // its destination is SAP 4
  EXPECT_EQ(data_for(kPeer), 0u);
  sis::UnidataRequest to_owner = request(kPeer, Bytes{2});
  to_owner.destination_sap = SapId{7};
  give(client, to_owner);
  EXPECT_EQ(data_for(kPeer), 1u);
}

TEST_F(Bearing, an_answer_to_the_owner_is_carried_and_one_to_another_held) {
  bind(3, Confirmation::none);
  be_called(1);
  DataSpdu data{
      .source_sap = SapId{7}, .destination_sap = SapId{3}, .client_confirm_required = true};
  data.updu = Bytes{1};
  hear(data);
  const auto answers = [&] {
    return std::count_if(spdus.begin(), spdus.end(),
                         [](const auto& s) { return s.spdu[0] >> 4 == 1; });
  };
  EXPECT_EQ(answers(), 1);
  data.source_sap = SapId{8};
  hear(data);
  EXPECT_EQ(answers(), 1);
}

// A.3.2.2.3(7): no hard link may remain without a physical link, because it would hold the data of
// all clients for ever.
TEST_F(Bearing, a_request_that_crosses_our_call_of_its_peer_leaves_nothing_behind) {
  const ClientId owner = bind(3, Confirmation::node);
  give(owner, request(kPeer, Bytes{1}));
  make(kPeer);
  give(owner, sis::HardLinkEstablish{link(0, kPeer)});
  ASSERT_EQ(calls, (std::vector{kPeer, kPeer}));
  hear_from(kPeer, HardLinkRequest{0, 3, SapId{7}, SapId{}});
  EXPECT_EQ(spdus.size(), 1u);
  lose(kPeer, cas::LinkEnd::by_us);
  no_answer(kPeer, std::nullopt, cas::LinkType::exclusive);
  EXPECT_EQ(last<sis::HardLinkRejected>(owner).reason,
            sis::HardLinkRejectReason::remote_not_responding);
  EXPECT_TRUE(core->hard_links().empty());
  give(owner, request(kOther, Bytes{2}));
  EXPECT_EQ(calls.back(), kOther);
}

TEST_F(Bearing, a_request_over_a_soft_link_that_we_are_ending_is_not_served) {
  const ClientId client = bind(3, Confirmation::none);
  make(kPeer);
  wait(config.links.idle_timeout);
  ASSERT_EQ(breaks, std::vector{kPeer});
  hear_from(kPeer, HardLinkRequest{0, 3, SapId{7}, SapId{}});
  EXPECT_TRUE(core->hard_links().empty());
  lose(kPeer, cas::LinkEnd::by_us);
  give(client, request(kPeer, Bytes{2}));
  EXPECT_EQ(calls, std::vector{kPeer});
}

// A.2.1.2: the owner's connection ends, or the owner unbinds.
TEST_F(Bearing, the_owners_end_is_the_links_end) {
  for (const bool unbinds : {true, false}) {
    restart();
    const ClientId owner = bind(3, Confirmation::none);
    up(owner, 1);
    if (unbinds) {
      give(owner, sis::UnbindRequest{});
    } else {
      core->on_client_closed(now, owner);
      drain();
    }
    EXPECT_EQ(spdus.back().spdu, *from_hex("61"));
    hear_from(kPeer, HardLinkTerminateConfirm{});
    EXPECT_EQ(breaks, std::vector{kPeer});
  }
}

TEST_F(Bearing, what_a_client_may_not_say_is_an_invalid_primitive) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, sis::HardLinkTerminate{kPeer});
  give(client, sis::HardLinkAccept{link(2, kPeer)});
  give(client, sis::HardLinkReject{1, link(2, kPeer)});
  give(client, sis::HardLinkEstablish{link(3, kPeer)});
  EXPECT_EQ(counters[Counter::primitives_invalid], 4u);
  EXPECT_EQ(sent<sis::HardLinkRejected>(client), 1u);
  const ClientId unbound = connect();
  give(unbound, sis::HardLinkEstablish{link(0, kPeer)});
  EXPECT_EQ(counters[Counter::primitives_invalid], 5u);
}

// A.3.2.2.2(11),(25), A.3.2.2.3(6): an S_PDU of a hard link that came without an acknowledged
// service cannot be answered.
TEST_F(Bearing, hard_link_s_pdus_without_acknowledgement_are_not_served) {
  core->on_spdu(now, {.service = cas::Service::nonarq,
                      .source = kPeer,
                      .destination = Address::all_stations(),
                      .spdu = *from_hex("30 70")});
  drain();
  EXPECT_TRUE(spdus.empty());
  EXPECT_EQ(counters[Counter::spdus_unsupported], 1u);
}

}  // namespace
}  // namespace s5066::sap
