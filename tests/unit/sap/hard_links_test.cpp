// SPDX-License-Identifier: Apache-2.0
// Here a client of this node asks for hard links.
#include "tests/unit/sap/hard_links_fixture.h"

namespace s5066::sap {
namespace {

using std::chrono::nanoseconds;
using HardLinksTest = HardLinksFixture;

// A.3.2.2.2(9)-(11),(14),(16) A.2.1.20(1)-(9): the node makes an Exclusive link, sends type 3 and
// receives type 4. Only then it tells the client.
TEST_F(HardLinksTest, a_client_hears_established_when_the_peer_has_accepted) {
  EXPECT_TRUE(ask(link(2, 1)));
  EXPECT_EQ(said(), "call-20");
  made();
  EXPECT_EQ(said(), "20:39 34");
  hear("40");
  ASSERT_FALSE(outbox.empty());
  const auto told = std::get<SendPrimitive>(*outbox.poll());
  EXPECT_EQ(told.client, kClient);
  EXPECT_EQ(told.primitive, sis::Primitive{(sis::HardLinkEstablished{1, link(2, 1)})});
  EXPECT_EQ(said(), "");
  EXPECT_EQ(state(), "active");
  EXPECT_EQ(counters[Counter::hard_links_established], 1u);
}

// A.2.1.18(9),(10): the remote SAP goes on the air for Type 2 only. The client always gets it back.
TEST_F(HardLinksTest, types_0_and_1_name_no_remote_sap_on_the_air) {
  for (const unsigned type : {0u, 1u}) {
    restart();
    EXPECT_TRUE(ask(link(type, 3, kPeer, 9)));
    made();
    EXPECT_EQ(said(), type == 0 ? "call-20 20:33 30" : "call-20 20:37 30");
    hear("51");
    const auto told = std::get<SendPrimitive>(*outbox.poll());
    EXPECT_EQ(std::get<sis::HardLinkRejected>(told.primitive).link, link(type, 3, kPeer, 9));
    said();
  }
}

// A.2.2.28.1(3), A.2.1.18(6),(7)
TEST_F(HardLinksTest, illegal_requests_are_rejected_and_invalid) {
  EXPECT_FALSE(ask(link(3)));
  EXPECT_EQ(said(), "c1:rejected-3");
  EXPECT_FALSE(ask(link(0, 0, Address{7, true})));
  EXPECT_EQ(said(), "c1:rejected-3");
  EXPECT_FALSE(ask(link(0, 0, kOwn)));
  EXPECT_EQ(said(), "c1:rejected-3");
  EXPECT_EQ(state(), "");
}

// A.3.2.3: the session ends every hard link and request, and each client that owns one, or would
// own it, is told.
TEST_F(HardLinksTest, a_broadcast_session_ends_what_there_is) {
  establish(0);
  core->allow(now, false);
  EXPECT_EQ(said(), "c1:terminated-5 break-20");
  EXPECT_TRUE(core->hold_calls());  // B.3.2(4): until the link is broken
  broken(cas::LinkEnd::by_us);
  core->allow(now, true);
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "call-20");
  core->allow(now, false);
  EXPECT_EQ(said(), "c1:rejected-3 break-20");
  EXPECT_TRUE(core->hold_calls());
  EXPECT_EQ(state(), "");
}

TEST_F(HardLinksTest, a_silent_node_asks_nobody_for_one) {
  core->set_silent(now, true);
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "c1:rejected-3");
  core->set_silent(now, false);
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "call-20");
}

TEST_F(HardLinksTest, in_radio_silence_no_call_is_made_again) {
  made(kOther, false);
  EXPECT_TRUE(ask(link(0)));
  EXPECT_TRUE(core->on_link_refused(now, kPeer));
  EXPECT_EQ(said(), "call-20");
  ASSERT_EQ(state(), "waiting");
  core->set_silent(now, true);
  EXPECT_EQ(said(), "c1:rejected-3");
  wait(std::chrono::minutes(1));
  EXPECT_EQ(said(), "");
  // The node also makes no call if the peer ends the link under our request.
  core->set_silent(now, false);
  EXPECT_TRUE(ask(link(0)));
  made();
  EXPECT_EQ(said(), "call-20 20:30 30");
  core->set_silent(now, true);
  broken(cas::LinkEnd::by_peer);
  EXPECT_EQ(said(), "c1:rejected-3");
  EXPECT_EQ(state(), "");
}

