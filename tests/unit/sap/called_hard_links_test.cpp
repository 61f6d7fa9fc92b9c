// SPDX-License-Identifier: Apache-2.0
// Here a peer asks this node for hard links, or both sides ask at once.
#include "tests/unit/sap/hard_links_fixture.h"

namespace s5066::sap {
namespace {

using std::chrono::nanoseconds;
using CalledHardLinks = HardLinksFixture;

// A.3.2.2.2(22), A.2.1.23(1): no client here is told of Types 0 and 1.
TEST_F(CalledHardLinks, types_0_and_1_are_accepted_without_a_client) {
  for (const char* request : {"31 70", "35 70"}) {
    restart();
    made(kPeer, false);
    EXPECT_EQ(said(), "");
    EXPECT_FALSE(core->end_soft_links());  // until the request is accepted
    EXPECT_TRUE(kept.empty());
    hear(request);
    EXPECT_EQ(said(), "20:40");
    EXPECT_EQ(std::exchange(kept, {}), std::vector{kPeer});
    EXPECT_EQ(state(), "active");
    EXPECT_TRUE(core->end_soft_links());
  }
}

// A.3.2.2.2(23),(24) A.2.1.23(1)-(7)
TEST_F(CalledHardLinks, a_type_2_is_offered_to_its_client_and_accepted_by_it) {
  made(kPeer, false);
  hear("39 73");
  const auto told = std::get<SendPrimitive>(*outbox.poll());
  EXPECT_EQ(told.client, kClient);
  EXPECT_EQ(told.primitive, sis::Primitive{(sis::HardLinkIndication{1, link(2, 1, kPeer, 7)})});
  EXPECT_EQ(said(), "");
  EXPECT_FALSE(core->request_accept(now, kSecond, link(2, 1, kPeer, 7)));
  EXPECT_FALSE(core->request_accept(now, kClient, link(2, 0, kPeer, 7)));
  EXPECT_FALSE(core->request_terminate(now, kClient, kPeer));
  EXPECT_TRUE(core->request_accept(now, kClient, link(2, 1, kPeer, 7)));
  EXPECT_EQ(said(), "20:40");
  EXPECT_EQ(state(), "active");
  EXPECT_FALSE(core->request_accept(now, kClient, link(2, 1, kPeer, 7)));
}

// A.3.2.2.2(24) A.2.1.25(1)-(6)
TEST_F(CalledHardLinks, a_client_refuses_with_its_reason_if_the_air_has_that) {
  const auto refused_by = [&](std::uint8_t reason) {
    made(kPeer, false);
    hear("38 73");
    said();
    EXPECT_FALSE(core->request_reject(now, kSecond, {reason, link(2, 0, kPeer, 7)}));
    EXPECT_TRUE(core->request_reject(now, kClient, {reason, link(2, 0, kPeer, 7)}));
    EXPECT_EQ(state(), "");
    const std::string answer = said();
    broken();
    return answer;
  };
  EXPECT_EQ(refused_by(0), "20:51");
  EXPECT_EQ(refused_by(1), "20:51");
  EXPECT_EQ(refused_by(4), "20:54");
  EXPECT_EQ(refused_by(5), "20:51");
}

// A.3.2.2.2(23),(24)
TEST_F(CalledHardLinks, a_client_that_does_not_answer_refuses_at_its_time) {
  made(kPeer, false);
  hear("38 73");
  said();
  wait(options.config.client_wait - nanoseconds(1));
  EXPECT_EQ(said(), "");
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "c1:terminated-3 20:53");
  EXPECT_FALSE(core->request_accept(now, kClient, link(2, 0, kPeer, 7)));
}

// A.3.2.2.2(17),(18): the node checks the SAP before anything else.
TEST_F(CalledHardLinks, a_type_2_for_an_unbound_sap_is_refused) {
  establish(2, 3);
  hear("38 79");
  EXPECT_EQ(said(), "20:54");
  EXPECT_EQ(state(), "active");
}

// A.3.2.2.2(19)-(21)
TEST_F(CalledHardLinks, what_cannot_take_precedence_is_refused_with_a_reason) {
  establish(1, 1);
  made(kOther, false);
  hear("31 70", kOther);  // rank 5 by default, the same priority, other nodes
  EXPECT_EQ(said(), "5:51");
  hear("30 70", kOther);
  EXPECT_EQ(said(), "5:52");
  options.config.remote_rank = 4;
  restart();
  establish(0, 0);
  made(kOther, false);
  hear("33 70", kOther);
  EXPECT_EQ(said(), "5:52");
  EXPECT_EQ(state(), "active");
  wait(options.config.release_wait);
  EXPECT_EQ(said(), "break-5");  // the caller has not broken it
}

// A.3.2.2.2(19): a Type 2 has the rank of the client that it is for.
TEST_F(CalledHardLinks, a_type_2_is_weighed_by_the_rank_of_the_called_client) {
  establish(0, 3);
  made(kOther, false);
  second_rank = 4;
  hear("3B 76", kOther);
  EXPECT_EQ(said(), "5:52");
  second_rank = 6;
  hear("38 76", kOther);
  EXPECT_EQ(said(), "c2:indication");
}

// A.3.2.2.2(8),(22)
TEST_F(CalledHardLinks, what_takes_precedence_has_the_other_link_ended_first) {
  establish(0, 1);
  made(kOther, false);
  hear("32 70", kOther);
  EXPECT_EQ(said(), "20:62");
  EXPECT_EQ(state(), "terminating waiting");
  hear("70");
  EXPECT_EQ(said(), "c1:terminated-2 break-20 5:40");
  EXPECT_EQ(state(), "active");
}

TEST_F(CalledHardLinks, an_active_link_stays_until_the_client_has_accepted_its_successor) {
  establish(0, 1);
  made(kOther, false);
  hear("3A 76", kOther);
  EXPECT_EQ(said(), "c2:indication");
  EXPECT_EQ(state(), "active indicated");
  EXPECT_TRUE(core->request_accept(now, kSecond, link(2, 2, kOther, 7)));
  EXPECT_EQ(said(), "20:62");
  hear("70");
  EXPECT_EQ(said(), "c1:terminated-2 break-20 5:40");
}

TEST_F(CalledHardLinks, a_request_of_ours_in_progress_gives_way_or_stands) {
  EXPECT_TRUE(ask(link(0, 1)));
  made(kOther, false);
  hear("31 70", kOther);
  EXPECT_EQ(said(), "call-20 5:51");
  hear("32 70", kOther);
  EXPECT_EQ(said(), "c1:rejected-2 break-20 5:40");
  EXPECT_EQ(state(), "active");
}

TEST_F(CalledHardLinks, an_indication_gives_way_to_a_request_of_ours) {
  made(kPeer, false);
  hear("38 73");
  EXPECT_TRUE(ask(link(0, 1, kOther), kSecond));
  EXPECT_EQ(said(), "c1:indication c1:terminated-2 20:52 call-5");
}

TEST_F(CalledHardLinks, a_request_said_again_is_answered_again_and_changes_nothing) {
  be_called("31 70");
  hear("31 70");
  EXPECT_EQ(said(), "20:40");
  restart();
  made(kPeer, false);
  hear("38 73");
  hear("38 73");
  EXPECT_EQ(said(), "c1:indication");
}

// A.3.2.2.3(1),(3) A.2.1.22(2): on the called side of Types 0 and 1 no client is told.
TEST_F(CalledHardLinks, the_end_is_told_to_the_client_of_a_type_2_only) {
  be_called("31 70");
  hear("61");
  EXPECT_EQ(said(), "20:70");
  broken();
  be_called("38 73");
  hear("61");
  EXPECT_EQ(said(), "20:70 c1:terminated-1");
  broken();
  be_called("31 70");
  broken(cas::LinkEnd::connection_lost);
  EXPECT_EQ(said(), "");
  be_called("38 73");
  broken(cas::LinkEnd::connection_lost);
  EXPECT_EQ(said(), "c1:terminated-5");
}

// A.3.2.2.3(1): the called client of a Type 2 may end it as well.
TEST_F(CalledHardLinks, the_called_client_of_a_type_2_ends_it) {
  be_called("38 73");
  EXPECT_TRUE(core->request_terminate(now, kClient, kPeer));
  EXPECT_EQ(said(), "20:61");
  hear("70");
  EXPECT_EQ(said(), "break-20");
}

TEST_F(CalledHardLinks, the_called_client_that_goes_ends_the_link_at_every_stage) {
  made(kPeer, false);
  hear("38 73");
  said();
  core->on_client_gone(now, kClient);
  EXPECT_EQ(said(), "20:54");
  broken();
  be_called("38 73");
  core->on_client_gone(now, kClient);
  EXPECT_EQ(said(), "20:64");
  hear("70");
  EXPECT_EQ(said(), "break-20");
}

TEST_F(CalledHardLinks, a_request_taken_back_or_lost_voids_the_indication) {
  made(kPeer, false);
  hear("38 73");
  hear("62");
  EXPECT_EQ(said(), "c1:indication 20:70 c1:terminated-2");
  hear("38 73");
  broken();
  EXPECT_EQ(said(), "c1:indication c1:terminated-5");
  EXPECT_EQ(core->next_deadline(), std::nullopt);
}

// A.3.2.2.3(1): an establish of higher precedence ends the link from the called side.
TEST_F(CalledHardLinks, a_link_of_the_peer_gives_way_to_a_client_of_ours) {
  be_called("31 70");
  EXPECT_TRUE(ask(link(0, 1)));
  EXPECT_EQ(said(), "c1:rejected-5");  // an equal link exists: both ranks are 5
  EXPECT_TRUE(ask(link(0, 2)));
  EXPECT_EQ(said(), "20:62");
  hear("70");
  EXPECT_EQ(said(), "20:32 30");
  hear("40");
  EXPECT_EQ(said(), "c1:established");
}

// Neither node knows the other's rank, so both compare the values that both know.
TEST_F(CalledHardLinks, of_two_requests_that_cross_the_same_one_stands_at_both_ends) {
  const auto cross = [&](Address own, unsigned priority, const char* theirs) {
    options.own = own;
    restart();
    EXPECT_TRUE(ask(link(1, priority)));
    made();
    said();
    hear(theirs);
    return said();
  };
  EXPECT_EQ(cross(Address{10}, 1, "35 70"), "c1:rejected-2 20:40");  // 20 is the larger address
  EXPECT_EQ(cross(Address{30}, 1, "35 70"), "20:52");
  EXPECT_EQ(cross(Address{10}, 2, "35 70"), "20:52");
  EXPECT_EQ(cross(Address{30}, 1, "36 70"), "c1:rejected-2 20:40");
  EXPECT_EQ(cross(Address{30}, 1, "39 73"), "c1:rejected-2 c1:indication");
  rank = 14;  // the peer cannot know this rank
  EXPECT_EQ(cross(Address{10}, 1, "35 70"), "c1:rejected-2 20:40");
}

TEST_F(CalledHardLinks, a_peer_that_takes_itself_for_the_called_side_is_put_right) {
  be_called("31 70");
  hear("40");
  EXPECT_EQ(said(), "20:61");
  hear("70");
  broken(cas::LinkEnd::by_us);
  said();
  made(kPeer, false);
  hear("40");
  EXPECT_EQ(said(), "20:61");
}

TEST_F(CalledHardLinks, a_request_over_another_type_of_link_is_served) {
  hear("31 70");
  EXPECT_EQ(said(), "20:40");
  EXPECT_TRUE(core->governs(kPeer));
  core->on_link_broken(now, {kPeer, cas::LinkEnd::by_peer, cas::LinkType::nonexclusive});
  EXPECT_EQ(state(), "");
  EXPECT_FALSE(core->governs(kPeer));
}

TEST_F(CalledHardLinks, an_exclusive_link_without_a_request_does_not_stay) {
  made(kPeer, false);
  EXPECT_FALSE(core->hold_calls());
  wait(options.config.release_wait);
  EXPECT_EQ(said(), "break-20");
  hear("31 70");  // the peer will see the link end
  EXPECT_EQ(said(), "");
}

// B.3.2(4): the request of a peer that has called decides whether other calls have to wait.
TEST_F(CalledHardLinks, an_exclusive_link_holds_calls_once_a_hard_link_has_needed_it) {
  made(kPeer, false);
  EXPECT_FALSE(core->hold_calls());
  hear("31 70");
  EXPECT_TRUE(core->hold_calls());
  hear("60");
  EXPECT_EQ(state(), "");
  EXPECT_TRUE(core->hold_calls());
  broken(cas::LinkEnd::by_peer);
  EXPECT_FALSE(core->hold_calls());
}

TEST_F(CalledHardLinks, the_called_side_asks_a_silent_peer_later_than_the_caller) {
  be_called("31 70");
  wait(2 * options.config.probe_interval - nanoseconds(1));
  EXPECT_EQ(said(), "");
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "20:40");
}

