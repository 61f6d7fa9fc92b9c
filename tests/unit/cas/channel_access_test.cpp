// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cas/link_fixture.h"

namespace s5066::cas {
namespace {

// B.2(1),(2) B.3.2.1(2)-(4),(18),(20)
TEST_F(Link, a_call_that_is_accepted_makes_the_link) {
  call();
  EXPECT_EQ(said(), "10");
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
  leaves();
  hear("20");
  EXPECT_EQ(said(), "make made-by-us");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
  EXPECT_EQ(due(), std::nullopt);
}

// B.3.2.1(3),(4)
TEST_F(Link, the_wait_for_an_answer_starts_when_the_request_has_left) {
  call();
  said();
  wait(config.answer_wait() * 3);
  EXPECT_EQ(said(), "");  // the request is still in the queue of a busy channel
  leaves();
  wait(config.answer_wait() - nanoseconds(1));
  EXPECT_EQ(said(), "");
  wait(config.exchange_time + nanoseconds(1));  // the jitter is less than one exchange
  EXPECT_EQ(said(), "10");
}

// B.3.2.1(22)-(24)
TEST_F(Link, a_request_is_repeated_as_often_as_configured_and_then_reported) {
  call();
  for (unsigned i = 0; i < config.requests_max; ++i) {
    EXPECT_EQ(said(), "10");
    leaves();
    ring();
  }
  EXPECT_EQ(said(), "no-answer");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
  EXPECT_EQ(due(), std::nullopt);
  hear("20");  // too late
  EXPECT_EQ(said(), "");
}

TEST_F(Link, a_request_the_channel_never_lets_out_ends_in_no_answer) {
  call();
  said();
  wait(config.control_wait_max - nanoseconds(1));
  leaves();  // just in time, so this is still the first request
  ring();
  EXPECT_EQ(said(), "10");
  wait(config.control_wait_max);
  EXPECT_EQ(said(), "");
  ring();
  EXPECT_EQ(said(), "10");
  core->on_cpdu_rejected(now, {last_id, CpduFailure::queue_full});
  ring();
  EXPECT_EQ(said(), "no-answer");
}

// B.3.2.1(21)
TEST_F(Link, a_rejection_carries_its_reason_up) {
  call();
  said();
  leaves();
  hear("33");
  EXPECT_EQ(said(), "rejected-3");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

TEST_F(Link, the_link_is_not_made_while_a_repeated_request_is_leaving) {
  call();
  said();
  leaves();
  ring();
  EXPECT_EQ(said(), "10");
  hear("20");  // answers the first request
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
  leaves();
  EXPECT_EQ(said(), "make made-by-us");
  hear("20");  // answers the second request
  EXPECT_EQ(said(), "");
}

// Goal:   a late ACCEPTED that answers an earlier call makes no link. Otherwise the peer would go
//         on with the old link, and frames of both links would be taken for one C_PDU.
// Found:  by the swarm, large windows, seed 7.
TEST_F(Link, accepted_before_our_first_request_is_out_answers_nothing) {
  call();
  EXPECT_EQ(said(), "10");
  hear("20");
  leaves();
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
  hear("20");
  EXPECT_EQ(said(), "make made-by-us");
}

TEST_F(Link, a_call_for_a_made_link_is_answered_at_once) {
  make_by_us();
  call();
  EXPECT_EQ(said(), "made-by-us");
}

// B.2(2),(4) B.3(3.2) B.3.1.2(9) B.3.2.1(11),(12),(14)
TEST_F(Link, a_called_link_is_made_when_accepted_is_sent) {
  hear("10");
  EXPECT_EQ(said(), "make made-by-peer 20");
  EXPECT_EQ(core->state(kPeer), LinkState::made_wait);
  hear("00 05 33 00 41", Service::arq);
  EXPECT_EQ(said(), "spdu");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
  EXPECT_EQ(due(), std::nullopt);
}

// B.3.2.1(16),(17)
TEST_F(Link, without_first_data_a_called_link_ends_silently_at_its_time) {
  make_by_peer();
  wait(config.first_data_wait() - nanoseconds(1));
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::made_wait);
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "terminate broken-no_first_data");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

// B.3.2.1(16)
TEST_F(Link, a_peer_that_is_heard_on_the_connection_has_more_time_for_its_first_data) {
  make_by_peer();
  for (int frame = 0; frame < 5; ++frame) {
    wait(config.first_data_wait() - nanoseconds(1));
    core->on_connection_heard(now, kPeer);
  }
  wait(config.first_data_wait() - nanoseconds(1));
  EXPECT_EQ(core->state(kPeer), LinkState::made_wait);
  wait(nanoseconds(1));
  EXPECT_EQ(said(), "terminate broken-no_first_data");
}

TEST_F(Link, being_heard_starts_no_wait_for_data_where_none_was) {
  make_by_us();
  core->on_connection_heard(now, kPeer);
  core->on_connection_heard(now, kOther);
  EXPECT_EQ(due(), std::nullopt);
}

TEST_F(Link, data_without_acknowledgement_does_not_stand_for_first_data) {
  make_by_peer();
  hear("00 05 33 00 41", Service::nonarq);
  EXPECT_EQ(said(), "spdu");
  EXPECT_EQ(core->state(kPeer), LinkState::made_wait);
}

// B.2(3)
TEST_F(Link, an_acknowledgement_of_our_data_shows_that_the_peer_has_the_link) {
  make_by_peer();
  give_data(1);
  EXPECT_EQ(said(), "arq:00 05 33 00 41");
  core->on_cpdu_confirm(now, {CpduId{1}});
  EXPECT_EQ(said(), "confirm");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
}

TEST_F(Link, our_data_waits_until_accepted_has_left) {
  hear("10");
  said();
  const CpduId accepted = last_id;
  give_data(1);
  EXPECT_EQ(said(), "");
  core->on_cpdu_confirm(now, {accepted});
  EXPECT_EQ(said(), "arq:00 05 33 00 41");
}

TEST_F(Link, data_held_for_accepted_is_returned_when_the_link_ends) {
  hear("10");
  said();
  give_data(1);
  hear("44");
  EXPECT_EQ(said(), "reject terminate broken-by_peer");
  leaves();
  EXPECT_EQ(said(), "50");
}

// B.3.2.1(15)
TEST_F(Link, a_repeated_request_is_accepted_again_and_restarts_the_wait_for_data) {
  make_by_peer();
  wait(config.first_data_wait() - nanoseconds(1));
  hear("10");
  EXPECT_EQ(said(), "make 20");  // changes nothing below unless the peer has used it
  leaves();
  wait(config.first_data_wait() - nanoseconds(1));
  EXPECT_EQ(core->state(kPeer), LinkState::made_wait);
  wait(nanoseconds(1));
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

TEST_F(Link, a_request_from_a_peer_that_used_the_link_starts_it_afresh) {
  make_by_peer();
  hear("00 05 33 00 41", Service::arq);
  said();
  hear("10");
  EXPECT_EQ(said(), "terminate broken-called_anew make made-by-peer 20");
}

TEST_F(Link, when_both_call_at_the_same_time_both_get_their_link) {
  call();
  said();
  leaves();
  hear("10");
  EXPECT_EQ(said(), "make made-by-us 20");
  leaves();
  hear("20");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
}

// B.3.2.1(4), (22)
TEST_F(Link, of_two_that_call_each_other_the_larger_address_leaves_the_other_its_time) {
  for (const Address own : {Address{1}, Address{kPeer.value + 1}}) {
    config.address = own;
    const bool larger = kPeer < own;
    for (int i = 0; i < 100; ++i) {
      restart();
      call();
      Duration span = config.exchange_time;
      for (unsigned n = 1; n < config.requests_max; ++n, span *= 2) {
        said();
        const Instant left = now;
        leaves();
        ring();
        const Duration jitter = now - left - config.answer_wait();
        EXPECT_GE(jitter, larger ? span : Duration::zero());
        EXPECT_LT(jitter, larger ? 2 * span : span);
      }
    }
  }
}

// A REQUEST that reaches the peer after our ACCEPTED would look like the call of a node that lost
// the link. The peer would then begin anew with frame numbers that we take for repetitions.
TEST_F(Link, a_call_of_the_peer_is_answered_only_when_our_own_request_is_out) {
  call();
  EXPECT_EQ(said(), "10");
  hear("10");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
  leaves();
  EXPECT_EQ(said(), "make made-by-us 20");
  leaves();
  hear("20");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
}

TEST_F(Link, what_else_the_peer_says_before_our_request_is_out_counts_as_well) {
  call();
  said();
  leaves();
  ring();
  said();
  hear("10");
  hear("20");  // answers our first REQUEST; the second has not left
  EXPECT_EQ(said(), "");
  leaves();
  EXPECT_EQ(said(), "make made-by-us 20");
  EXPECT_EQ(core->state(kPeer), LinkState::made);

  restart();
  call();
  said();
  hear("10");
  hear("41");  // the peer withdraws its call
  EXPECT_EQ(said(), "50");
  core->on_cpdu_confirm(now, {CpduId{kControlIds}});
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::calling);

  restart();
  call();
  said();
  hear("11");
  hear("33");  // the peer prefers its own call
  leaves();
  EXPECT_EQ(said(), "make made-by-peer 20");
}

// B.3.2.2(3),(6),(7)
TEST_F(Link, a_break_is_repeated_with_the_same_reason_and_then_taken_as_done) {
  make_by_us();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  for (unsigned i = 0; i < config.breaks_max; ++i) {
    EXPECT_EQ(said(), "44");
    EXPECT_EQ(core->state(kPeer), LinkState::breaking);
    leaves();
    ring();
  }
  EXPECT_EQ(said(), "terminate broken-by_us");
}

// B.2(1),(2) B.3.1.6(5) B.3.2.2(2),(5)
TEST_F(Link, a_confirmed_break_ends_the_link) {
  make_by_us();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::higher_layer_request).ok());
  EXPECT_EQ(said(), "41");
  hear("50");
  EXPECT_EQ(said(), "terminate broken-by_us");
  hear("50");
  EXPECT_EQ(said(), "");
}