// A.1.1.3(4)
TEST_F(HardLinksTest, a_node_that_only_broadcasts_serves_none) {
  core->allow(now, false);
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "c1:rejected-3");
  hear("30 70");
  EXPECT_EQ(said(), "20:51");
}

// The mapping from the reason of a C_PDU to the reason of the primitive is our own choice.
TEST_F(HardLinksTest, a_failed_call_is_rejected_with_a_reason_that_fits) {
  using cas::RejectReason;
  const auto answer = [&](std::optional<RejectReason> reason) {
    EXPECT_TRUE(ask(link(0)));
    said();
    rejected(reason);
    EXPECT_EQ(state(), "");
    return said();
  };
  EXPECT_EQ(answer(std::nullopt), "c1:rejected-3");
  EXPECT_EQ(answer(RejectReason::unknown), "c1:rejected-3");
  EXPECT_EQ(answer(RejectReason::broadcast_only_node), "c1:rejected-3");
  EXPECT_EQ(answer(RejectReason::higher_priority_pending), "c1:rejected-2");
  EXPECT_EQ(answer(RejectReason::supporting_exclusive_link), "c1:rejected-1");
  EXPECT_TRUE(ask(link(0)));
  said();
  EXPECT_TRUE(core->on_link_refused(now, kPeer));
  EXPECT_EQ(said(), "c1:rejected-1");
  EXPECT_FALSE(core->hold_calls());
}

// B.3.2(4): links of peers that called and asked for nothing make way after a while.
TEST_F(HardLinksTest, a_call_with_such_links_in_its_way_is_made_again_soon) {
  made(Address{5}, false);
  made(Address{6}, false);
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "call-20");
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(core->on_link_refused(now, kPeer));
    EXPECT_EQ(state(), "waiting");
    wait(std::chrono::seconds(5) - nanoseconds(1));
    EXPECT_EQ(said(), "");
    wait(nanoseconds(1));
    EXPECT_EQ(said(), "call-20");
  }
  // The peer may also be the one that calls.
  EXPECT_TRUE(core->on_link_refused(now, kPeer));
  made(kPeer, false);
  EXPECT_EQ(said(), "20:30 30");
}

// B.3.2(4): the call waits, because the link that is ending will free a place.
TEST_F(HardLinksTest, no_link_has_to_make_way_while_another_ends) {
  establish(0);
  made(kOther, false);
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  hear("70");
  EXPECT_EQ(said(), "20:61 break-20");
  EXPECT_TRUE(ask(link(0, 0, Address{6})));
  EXPECT_EQ(said(), "");
  broken(cas::LinkEnd::by_us);
  EXPECT_EQ(said(), "call-6");
}

// B.3(5): an Exclusive link replaces the Nonexclusive link of the peer's hard link. If the call is
// refused, the node still has that link, and breaks it or waits.
TEST_F(HardLinksTest, a_refused_call_leaves_the_link_that_it_was_to_replace) {
  const auto break_nonexclusive = [&] {
    core->on_link_broken(now, {kPeer, cas::LinkEnd::by_us, cas::LinkType::nonexclusive});
  };
  hear("30 70");
  hear("60");
  said();
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "call-20");
  EXPECT_TRUE(core->on_link_refused(now, kPeer));
  EXPECT_EQ(said(), "c1:rejected-1 break-20");
  EXPECT_TRUE(core->governs(kPeer));
  break_nonexclusive();
  EXPECT_FALSE(core->governs(kPeer));

  hear("30 70");
  hear("60");
  made(kOther, false);
  said();
  EXPECT_TRUE(ask(link(0)));
  EXPECT_TRUE(core->on_link_refused(now, kPeer));
  EXPECT_EQ(state(), "waiting");
  EXPECT_TRUE(core->governs(kPeer));
  wait(std::chrono::seconds(5));
  EXPECT_EQ(said(), "call-20 call-20");
  break_nonexclusive();
  EXPECT_EQ(state(), "linking");
  made();
  EXPECT_EQ(said(), "20:30 30");
}

