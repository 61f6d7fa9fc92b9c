// SPDX-License-Identifier: Apache-2.0
// Unknown stations call: these tests check the answers and which links make way.
#include "tests/unit/cas/link_fixture.h"

namespace s5066::cas {
namespace {

class UnknownStations : public Link {
 protected:
  static Address unknown(std::uint32_t number) { return Address{0x02000000u + number}; }
  void hear_from(Address peer, std::string_view hex) {
    core->on_cpdu(now, {Service::expedited_nonarq, peer, Address{1}, *from_hex(hex)});
  }
  /// Lets `peer` call, and lets the answer leave the antenna.
  void call_of(Address peer, std::string_view request) {
    hear_from(peer, request);
    said();
    leaves();
  }
  /// Makes kPeer a station that was heard on an ARQ link that is over.
  void know_the_peer() {
    make_by_peer();
    core->on_connection_heard(now, kPeer);
    core->on_connection_lost(now, {kPeer});
    said();
  }
  /// Lets unknown stations call, each after the call before was answered.
  void unknown_stations_call(std::size_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      now += seconds(1);
      call_of(unknown(i), "10");
    }
  }
  void exclusive_unknown_stations_call(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      call_of(unknown(i), "11");
    }
  }
  /// Delivers ARQ data from `peer`.
  void give_spdu(Address peer) {
    core->on_cpdu(now, {Service::arq, peer, Address{1}, *from_hex("00 05 33 00 41")});
  }
  /// Returns all answers, and lets each leave the antenna.
  std::string answers() {
    std::string all;
    for (std::string next = said(); !next.empty(); next = said()) {
      all += (all.empty() ? "" : " ") + next;
      leaves();
    }
    return all;
  }
};

// B.3.2(3)
TEST_F(UnknownStations, our_call_displaces_the_oldest_link_on_which_nothing_was_heard) {
  unknown_stations_call(config.nonexclusive_links_max + 3);
  call();
  EXPECT_EQ(said(), "terminate broken-displaced 10");
  EXPECT_EQ(core->links().size(), config.nonexclusive_links_max);
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
  EXPECT_EQ(core->state(unknown(0)), LinkState::idle);
  EXPECT_EQ(core->state(unknown(1)), LinkState::made_wait);
}

// B.3.2(3)
TEST_F(UnknownStations, a_link_on_which_the_peer_was_heard_stays) {
  unknown_stations_call(config.nonexclusive_links_max);
  for (const LinkInfo& link : core->links()) core->on_connection_heard(now, link.peer);
  EXPECT_EQ(core->request_link(now, kPeer, LinkType::nonexclusive).error().code,
            ErrorCode::queue_full);
  EXPECT_EQ(core->links().size(), config.nonexclusive_links_max);
}

// B.3.2(3)
TEST_F(UnknownStations, a_call_of_ours_is_displaced_by_none) {
  config.nonexclusive_links_max = 1;
  restart();
  call();
  EXPECT_EQ(core->request_link(now, kOther, LinkType::nonexclusive).error().code,
            ErrorCode::queue_full);
  EXPECT_EQ(core->state(kPeer), LinkState::calling);
}

// B.3.2(4)
TEST_F(UnknownStations,
       an_exclusive_link_on_which_nothing_was_heard_makes_way_after_an_answer_wait) {
  exclusive_unknown_stations_call(2);
  const auto call_result = [&] { return core->request_link(now, kPeer, LinkType::nonexclusive); };
  wait(config.answer_wait() - nanoseconds(1));
  EXPECT_EQ(call_result().error().code, ErrorCode::refused);
  EXPECT_EQ(said(), "");
  wait(nanoseconds(1));
  EXPECT_TRUE(call_result().ok());
  EXPECT_EQ(said(), "terminate broken-displaced terminate broken-displaced 10");
}

// B.3.2(4): an Exclusive link is for a hard link, so other data of its peer does not keep it.
TEST_F(UnknownStations,
       an_exclusive_link_that_no_hard_link_has_makes_way_though_its_peer_was_heard) {
  exclusive_unknown_stations_call(2);
  core->on_connection_heard(now, unknown(0));
  give_spdu(unknown(1));
  wait(config.answer_wait());
  said();
  EXPECT_TRUE(core->request_link(now, kPeer, LinkType::nonexclusive).ok());
  EXPECT_EQ(said(), "terminate broken-displaced terminate broken-displaced 10");
}