TEST_F(Link, a_break_confirm_that_answers_no_break_is_ignored) {
  hear("50");
  call();
  said();
  leaves();
  hear("50");
  hear("20");
  EXPECT_EQ(said(), "make made-by-us");
  hear("50");
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
}

TEST_F(Link, no_arq_data_is_taken_without_a_made_link) {
  give_data(1);
  EXPECT_EQ(said(), "reject");
  call();
  said();
  give_data(2);
  EXPECT_EQ(said(), "reject");
  leaves();
  hear("20");
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  said();
  give_data(3);
  EXPECT_EQ(said(), "reject");
}

TEST_F(Link, crossing_breaks_are_confirmed_and_done) {
  make_by_us();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  said();
  hear("44");
  EXPECT_EQ(said(), "50 terminate broken-by_us");
}

TEST_F(Link, a_request_while_breaking_means_that_the_peer_has_broken) {
  make_by_us();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  said();
  hear("10");
  EXPECT_EQ(said(), "terminate broken-by_us make made-by-peer 20");
}

// B.3(3.6),(3.7),(3.8) B.3.1.5(5) B.3.2.2(4)
TEST_F(Link, a_break_is_confirmed_whatever_we_know) {
  hear("44");
  EXPECT_EQ(said(), "50");
  leaves();
  make_by_peer();
  hear("41");
  EXPECT_EQ(said(), "50 terminate broken-by_peer");
}