// A.1.1.2.2(1)-(3), A.1.1.2.3(1)-(3)
TEST_F(CalledHardLinks, each_type_carries_what_it_is_for) {
  be_called("35 70");
  EXPECT_TRUE(core->carries(kPeer, SapId{6}, SapId{7}));
  EXPECT_FALSE(core->carries(kPeer, SapId{6}, SapId{8}));
  EXPECT_TRUE(core->allows_nonarq(kPeer, SapId{6}, SapId{7}));
  EXPECT_FALSE(core->allows_nonarq(kOther, SapId{6}, SapId{7}));
  restart();
  be_called("38 73");
  EXPECT_TRUE(core->carries(kPeer, SapId{3}, SapId{7}));
  EXPECT_FALSE(core->carries(kPeer, SapId{6}, SapId{7}));
}

// Our call broke that link, but the peer has not heard of it yet.
TEST_F(CalledHardLinks, a_request_over_a_link_that_is_being_ended_is_not_served) {
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "call-20");
  hear("33 70");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(state(), "linking");
  rejected(std::nullopt);
  EXPECT_EQ(said(), "c1:rejected-3");
  soft_link = false;
  hear("33 70");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(state(), "");
  EXPECT_FALSE(core->hold_calls());
}

// A.3.2.2.2(9), B.3(5): the peer's hard link came over a Nonexclusive link and is over. Our own
// hard link does not use that link.
TEST_F(CalledHardLinks, our_own_request_after_one_over_a_soft_link_gets_an_exclusive_link) {
  hear("30 70");
  hear("61");
  EXPECT_EQ(said(), "20:40 20:70");
  EXPECT_TRUE(core->hold_calls());
  EXPECT_TRUE(ask(link(0)));
  EXPECT_EQ(said(), "call-20");
  core->on_link_broken(now, {kPeer, cas::LinkEnd::by_us, cas::LinkType::nonexclusive});
  EXPECT_EQ(said(), "");
  made();
  EXPECT_EQ(said(), "20:30 30");
  hear("40");
  EXPECT_EQ(said(), "c1:established");
}

TEST_F(CalledHardLinks, an_answer_that_cannot_be_sent_ends_the_link) {
  hear("30 70");
  EXPECT_EQ(said(), "20:40");
  come_back(cas::CpduFailure::queue_full);
  EXPECT_EQ(said(), "break-20");
  core->on_link_broken(now, {kPeer, cas::LinkEnd::by_us, cas::LinkType::nonexclusive});
  EXPECT_FALSE(core->hold_calls());
  EXPECT_FALSE(core->end_soft_links());
}

}  // namespace
}  // namespace s5066::sap
