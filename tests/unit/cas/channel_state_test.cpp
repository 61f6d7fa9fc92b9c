// SPDX-License-Identifier: Apache-2.0
// These tests begin a broadcast session or radio silence while links exist (A.3.2.3, EMCON).
#include "tests/unit/cas/link_fixture.h"

namespace s5066::cas {
namespace {

// B.3(3.5)
TEST_F(Link, linked_externally_several_links_end_when_a_broadcast_session_begins) {
  config.linked_externally = {kPeer, kOther};
  restart();
  call();
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::nonexclusive).ok());
  said();
  core->set_broadcast(now, true);
  EXPECT_EQ(said(), "terminate broken-by_us terminate broken-by_us");
  EXPECT_TRUE(core->links().empty());
}

TEST_F(Link, no_exclusive_call_follows_a_break_into_a_broadcast_session) {
  make_by_us();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "43");
  core->set_broadcast(now, true);
  EXPECT_EQ(said(), "no-answer");  // answers the call that was to follow
  leaves();
  hear("50");
  EXPECT_EQ(said(), "terminate broken-by_us");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

TEST_F(Link, no_exclusive_call_follows_a_break_into_radio_silence) {
  make_by_us();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "43");
  core->set_silent(now, true);
  EXPECT_EQ(said(), "no-answer terminate broken-by_us");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
  EXPECT_EQ(due(), std::nullopt);
}

// B.2(5)
TEST_F(Link, acknowledged_data_of_a_peer_without_a_link_is_dropped_and_counted) {
  make_by_peer();
  hear("00 05 33 00 41", Service::expedited_arq);
  EXPECT_EQ(said(), "spdu");
  hear("44");
  hear("00 05 33 00 41", Service::expedited_arq);  // again, after the BREAK
  hear("00 05 33 00 41", Service::arq);
  EXPECT_EQ(said(), "50 terminate broken-by_peer");
  call();
  hear("00 05 33 00 41", Service::arq);
  EXPECT_EQ(said(), "10");
  EXPECT_EQ(counters[Counter::cpdus_without_link], 3u);
  hear("00 05 33 00 41", Service::nonarq);
  hear("00 05 33 00 41", Service::expedited_nonarq);
  EXPECT_EQ(said(), "spdu spdu");
  EXPECT_EQ(counters[Counter::cpdus_without_link], 3u);
}

TEST_F(Link, acknowledged_data_that_comes_while_we_break_is_delivered) {
  make_by_us();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  said();
  hear("00 05 33 00 41", Service::arq);
  hear("00 05 33 00 41", Service::expedited_arq);
  EXPECT_EQ(said(), "spdu spdu");
  EXPECT_EQ(counters[Counter::cpdus_without_link], 0u);
}

TEST_F(Link, acknowledged_data_of_a_peer_whose_call_we_gave_up_is_dropped) {
  call();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  said();
  hear("00 05 33 00 41", Service::arq);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(counters[Counter::cpdus_without_link], 1u);
}

// Without this report the layer above would hand data down to a link that carries none, and again
// when the data comes back.
TEST_F(Link, the_layer_above_is_told_at_once_when_either_side_begins_to_break_a_link) {
  make_by_us();
  EXPECT_TRUE(closing.empty());
  core->set_broadcast(now, true);
  said();
  ASSERT_EQ(closing.size(), 1u);
  EXPECT_EQ(closing[0].peer, kPeer);
  EXPECT_EQ(closing[0].type, LinkType::nonexclusive);
  core->set_broadcast(now, false);
  leaves();
  hear("50");
  EXPECT_EQ(said(), "terminate broken-by_us");

  make_by_us();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());  // the other makes way
  said();
  EXPECT_EQ(closing.size(), 2u);
  leaves();
  hear("50");
  said();
  leaves();
  hear("20");
  EXPECT_EQ(said(), "make made-by-us");
  EXPECT_EQ(closing.size(), 2u);
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  said();
  ASSERT_EQ(closing.size(), 3u);
  EXPECT_EQ(closing[2].type, LinkType::exclusive);
}

}  // namespace
}  // namespace s5066::cas