TEST_F(Link, a_break_of_an_older_link_does_not_stop_a_call) {
  call();
  said();
  hear("44");
  EXPECT_EQ(said(), "50");
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
}

TEST_F(Link, a_call_can_be_given_up) {
  call();
  said();
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::no_more_data).ok());
  EXPECT_EQ(said(), "44");
  hear("20");
  EXPECT_EQ(said(), "");
  hear("50");
  EXPECT_EQ(said(), "broken-by_us");  // there was no connection to terminate
}

// B.3(3.1)
TEST_F(Link, a_peer_that_warns_of_no_connection_has_no_link) {
  make_by_us();
  core->on_warning(now, {kPeer, 0, 0});
  core->on_warning(now, {kPeer, 0, 2});
  core->on_warning(now, {kOther, 0, 1});
  EXPECT_EQ(said(), "");
  core->on_warning(now, {kPeer, 0, 1});
  EXPECT_EQ(said(), "terminate broken-not_connected");
}

TEST_F(Link, a_warning_about_an_older_link_does_not_stop_a_call) {
  call();
  said();
  core->on_warning(now, {kPeer, 0, 1});
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
}

TEST_F(Link, a_lost_connection_ends_the_link_without_a_word_on_the_air) {
  make_by_us();
  core->on_connection_lost(now, {kPeer});
  EXPECT_EQ(said(), "broken-connection_lost");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

// B.3(8) B.3.2(4) B.3.2.1(8)
TEST_F(Link, links_are_bounded_in_both_directions) {
  config.nonexclusive_links_max = 2;
  restart();
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::nonexclusive).ok());
  call();  // the last that fits
  said();
  EXPECT_EQ(core->request_link(now, Address{7}, LinkType::nonexclusive).error().code,
            ErrorCode::queue_full);
  core->on_cpdu(now, {Service::expedited_nonarq, Address{7}, Address{1}, *from_hex("10")});
  EXPECT_EQ(said(), "30");
}