// B.3(5): the report of the Nonexclusive link's end was still on its way up when the call was
// withdrawn.
TEST_F(HardLinksTest, a_withdrawn_call_outlasts_the_link_that_it_was_to_replace) {
  hear("30 70");
  hear("60");
  EXPECT_TRUE(ask(link(0)));
  said();
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  EXPECT_EQ(said(), "c1:rejected-3 break-20");
  core->on_link_broken(now, {kPeer, cas::LinkEnd::by_us, cas::LinkType::nonexclusive});
  EXPECT_TRUE(core->governs(kPeer));
  broken(cas::LinkEnd::by_us);
  EXPECT_FALSE(core->governs(kPeer));
}

// B.3.2(4): the rule holds whichever station made the link in the end.
TEST_F(HardLinksTest, a_link_that_was_called_for_is_kept_when_the_peer_makes_it) {
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "call-20");
  EXPECT_TRUE(kept.empty());
  made(kPeer, false);
  said();
  EXPECT_EQ(kept, std::vector{kPeer});
}

// A.3.2.2.2(13)
TEST_F(HardLinksTest, the_peers_reason_is_passed_on_and_the_link_under_it_broken) {
  const auto answer = [&](const char* hex) {
    EXPECT_TRUE(ask(link(0)));
    made();
    said();
    hear(hex);
    const std::string told = said();
    broken(cas::LinkEnd::by_us);
    return told;
  };
  EXPECT_EQ(answer("51"), "c1:rejected-1 break-20");
  EXPECT_EQ(answer("52"), "c1:rejected-2 break-20");
  EXPECT_EQ(answer("53"), "c1:rejected-3 break-20");
  EXPECT_EQ(answer("54"), "c1:rejected-4 break-20");
  EXPECT_EQ(answer("55"), "c1:rejected-1 break-20");  // reserved on the air
  EXPECT_EQ(answer("50"), "c1:rejected-1 break-20");
}

// A.3.2.2.2(12),(15)
TEST_F(HardLinksTest, without_an_answer_the_request_ends_at_its_time) {
  EXPECT_TRUE(ask(link(0)));
  made();
  said();
  wait(options.config.response_wait - nanoseconds(1));
  EXPECT_EQ(said(), "");
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "c1:rejected-3 break-20");
  hear("40");  // too late: the physical link is being broken
  EXPECT_EQ(said(), "");
}

TEST_F(HardLinksTest, a_peer_that_was_leaving_an_earlier_link_is_asked_once_more) {
  EXPECT_TRUE(ask(link(0)));
  made();
  broken(cas::LinkEnd::by_peer);
  EXPECT_EQ(said(), "call-20 20:30 30 call-20");
  made();
  broken(cas::LinkEnd::by_peer);
  EXPECT_EQ(said(), "20:30 30 c1:rejected-3");
  EXPECT_TRUE(ask(link(0)));
  made();
  said();
  broken(cas::LinkEnd::connection_lost);
  EXPECT_EQ(said(), "c1:rejected-3");
}

// Otherwise the two nodes would disagree about the hard link, and nothing else would show it.
TEST_F(HardLinksTest, what_cannot_be_sent_ends_the_hard_link_it_was_of) {
  for (const auto why : {cas::CpduFailure::not_connected, cas::CpduFailure::queue_full}) {
    EXPECT_TRUE(ask(link(0)));
    made();
    EXPECT_EQ(said(), "call-20 20:30 30");
    come_back(why);
    EXPECT_EQ(said(), "c1:rejected-3 break-20");
    broken(cas::LinkEnd::by_us);
    establish(0);
    EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
    EXPECT_EQ(said(), "20:61");
    come_back(why);
    EXPECT_EQ(said(), "c1:terminated-5 break-20");
    EXPECT_EQ(state(), "");
    broken(cas::LinkEnd::by_us);
    EXPECT_FALSE(core->hold_calls());
  }
}

TEST_F(HardLinksTest, a_probe_that_cannot_be_sent_shows_a_link_that_is_gone) {
  establish(0);
  wait(options.config.probe_interval);
  EXPECT_EQ(said(), "20:30 30");
  come_back(cas::CpduFailure::queue_full);  // a full queue tells nothing about the link
  EXPECT_EQ(said(), "");
  wait(options.config.probe_interval);
  EXPECT_EQ(said(), "20:30 30");
  come_back();
  EXPECT_EQ(said(), "c1:terminated-5 break-20");
  EXPECT_EQ(state(), "");
}