// B.3.2(4)
TEST_F(UnknownStations, no_exclusive_link_makes_way_in_vain_or_when_a_hard_link_has_it) {
  exclusive_unknown_stations_call(2);
  core->keep_link(unknown(1));
  wait(config.answer_wait());
  const auto refused = core->request_link(now, kPeer, LinkType::nonexclusive);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_EQ(core->links().size(), 2u);
  EXPECT_TRUE(core->request_link(now, kPeer, LinkType::exclusive).ok());
  EXPECT_EQ(said(), "terminate broken-displaced 11");
  EXPECT_EQ(core->state(unknown(1)), LinkState::made_wait);
}

// B.3.2(3), (4)
TEST_F(UnknownStations,
       no_exclusive_link_makes_way_for_a_call_that_finds_no_place_among_the_others) {
  config.nonexclusive_links_max = 1;
  restart();
  unknown_stations_call(1);
  core->on_connection_heard(now, unknown(0));
  call_of(kOther, "11");
  wait(config.answer_wait());
  EXPECT_FALSE(core->request_link(now, kPeer, LinkType::nonexclusive).ok());
  EXPECT_EQ(said(), "");
  EXPECT_EQ(core->links().size(), 2u);
}

// B.3.2(4), B.3.2.1(15)
TEST_F(UnknownStations, a_call_said_again_earns_an_exclusive_link_no_more_time) {
  for (Duration spent{}; spent < config.answer_wait(); spent += config.exchange_time) {
    call_of(unknown(0), "11");
    wait(config.exchange_time);
  }
  EXPECT_TRUE(core->request_link(now, kPeer, LinkType::nonexclusive).ok());
}

// B.3.2(4): each call after a BREAK is a new call.
TEST_F(UnknownStations,
       a_station_that_ends_its_exclusive_links_and_calls_again_is_blocked_after_two_answer_waits) {
  for (const bool was_heard : {false, true}) {
    SCOPED_TRACE(was_heard);
    restart();
    const Instant start = now;
    const auto refused = [&] {
      return !core->request_link(now, kPeer, LinkType::nonexclusive).ok();
    };
    exclusive_unknown_stations_call(1);
    if (was_heard) core->on_connection_heard(now, unknown(0));
    while (refused() && now - start < minutes(10)) {
      wait(config.exchange_time);
      for (const char* cpdu : {"44", "11"}) {
        hear_from(unknown(0), cpdu);
        answers();
      }
    }
    EXPECT_EQ(now - start, 2 * config.answer_wait());
    // The next call has its full time again.
    said();
    exclusive_unknown_stations_call(1);
    EXPECT_FALSE(core->request_link(now, kOther, LinkType::nonexclusive).ok());
  }
}

// B.3.2(4): the call of a known peer displaces the link of the peer before, whose time is over.
TEST_F(UnknownStations,
       known_peers_that_displace_each_other_by_turns_are_blocked_for_two_answer_waits) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    call_of(unknown(i), "10");
    core->on_connection_heard(now, unknown(i));
    core->on_connection_lost(now, {unknown(i)});
  }
  said();
  const Instant start = now;
  std::uint32_t turn = 0;
  while (now - start < minutes(10)) {
    if ((now - start) % config.answer_wait() == Duration::zero()) {
      call_of(unknown(turn++ % 3), "11");
    }
    if (core->request_link(now, kPeer, LinkType::nonexclusive).ok()) break;
    wait(config.exchange_time);
  }
  EXPECT_EQ(now - start, 2 * config.answer_wait());
  EXPECT_GE(turn, 3u);
}

// B.3.2(4)
TEST_F(UnknownStations, a_block_that_is_over_takes_no_time_from_the_next_exclusive_link) {
  exclusive_unknown_stations_call(1);
  EXPECT_FALSE(core->request_link(now, kPeer, LinkType::nonexclusive).ok());
  hear_from(unknown(0), "44");
  answers();
  make_by_us();
  wait(2 * config.answer_wait());
  hear_from(kOther, "11");
  answers();
  EXPECT_FALSE(core->request_link(now, unknown(1), LinkType::nonexclusive).ok());
}