TEST_F(Link, what_is_outstanding_is_bounded) {
  config.spdus_outstanding_max = 2;
  restart();
  make_by_us();
  give_data(1);
  give_data(2);
  EXPECT_EQ(said(), "arq:00 05 33 00 41 arq:00 05 33 00 41");
  give_data(3);
  EXPECT_EQ(said(), "reject");
}

// B.3.1.2(9) B.3.1.4(3) B.3.2.1(13)
TEST_F(Link, a_broadcast_only_node_neither_calls_nor_accepts) {
  config.broadcast_only = true;
  restart();
  EXPECT_EQ(core->request_link(now, kPeer, LinkType::nonexclusive).error().code,
            ErrorCode::refused);
  hear("10");
  EXPECT_EQ(said(), "31");
}

// B.3(7) B.3.1.2(9) B.3.1.4(3) B.3.2(3)-(5) B.3.2.1(13)
TEST_F(Link, an_exclusive_link_shuts_nonexclusive_ones_out) {
  core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, *from_hex("11")});
  EXPECT_EQ(said(), "make made-by-peer 20");
  leaves();
  hear("10");
  EXPECT_EQ(said(), "33");
  leaves();
  EXPECT_EQ(core->request_link(now, kPeer, LinkType::nonexclusive).error().code,
            ErrorCode::refused);
  hear("11");  // a second one is taken so that hard links compare
  EXPECT_EQ(said(), "make made-by-peer 20");
  leaves();
  core->on_cpdu(now, {Service::expedited_nonarq, Address{9}, Address{1}, *from_hex("11")});
  EXPECT_EQ(said(), "33");
}

// B.3.2.1(18)-(20)
TEST_F(Link, making_an_exclusive_link_breaks_the_callers_nonexclusive_ones) {
  make_by_us();
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "11");
  leaves();
  core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, *from_hex("20")});
  EXPECT_EQ(said(), "43 make made-by-us");
  EXPECT_EQ(core->state(kPeer), LinkState::breaking);
}

// B.2(5) B.3.1.1(5)-(7) B.3 end(1),(2)
TEST_F(Link, the_service_of_an_s_pdu_is_kept_in_both_directions) {
  make_by_us();
  std::uint64_t id = 0;
  for (const Service service :
       {Service::arq, Service::nonarq, Service::expedited_arq, Service::expedited_nonarq}) {
    core->request_unidata(now, {.id = CpduId{++id},
                                .service = service,
                                .destination = kPeer,
                                .spdu = *from_hex("05 33 00 41"),
                                .time_to_die = std::nullopt});
    const auto down = core->poll_action();
    ASSERT_TRUE(down.has_value());
    const auto& cpdu = std::get<dts::CpduRequest>(*down);
    EXPECT_EQ(cpdu.service, service);
    EXPECT_EQ(to_hex(cpdu.cpdu), "00 05 33 00 41");
    core->on_cpdu_confirm(now, {CpduId{id}});
    EXPECT_EQ(said(), "confirm");
    hear("00 05 33 00 41", service);
    const auto up = core->poll_action();
    ASSERT_TRUE(up.has_value());
    EXPECT_EQ(std::get<SpduIndication>(*up).service, service);
    EXPECT_EQ(to_hex(std::get<SpduIndication>(*up).spdu), "05 33 00 41");
  }
}