TEST_F(HardLinksTest, a_request_that_comes_back_with_its_link_is_made_once_more) {
  EXPECT_TRUE(ask(link(0)));
  made();
  said();
  core->on_spdu_rejected({last_id, cas::CpduFailure::not_connected});
  broken(cas::LinkEnd::by_peer);
  core->on_deadline(now);
  EXPECT_EQ(said(), "call-20");
  EXPECT_EQ(state(), "linking");
}

// A.2.1.19(4) A.3.2.2.3(1),(2): the client that ended its link hears nothing more (A.2.1.19 note).
TEST_F(HardLinksTest, a_client_ends_its_link_and_hears_nothing) {
  establish(1);
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  EXPECT_EQ(said(), "20:61");
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));  // a second request does no harm
  hear("70");
  EXPECT_EQ(said(), "break-20");
  EXPECT_EQ(state(), "");
  EXPECT_TRUE(core->hold_calls());
  broken(cas::LinkEnd::by_us);
  EXPECT_FALSE(core->hold_calls());
}

// A.3.2.2.3(4),(5) A.3.1.7(6)
TEST_F(HardLinksTest, a_termination_without_answer_ends_at_its_time_and_is_told) {
  establish(1);
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  said();
  wait(options.config.terminate_wait - nanoseconds(1));
  EXPECT_EQ(said(), "");
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "c1:terminated-3 break-20");
}

// A.2.1.19(2): a client cannot end the link of another client or a link to another node.
TEST_F(HardLinksTest, only_its_client_ends_a_link) {
  establish(0);
  EXPECT_FALSE(core->request_terminate(now, kSecond, kPeer));
  EXPECT_FALSE(core->request_terminate(now, kClient, kOther));
  EXPECT_EQ(said(), "");
  EXPECT_EQ(state(), "active");
}

TEST_F(HardLinksTest, a_request_can_be_withdrawn_at_every_stage) {
  EXPECT_TRUE(ask(link(0)));
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  EXPECT_EQ(said(), "call-20 c1:rejected-3 break-20");
  broken(cas::LinkEnd::by_us);

  EXPECT_TRUE(ask(link(0)));
  made();
  said();
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  EXPECT_EQ(said(), "c1:rejected-3 20:61");
  hear("40");  // the two S_PDUs crossed
  EXPECT_EQ(said(), "");
  hear("70");
  EXPECT_EQ(said(), "break-20");
}

// A.3.2.2.3(3): the test also checks how the reasons map to those of the primitive.
TEST_F(HardLinksTest, the_peer_ends_a_link_and_is_answered_at_once) {
  const auto told_for = [&](const char* hex) {
    establish(2);
    hear(hex);
    EXPECT_EQ(state(), "");
    const std::string told = said();
    broken();  // the peer breaks the physical link
    return told;
  };
  EXPECT_EQ(told_for("61"), "20:70 c1:terminated-1");
  EXPECT_EQ(told_for("62"), "20:70 c1:terminated-2");
  EXPECT_EQ(told_for("64"), "20:70 c1:terminated-4");
  EXPECT_EQ(told_for("63"), "20:70 c1:terminated-1");
  EXPECT_EQ(told_for("60"), "20:70 c1:terminated-1");
  hear("61");  // there is no link at all
  EXPECT_EQ(said(), "20:70");
}

TEST_F(HardLinksTest, a_link_the_peer_does_not_break_is_broken_in_the_end) {
  establish(2);
  hear("61");
  said();
  wait(options.config.release_wait - nanoseconds(1));
  EXPECT_EQ(said(), "");
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "break-20");
}

TEST_F(HardLinksTest, terminations_that_cross_are_each_answered_and_done) {
  establish(2);
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  said();
  hear("61");
  EXPECT_EQ(said(), "20:70 break-20");
  hear("70");
  EXPECT_EQ(said(), "");
}

// A.3.2.2.3(7),(8)
TEST_F(HardLinksTest, a_broken_physical_link_ends_the_hard_link) {
  establish(0);
  broken(cas::LinkEnd::connection_lost);
  EXPECT_EQ(said(), "c1:terminated-5");
  EXPECT_EQ(state(), "");
  EXPECT_EQ(core->next_deadline(), std::nullopt);
}