// B.3.2(3): the reason of the BREAK decides.
TEST_F(UnknownStations,
       who_calls_again_when_its_link_was_broken_for_another_node_does_not_get_its_place) {
  const auto call_again = [&](BreakReason reason) {
    EXPECT_TRUE(core->request_break(now, unknown(0), reason).ok());
    hear_from(unknown(0), "10");
    const std::string all = answers();
    return all.substr(all.find("terminate"));
  };
  unknown_stations_call(config.nonexclusive_links_max);
  EXPECT_EQ(call_again(BreakReason::no_more_data), "terminate broken-by_us make made-by-peer 20");
  EXPECT_EQ(call_again(BreakReason::higher_layer_request), "terminate broken-by_us 32");
  EXPECT_TRUE(core->request_link(now, kPeer, LinkType::nonexclusive).ok());
  said();
  // If there is more room than that one place, the station may call again.
  core->on_connection_lost(now, {unknown(1)});
  core->on_connection_lost(now, {unknown(2)});
  call_of(unknown(0), "10");
  EXPECT_EQ(call_again(BreakReason::higher_layer_request),
            "terminate broken-by_us make made-by-peer");  // our own call goes before the answer
}

// B.3.2(4): the existing link could go on.
TEST_F(UnknownStations, a_refused_call_for_the_other_type_of_link_ends_none) {
  make_by_peer();
  give_spdu(kPeer);
  for (std::uint32_t i = 0; i < 2; ++i) {
    call_of(unknown(i), "11");
    core->keep_link(unknown(i));
  }
  said();
  hear("11");
  EXPECT_EQ(answers(), "33");
  EXPECT_EQ(core->state(kPeer), LinkState::made);
}

// B.3.2(4): nodes behave like this if they wait longer after each refusal, up to ten minutes.
TEST_F(UnknownStations, a_known_peer_that_calls_seldom_is_blocked_no_longer_for_that) {
  know_the_peer();
  Duration waited{};
  for (; waited < std::chrono::hours(2); waited += minutes(10)) {
    hear_from(unknown(0), "44");
    hear_from(unknown(0), "11");
    answers();
    hear("10");
    if (answers() != "33") break;
    wait(minutes(10));
  }
  EXPECT_EQ(waited, minutes(10));
}

// B.3.2(3): the peer has been told that its call is accepted.
TEST_F(UnknownStations, a_known_peer_that_has_just_called_stays_and_unknown_stations_go_first) {
  config.nonexclusive_links_max = 2;
  restart();
  know_the_peer();
  make_by_peer();
  unknown_stations_call(1);
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::nonexclusive).ok());
  EXPECT_EQ(said(), "terminate broken-displaced 10");
  EXPECT_EQ(core->state(kPeer), LinkState::made_wait);
  const auto more = [&] {
    return core->request_link(now, unknown(9), LinkType::nonexclusive).ok();
  };
  EXPECT_FALSE(more());
  wait(config.answer_wait());
  EXPECT_TRUE(more());
  EXPECT_EQ(core->state(kPeer), LinkState::idle);
}

// B.3.2(3)
TEST_F(UnknownStations,
       a_link_of_an_unknown_station_makes_way_before_an_older_one_of_a_known_peer) {
  config.nonexclusive_links_max = 2;
  restart();
  know_the_peer();
  make_by_peer();
  wait(config.answer_wait());
  unknown_stations_call(1);
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::nonexclusive).ok());
  EXPECT_EQ(core->state(unknown(0)), LinkState::idle);
  EXPECT_EQ(core->state(kPeer), LinkState::made_wait);
}

// B.3.2.1(6)
TEST_F(UnknownStations, a_peer_once_heard_displaces_them_and_another_unknown_station_does_not) {
  know_the_peer();
  unknown_stations_call(config.nonexclusive_links_max);
  hear_from(kOther, "10");
  EXPECT_EQ(answers(), "30");
  hear_from(kPeer, "10");
  EXPECT_EQ(answers(), "terminate broken-displaced make made-by-peer 20");
  EXPECT_EQ(core->state(unknown(0)), LinkState::idle);
}

TEST_F(UnknownStations, answers_are_handed_down_one_after_another) {
  for (std::uint32_t i = 0; i < 3; ++i) hear_from(unknown(i), "44");
  EXPECT_EQ(said(), "50");
  leaves();
  EXPECT_EQ(said(), "50");
  core->on_cpdu_rejected(now, {last_id, CpduFailure::expired});
  EXPECT_EQ(said(), "50");
}