// B.2(6)
TEST_F(Link, what_an_s_pdu_holds_is_never_taken_for_control) {
  make_by_us();
  for (const char* hex : {"00 10", "00 11", "00 20", "00 33", "00 44", "00 50"}) {
    hear(hex, Service::arq);
    EXPECT_EQ(said(), "spdu") << hex;
  }
  EXPECT_EQ(core->state(kPeer), LinkState::made);
}

// B.3(8)
TEST_F(Link, data_of_several_nonexclusive_links_alternates_without_a_word) {
  make_by_us();
  core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, *from_hex("10")});
  EXPECT_EQ(said(), "make made-by-peer 20");
  leaves();
  for (std::uint64_t id = 1; id <= 6; ++id) {
    core->request_unidata(now, {.id = CpduId{id},
                                .service = Service::arq,
                                .destination = id % 2 == 0 ? kPeer : kOther,
                                .spdu = *from_hex("05 33 00 41"),
                                .time_to_die = std::nullopt});
    EXPECT_EQ(said(), "arq:00 05 33 00 41");
  }
}

// B.3.2(3),(4)
TEST_F(Link, a_pending_exclusive_call_shuts_nonexclusive_ones_out) {
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "11");
  hear("10");
  EXPECT_EQ(said(), "33");
  EXPECT_EQ(core->request_link(now, kPeer, LinkType::nonexclusive).error().code,
            ErrorCode::refused);
  leaves();
  hear("11");
  EXPECT_EQ(said(), "make made-by-peer");
  wait(config.answer_wait());
  EXPECT_EQ(said(), "20");
}

// B.3.1.2(8) B.3.1.3(4) B.3.1.4(5) B.3.1.5(6) B.3.1.6(4) B.3.2(1),(2)
TEST_F(Link, control_travels_as_expedited_data_without_acknowledgement) {
  const auto control = [&](std::string_view hex) {
    auto action = core->poll_action();
    if (action && std::holds_alternative<LinkClosing>(*action)) action = core->poll_action();
    const auto* cpdu = action ? std::get_if<dts::CpduRequest>(&*action) : nullptr;
    ASSERT_NE(cpdu, nullptr) << hex;
    EXPECT_EQ(to_hex(cpdu->cpdu), hex);
    EXPECT_EQ(cpdu->service, Service::expedited_nonarq);
    EXPECT_FALSE(cpdu->in_order);  // a damaged one must not delay the next ones
    EXPECT_EQ(cpdu->destination, kPeer);
    core->on_cpdu_confirm(now, {cpdu->id});
  };
  call();
  control("10");
  ASSERT_TRUE(core->request_break(now, kPeer, BreakReason::switching_to_broadcast).ok());
  control("42");
  hear("44");
  control("50");
  said();
  hear("10");
  core->poll_action();  // make
  core->poll_action();  // made
  control("20");
  restart();
  core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, *from_hex("11")});
  said();
  leaves();
  hear("10");
  control("33");
}

// B.3 end(2)

TEST_F(Link, invalid_cpdus_are_counted_and_dropped) {
  for (const char* hex : {"", "00", "60", "F0"}) hear(hex);
  core->on_cpdu(now, {Service::expedited_nonarq, kPeer, Address::all_stations(), *from_hex("10")});
  EXPECT_EQ(counters[Counter::cpdus_malformed], 5u);
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

TEST_F(Link, early_and_repeated_calls_are_harmless) {
  call();
  said();
  leaves();
  const auto before = due();
  core->on_deadline(now);
  core->on_deadline(now);
  leaves();
  EXPECT_EQ(said(), "");
  EXPECT_EQ(due(), before);
  core->on_cpdu_confirm(now, {CpduId{77}});
  core->on_cpdu_rejected(now, {CpduId{77}, CpduFailure::expired});
  core->on_connection_lost(now, {kOther});
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->request_break(now, kOther, BreakReason::unknown).error().code,
            ErrorCode::not_found);
}

}  // namespace
}  // namespace s5066::cas