// A.3.2.2(1)-(5) A.3.2.2.1(1)-(6) A.3.2.2.2(1)-(4)
TEST_F(HardLinksTest, a_request_of_lower_precedence_is_rejected_and_changes_nothing) {
  establish(1, 1);
  const auto rejected_2 = [&](const sis::HardLink& wanted) {
    EXPECT_TRUE(ask(wanted, kSecond));
    EXPECT_EQ(said(), "c2:rejected-2");
    EXPECT_EQ(state(), "active");
  };
  rejected_2(link(1, 0));
  rejected_2(link(1, 1));          // at a tie the existing link stays
  rejected_2(link(0, 1));          // the same nodes, a smaller type
  rejected_2(link(2, 1, kOther));  // other nodes: the type does not count
  second_rank = 4;
  rejected_2(link(2, 3));  // a larger rank wins over any priority
}

// A.3.2.2.2(5)-(7) A.3.2.2(6)
TEST_F(HardLinksTest, a_type_0_that_is_there_already_is_rejected_as_such) {
  establish(0, 1);
  EXPECT_TRUE(ask(link(0, 1), kSecond));
  EXPECT_EQ(said(), "c2:rejected-5");
  EXPECT_TRUE(ask(link(0, 0), kSecond));
  EXPECT_EQ(said(), "c2:rejected-2");
  EXPECT_TRUE(ask(link(0, 1, kOther), kSecond));
  EXPECT_EQ(said(), "c2:rejected-2");
  EXPECT_EQ(state(), "active");
}

// A.3.2.2.2(8): the link of lower precedence is ended first, and then the new one is made.
TEST_F(HardLinksTest, a_request_of_higher_precedence_ends_the_link_and_takes_its_place) {
  const auto takes_over = [&](const sis::HardLink& wanted) {
    establish(0, 1);
    EXPECT_TRUE(ask(wanted, kSecond));
    EXPECT_EQ(said(), "20:62");
    EXPECT_EQ(state(), "terminating waiting");
    hear("70");
    const std::string next = said();
    restart();
    return next;
  };
  EXPECT_EQ(takes_over(link(0, 2)), "c1:terminated-2 20:32 60");  // over the same physical link
  EXPECT_EQ(takes_over(link(1, 1)), "c1:terminated-2 20:35 60");
  EXPECT_EQ(takes_over(link(0, 2, kOther)), "c1:terminated-2 break-20 call-5");
  second_rank = 6;
  EXPECT_EQ(takes_over(link(0, 0)), "c1:terminated-2 20:30 60");
}

TEST_F(HardLinksTest, a_termination_without_answer_does_not_stop_the_successor) {
  establish(0, 1);
  EXPECT_TRUE(ask(link(0, 2, kOther), kSecond));
  said();
  wait(options.config.terminate_wait);
  EXPECT_EQ(said(), "c1:terminated-3 break-20 call-5");
}

// A.3.2.2.2(2)-(4) also apply to requests that are still in progress, even to two of one client.
TEST_F(HardLinksTest, requests_in_progress_are_compared_too) {
  EXPECT_TRUE(ask(link(0, 1)));
  EXPECT_TRUE(ask(link(0, 1)));
  EXPECT_EQ(said(), "call-20 c1:rejected-2");
  EXPECT_TRUE(ask(link(0, 2, kOther), kSecond));
  EXPECT_EQ(said(), "c1:rejected-2 break-20 call-5");
  EXPECT_TRUE(ask(link(0, 3), kClient));  // the first link is still being broken
  EXPECT_EQ(said(), "c2:rejected-2 break-5");
  EXPECT_EQ(state(), "waiting");
  broken(cas::LinkEnd::by_us);
  EXPECT_EQ(said(), "call-20");
}

TEST_F(HardLinksTest, a_request_that_was_sent_is_taken_back_before_another_goes_on) {
  EXPECT_TRUE(ask(link(0, 1)));
  made();
  said();
  EXPECT_TRUE(ask(link(0, 2), kSecond));
  EXPECT_EQ(said(), "c1:rejected-2 20:62");
  hear("40");  // the two S_PDUs crossed
  EXPECT_EQ(said(), "");
  hear("70");
  EXPECT_EQ(said(), "20:32 60");
  hear("40");
  EXPECT_EQ(said(), "c2:established");
}