TEST_F(UnknownStations, an_answer_that_does_not_get_out_holds_up_the_next_for_one_answer_wait) {
  for (std::uint32_t i = 0; i < 2; ++i) hear_from(unknown(i), "44");
  EXPECT_EQ(said(), "50");
  wait(config.answer_wait() - nanoseconds(1));
  EXPECT_EQ(said(), "");
  EXPECT_EQ(due(), now + nanoseconds(1));
  ring();
  EXPECT_EQ(said(), "50");
  EXPECT_FALSE(due());
}

TEST_F(UnknownStations, beside_a_call_of_ours_and_arq_data_there_is_one_answer_in_an_answer_wait) {
  hear_from(unknown(0), "44");
  said();
  leaves();
  call();
  EXPECT_EQ(said(), "10");  // our call goes before the answers
  for (std::uint32_t i = 1; i < 3; ++i) hear_from(unknown(i), "44");
  EXPECT_EQ(said(), "");
  leaves();
  hear("20");
  EXPECT_EQ(said(), "make made-by-us");
  give_data(1);
  EXPECT_EQ(said(), "arq:00 05 33 00 41");
  ring();
  EXPECT_EQ(now, Instant{} + config.answer_wait());
  EXPECT_EQ(said(), "50");
  leaves();
  EXPECT_EQ(said(), "");
  core->on_cpdu_confirm(now, {CpduId{1}});
  hear_from(unknown(3), "44");
  EXPECT_EQ(said(), "confirm 50");
}

TEST_F(UnknownStations, who_is_known_is_answered_first_and_at_once) {
  know_the_peer();
  ASSERT_TRUE(core->request_link(now, kOther, LinkType::nonexclusive).ok());
  said();
  for (std::uint32_t i = 0; i < 3; ++i) hear_from(unknown(i), "44");
  EXPECT_EQ(said(), "");
  hear("10");
  EXPECT_EQ(said(), "make made-by-peer 20");
}

TEST_F(UnknownStations, more_than_eight_answers_without_a_link_do_not_wait) {
  for (std::uint32_t i = 0; i < 40; ++i) hear_from(unknown(i), "10");
  const std::string said = answers();
  std::size_t accepted = 0;
  std::size_t rejected = 0;
  for (std::size_t at = 0; at < said.size(); ++at) {
    accepted += said.compare(at, 3, " 20") == 0;
    rejected += said.compare(at, 3, " 30") == 0;
  }
  EXPECT_EQ(accepted, config.nonexclusive_links_max);
  EXPECT_EQ(rejected, kAnswersWaitingMax);
  EXPECT_EQ(counters[Counter::link_answers_dropped],
            40 - config.nonexclusive_links_max - kAnswersWaitingMax);
}

TEST_F(UnknownStations, an_answer_to_a_known_peer_outlasts_those_to_unknown_stations) {
  make_by_peer();
  core->on_connection_heard(now, kPeer);
  said();
  hear_from(unknown(0), "44");
  said();
  hear("44");
  for (std::uint32_t i = 1; i < 20; ++i) hear_from(unknown(i), "44");
  said();
  leaves();
  EXPECT_EQ(said(), "50");
  EXPECT_EQ(last_peer, kPeer);
}

TEST_F(UnknownStations, what_waits_for_a_link_that_has_ended_is_not_sent) {
  hear_from(unknown(0), "44");
  said();
  hear("10");
  EXPECT_EQ(said(), "make made-by-peer");
  core->on_connection_lost(now, {kPeer});
  EXPECT_EQ(answers(), "broken-connection_lost");
}

TEST_F(UnknownStations, a_refusal_that_still_waits_gives_way_to_the_acceptance) {
  unknown_stations_call(config.nonexclusive_links_max);
  hear_from(unknown(20), "44");
  said();
  hear_from(kOther, "10");
  core->on_connection_lost(now, {unknown(0)});
  hear_from(kOther, "10");
  const CpduId below = last_id;
  EXPECT_EQ(said(), "broken-connection_lost make made-by-peer");
  core->on_cpdu_confirm(now, {below});
  EXPECT_EQ(answers(), "20");
}

// EMCON
TEST_F(UnknownStations, in_radio_silence_no_waiting_answer_is_kept) {
  hear_from(unknown(0), "44");
  hear("10");
  said();
  const CpduId below = last_id;
  core->set_silent(now, true);
  core->on_cpdu_confirm(now, {below});
  EXPECT_EQ(said(), "");
  EXPECT_EQ(due(), now + config.first_data_wait());
}

}  // namespace
}  // namespace s5066::cas
