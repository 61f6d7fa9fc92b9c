// SPDX-License-Identifier: Apache-2.0
// These tests cover Exclusive links beside Nonexclusive ones (B.3, B.3.2), and links made without
// CAS 1.
#include "tests/unit/cas/link_fixture.h"

namespace s5066::cas {
namespace {

// B.3(7) B.3.2(5)
TEST_F(Link, a_pending_exclusive_call_counts_as_one_of_the_two) {
  core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, *from_hex("11")});
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "make made-by-peer 20 11");
  core->on_cpdu(now, {Service::expedited_nonarq, Address{9}, Address{1}, *from_hex("11")});
  wait(config.answer_wait());
  EXPECT_EQ(said(), "33");
  EXPECT_EQ(core->request_link(now, Address{9}, LinkType::exclusive).error().code,
            ErrorCode::refused);
}

// B.3(5) B.3.2.1(18)-(20)
TEST_F(Link, a_nonexclusive_link_makes_way_for_an_exclusive_one_to_the_same_node) {
  make_by_us();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "43");
  EXPECT_EQ(core->state(kPeer), LinkState::breaking);
  leaves();
  hear("50");
  EXPECT_EQ(said(), "terminate broken-by_us 11");
  leaves();
  hear("20");
  EXPECT_EQ(said(), "make made-by-us");
  EXPECT_EQ(core->links()[0].type, LinkType::exclusive);
}

TEST_F(Link, a_nonexclusive_call_makes_way_for_an_exclusive_one) {
  call();
  EXPECT_EQ(said(), "10");
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "43");
  leaves();
  hear("20");  // answers the call that was given up
  EXPECT_EQ(said(), "");
  hear("50");
  EXPECT_EQ(said(), "broken-by_us 11");
}

TEST_F(Link, an_exclusive_link_wanted_while_breaking_is_called_for_afterwards) {
  make_by_us();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  EXPECT_EQ(core->request_link(now, kPeer, LinkType::nonexclusive).error().code,
            ErrorCode::link_down);
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "44");
  for (unsigned i = 1; i < config.breaks_max; ++i) {
    leaves();
    ring();
    EXPECT_EQ(said(), "44");
  }
  leaves();
  ring();
  EXPECT_EQ(said(), "terminate broken-by_us 11");
}

TEST_F(Link, an_exclusive_link_that_waits_for_a_break_can_be_given_up) {
  make_by_us();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  said();
  leaves();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::higher_layer_request).ok());
  EXPECT_EQ(said(), "no-answer");
  hear("50");
  EXPECT_EQ(said(), "terminate broken-by_us");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

// B.3.2(4)
TEST_F(Link, an_exclusive_link_that_waits_for_a_break_shuts_nonexclusive_ones_out) {
  make_by_us();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  said();
  core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, *from_hex("10")});
  EXPECT_EQ(said(), "33");
}

// B.3.2(4)
TEST_F(Link, of_two_calls_that_cross_the_exclusive_one_stands) {
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  said();
  leaves();
  hear("10");
  EXPECT_EQ(said(), "33");
  hear("20");
  EXPECT_EQ(said(), "make made-by-us");
  EXPECT_EQ(core->links()[0].type, LinkType::exclusive);

  restart();
  call();
  said();
  leaves();
  hear("11");
  EXPECT_EQ(said(), "make made-by-peer 20");
  EXPECT_EQ(core->links()[0].type, LinkType::exclusive);
  leaves();
  hear("33");
  EXPECT_EQ(said(), "");
}

TEST_F(Link, exclusive_calls_that_cross_break_the_nonexclusive_links_too) {
  core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, *from_hex("10")});
  said();
  leaves();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  said();
  leaves();
  hear("11");
  wait(config.answer_wait());
  EXPECT_EQ(said(), "43 make made-by-us 20");
  EXPECT_EQ(core->state(kOther), LinkState::breaking);
}

// The peer must not receive a REQUEST of ours after our ACCEPTED, because it would take it for a
// new call.
TEST_F(Link, a_call_that_follows_a_break_is_out_before_the_peers_crossing_one_is_answered) {
  for (const std::string_view theirs : {"11", "10"}) {
    restart();
    make_by_us();
    ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
    EXPECT_EQ(said(), "43");
    leaves();
    hear(theirs);
    EXPECT_EQ(said(), "terminate broken-by_us 11");
    EXPECT_EQ(core->state(kPeer), LinkState::calling);
    leaves();
    EXPECT_EQ(said(), theirs == "11" ? "make made-by-us 20" : "33");
  }
}

// B.3(3.1)
TEST_F(Link, linked_externally_a_call_may_cross_one_that_follows_a_break) {
  config.linked_externally = {kPeer};
  restart();
  call();
  said();
  core->on_warning(now, {kPeer, 0, 1});
  said();
  make_by_us();
  ASSERT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "43");
  leaves();
  hear("11");
  EXPECT_EQ(said(), "terminate broken-by_us make-reset made-by-us make 20");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
}

TEST_F(Link, a_request_for_another_type_is_a_new_call) {
  make_by_peer();
  hear("11");
  EXPECT_EQ(said(), "terminate broken-called_anew make made-by-peer 20");
  EXPECT_EQ(core->links()[0].type, LinkType::exclusive);
}

// B.3(3.3),(3.4),(3.5)
TEST_F(Link, linked_externally_a_link_is_made_and_broken_without_a_word) {
  config.linked_externally = {kPeer};
  restart();
  call();
  EXPECT_EQ(said(), "make-reset made-by-us");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
  give_data(1);
  EXPECT_EQ(said(), "arq:00 05 33 00 41");
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  EXPECT_EQ(said(), "terminate broken-by_us");
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::nonexclusive).ok());
  EXPECT_EQ(said(), "10");  // calls to other nodes use CAS 1
}

// B.3(3.3),(3.4),(3.5)
TEST_F(Link, linked_externally_a_link_ends_with_its_frequency_and_nothing_is_said) {
  config.linked_externally = {kPeer};
  restart();
  call();
  said();
  core->on_connection_lost(now, {kPeer});
  EXPECT_EQ(said(), "broken-connection_lost");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
  EXPECT_EQ(due(), std::nullopt);
  call();
  EXPECT_EQ(said(), "make-reset made-by-us");
}

// B.3(3.1)
TEST_F(Link, linked_externally_a_warning_brings_cas_1_back_until_that_link_ends) {
  config.linked_externally = {kPeer};
  restart();
  call();
  said();
  core->on_warning(now, {kPeer, 0, 1});
  EXPECT_EQ(said(), "terminate broken-not_connected");
  make_by_us();  // REQUEST and ACCEPTED
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  EXPECT_EQ(said(), "44");
  leaves();
  hear("50");
  said();
  call();
  EXPECT_EQ(said(), "make-reset made-by-us");
}

// B.3(3.2),(3.6)-(3.8)
TEST_F(Link, linked_externally_request_and_break_are_answered_as_ever) {
  config.linked_externally = {kPeer};
  restart();
  call();
  said();
  hear("10");
  EXPECT_EQ(said(), "make 20");
  leaves();
  EXPECT_EQ(core->state(kPeer), LinkState::made);
  hear("44");
  EXPECT_EQ(said(), "50 terminate broken-by_peer");
}

TEST_F(Link, linked_externally_an_exclusive_link_breaks_the_nonexclusive_ones) {
  config.linked_externally = {kPeer, kOther};
  restart();
  call();
  said();
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "terminate broken-by_us make-reset made-by-us");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

}  // namespace
}  // namespace s5066::cas