// A.2.1.2
TEST_F(HardLinksTest, the_owner_that_goes_takes_its_link_with_it_at_every_stage) {
  EXPECT_TRUE(ask(link(0)));
  core->on_client_gone(now, kClient);
  EXPECT_EQ(said(), "call-20 break-20");
  broken(cas::LinkEnd::by_us);

  EXPECT_TRUE(ask(link(0)));
  made();
  said();
  core->on_client_gone(now, kClient);
  EXPECT_EQ(said(), "20:61");
  hear("70");
  EXPECT_EQ(said(), "break-20");
  broken(cas::LinkEnd::by_us);

  establish(2);
  core->on_client_gone(now, kClient);
  EXPECT_EQ(said(), "20:61");
  wait(options.config.terminate_wait);
  EXPECT_EQ(said(), "break-20");
  broken(cas::LinkEnd::by_us);

  establish(2);
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  core->on_client_gone(now, kClient);
  said();
  wait(options.config.terminate_wait);
  EXPECT_EQ(said(), "break-20");
}

TEST_F(HardLinksTest, a_silent_peer_is_asked_and_one_that_has_no_such_link_ends_it) {
  establish(2);
  const Duration interval = options.config.probe_interval;
  wait(interval - nanoseconds(1));
  core->on_traffic(now, kPeer);
  wait(interval - nanoseconds(1));
  EXPECT_EQ(said(), "");
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "20:38 34");
  hear("40");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(state(), "active");
  hear("54");
  EXPECT_EQ(said(), "c1:terminated-1 break-20");
}

// A.3.2.2.1(6), A.3.2.2.2(21): the existing link wins against an equal request. A node that takes
// the probe for a new request therefore answers that it is busy with the link that we ask about.
TEST_F(HardLinksTest, a_peer_that_is_asked_and_is_busy_with_an_equal_link_keeps_it) {
  establish(2);
  for (int i = 0; i < 3; ++i) {
    wait(options.config.probe_interval);
    EXPECT_EQ(said(), "20:38 34");
    hear("51");
    EXPECT_EQ(said(), "");
    EXPECT_EQ(state(), "active");
  }
}

TEST_F(HardLinksTest, no_peer_is_asked_where_the_interval_is_zero) {
  options.config.probe_interval = Duration::zero();
  restart();
  establish(2);
  EXPECT_EQ(core->next_deadline(), std::nullopt);
}

// A.1.1.2.1(1)-(4), A.1.1.2.2(1)-(3), A.1.1.2.3(1)-(3)
TEST_F(HardLinksTest, each_type_carries_what_it_is_for) {
  const SapId owner{3};
  const SapId named{4};
  const SapId else_here{6};
  const SapId else_there{8};
  establish(0);
  EXPECT_TRUE(core->carries(kPeer, else_here, else_there));
  EXPECT_FALSE(core->carries(kOther, owner, named));
  EXPECT_TRUE(core->allows_nonarq(kOther, else_here, else_there));
  restart();
  establish(1);
  EXPECT_TRUE(core->carries(kPeer, owner, else_there));
  EXPECT_FALSE(core->carries(kPeer, else_here, named));
  EXPECT_TRUE(core->allows_nonarq(kOther, owner, else_there));
  EXPECT_FALSE(core->allows_nonarq(kPeer, else_here, named));
  restart();
  establish(2);
  EXPECT_TRUE(core->carries(kPeer, owner, named));
  EXPECT_FALSE(core->carries(kPeer, owner, else_there));
  EXPECT_FALSE(core->carries(kPeer, else_here, named));
  EXPECT_TRUE(core->allows_nonarq(kPeer, owner, named));
  EXPECT_FALSE(core->allows_nonarq(kOther, owner, named));
}

TEST_F(HardLinksTest, a_link_on_its_way_up_or_down_carries_nothing) {
  EXPECT_TRUE(ask(link(0)));
  EXPECT_TRUE(core->governs(kPeer));
  EXPECT_FALSE(core->end_soft_links());
  made();
  EXPECT_TRUE(core->end_soft_links());
  EXPECT_FALSE(core->carries(kPeer, SapId{3}, SapId{4}));
  hear("40");
  EXPECT_TRUE(core->carries(kPeer, SapId{3}, SapId{4}));
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  EXPECT_FALSE(core->carries(kPeer, SapId{3}, SapId{4}));
}

}  // namespace
}  // namespace s5066::sap
