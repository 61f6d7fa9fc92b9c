// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/sis/fake_server.h"

namespace s5066::sis {
namespace {

// --- Binding -------------------------------------------------------------------------------------

TEST(ClientCore, binds_first_and_says_so) {
  FakeServer server({.sap = {6}, .rank = 3, .retry_jitter = 0});
  server.start();
  EXPECT_EQ(server.connects, 1);
  EXPECT_TRUE(server.seen.empty());
  server.accept();
  ASSERT_EQ(server.seen.size(), 1u);
  const auto& bind = std::get<BindRequest>(server.seen[0]);
  EXPECT_EQ(bind.sap, SapId{6});
  EXPECT_EQ(bind.rank, 3);
  EXPECT_EQ(bind.service.mode, TransmissionMode::arq);
  EXPECT_FALSE(server.core.bound());
  server.say(BindAccepted{.sap = {6}, .mtu = 1000});
  EXPECT_TRUE(server.core.bound());
  EXPECT_EQ(server.last<event::Bound>().mtu, 1000);
}

TEST(ClientCore, nothing_is_accepted_before_the_bind_and_after_its_end) {
  FakeServer server;
  EXPECT_EQ(code_of(server.request(hello())), ErrorCode::link_down);
  server.start();
  server.accept();
  EXPECT_EQ(code_of(server.request(hello())), ErrorCode::link_down);
  server.say(BindAccepted{.sap = {6}});
  EXPECT_TRUE(server.request(hello()).ok());
  server.say(UnbindIndication{UnbindReason::preempted});
  EXPECT_EQ(code_of(server.request(hello())), ErrorCode::link_down);
}

TEST(ClientCore, connects_again_after_2_4_8_up_to_60_seconds) {
  FakeServer server;
  server.start();
  for (const int delay_s : {2, 4, 8, 16, 32, 60, 60}) {
    const int before = server.connects;
    server.hang_up();
    server.run_for(seconds(delay_s) - kTick);
    EXPECT_EQ(server.connects, before) << delay_s;
    server.run_for(kTick);
    EXPECT_EQ(server.connects, before + 1) << delay_s;
  }
}

TEST(ClientCore, jitter_spreads_the_retries_within_its_share) {
  std::set<Instant> times;
  Rng rng(7);
  for (int i = 0; i < 50; ++i) {
    ClientCore core({.retry_jitter = 0.25}, rng);
    core.start(Instant{});
    core.on_disconnected(Instant{}, Error{ErrorCode::io, "refused"});
    ASSERT_TRUE(core.next_deadline().has_value());
    EXPECT_GE(*core.next_deadline(), Instant(seconds(2)));
    EXPECT_LE(*core.next_deadline(), Instant(milliseconds(2500)));
    times.insert(*core.next_deadline());
  }
  EXPECT_GT(times.size(), 40u);
}

TEST(ClientCore, a_binding_of_a_minute_forgets_earlier_failures_a_shorter_one_does_not) {
  for (const bool long_enough : {true, false}) {
    FakeServer server;
    server.start();
    server.hang_up();
    server.run_for(seconds(2));
    server.hang_up();
    server.run_for(seconds(4));
    server.accept();
    server.say(BindAccepted{.sap = {6}});
    server.run_for(long_enough ? Duration(seconds(60)) : seconds(60) - kTick);
    const int before = server.connects;
    server.hang_up();
    server.run_for(seconds(2));
    EXPECT_EQ(server.connects, before + (long_enough ? 1 : 0));
  }
}

TEST(ClientCore, a_rejected_bind_is_repeated_on_the_same_connection) {
  FakeServer server;
  server.start();
  server.accept();
  server.say(BindRejected{BindRejectReason::sap_already_allocated});
  EXPECT_EQ(server.last<event::BindRejected>().reason, BindRejectReason::sap_already_allocated);
  server.run_for(seconds(2) - kTick);
  EXPECT_EQ(server.saw<BindRequest>(), 1u);
  server.run_for(kTick);
  EXPECT_EQ(server.saw<BindRequest>(), 2u);
  EXPECT_EQ(server.connects, 1);
  server.say(BindAccepted{.sap = {6}});
  EXPECT_TRUE(server.core.bound());
}

TEST(ClientCore, binds_again_after_an_unbind_indication) {
  FakeServer server;
  server.bring_up();
  server.say(UnbindIndication{UnbindReason::preempted});
  EXPECT_EQ(server.last<event::Unbound>().reason, UnbindReason::preempted);
  server.run_for(seconds(2));
  EXPECT_EQ(server.saw<BindRequest>(), 1u);
  server.say(BindAccepted{.sap = {6}});
  EXPECT_TRUE(server.core.bound());
}

TEST(ClientCore, gives_up_on_a_bind_without_an_answer_after_30_seconds) {
  FakeServer server;
  server.start();
  server.accept();
  server.run_for(seconds(30) - kTick);
  EXPECT_EQ(server.disconnects, 0);
  server.run_for(kTick);
  EXPECT_EQ(server.disconnects, 1);
  EXPECT_EQ(server.last<event::Lost>().why.code, ErrorCode::timed_out);
}

TEST(ClientCore, gives_up_on_connecting_after_30_seconds) {
  FakeServer server;
  server.start();
  server.run_for(seconds(30) - kTick);
  EXPECT_EQ(server.disconnects, 0);
  server.run_for(kTick);
  EXPECT_EQ(server.disconnects, 1);
}

TEST(ClientCore, an_acceptance_for_another_sap_costs_the_connection) {
  FakeServer server;
  server.start();
  server.accept();
  server.say(BindAccepted{.sap = {7}});
  EXPECT_FALSE(server.core.bound());
  EXPECT_EQ(server.disconnects, 1);
  EXPECT_EQ(server.core.counters()[ClientCounter::protocol_errors], 1u);
}

// --- What the server may send --------------------------------------------------------------------

TEST(ClientCore, hands_on_indications_whatever_their_size) {
  FakeServer server;
  server.bring_up(10);
  const UnidataIndication indication{.destination_sap = {6}, .source = kPeer, .updu = Bytes(4096)};
  server.say(indication);
  EXPECT_EQ(server.last<event::Indication>().unidata, indication);
}

TEST(ClientCore, tolerates_types_it_does_not_know) {
  FakeServer server;
  server.bring_up();
  server.say_octets(*from_hex("90EB00 0001 00  90EB00 0005 1C 01 414243  90EB00 0001 FF"));
  EXPECT_TRUE(server.core.bound());
  EXPECT_EQ(server.core.counters()[ClientCounter::primitives_unsupported], 3u);
}

TEST(ClientCore, garbage_costs_the_connection_and_nothing_else) {
  for (const char* hex : {"00", "90EB01000111", "90EB000000", "90EB0000021700", "90EB0000020F00",
                          "90EB00000102", "90EB00000401601000"}) {
    FakeServer server;
    server.bring_up();
    const RequestId id = *server.request(hello());
    server.say_octets(*from_hex(hex));
    EXPECT_EQ(server.disconnects, 1) << hex;
    EXPECT_EQ(server.last<event::Lost>().why.code, ErrorCode::bad_field) << hex;
    EXPECT_EQ(server.last<event::Unresolved>().id, id);
    EXPECT_EQ(server.core.counters()[ClientCounter::protocol_errors], 1u) << hex;
    server.run_for(seconds(2));
    server.accept();
    server.say(BindAccepted{.sap = {6}});
    EXPECT_TRUE(server.core.bound()) << hex;
  }
}

TEST(ClientCore, what_follows_garbage_in_the_same_read_is_not_heard) {
  FakeServer server;
  server.bring_up();
  ASSERT_TRUE(server.request(hello("x")).ok());
  Bytes octets = *from_hex("00");
  encode(confirm("x"), octets);
  server.say_octets(octets);
  EXPECT_EQ(server.count<event::Confirmed>(), 0u);
  EXPECT_EQ(server.count<event::Unresolved>(), 1u);
}

TEST(ClientCore, half_a_primitive_is_waited_for_60_seconds) {
  FakeServer server;
  server.bring_up();
  server.say_octets(*from_hex("90EB00 0002"));
  server.run_for(seconds(60) - kTick);
  EXPECT_EQ(server.disconnects, 0);
  server.run_for(kTick);
  EXPECT_EQ(server.disconnects, 1);
  EXPECT_EQ(server.last<event::Lost>().why.code, ErrorCode::timed_out);
}

TEST(ClientCore, octets_that_trickle_in_do_not_extend_the_time_of_a_primitive) {
  FakeServer server;
  server.bring_up();
  server.say_octets(*from_hex("90EB00"));
  server.run_for(seconds(59));
  server.say_octets(*from_hex("00"));
  server.run_for(seconds(1));
  EXPECT_EQ(server.disconnects, 1);
}

TEST(ClientCore, each_primitive_has_its_own_60_seconds) {
  FakeServer server;
  server.bring_up();
  server.say_octets(*from_hex("90EB00"));
  server.run_for(seconds(59));
  server.say_octets(*from_hex("0001 10 90"));  // one frame ends and the next one begins
  server.run_for(seconds(60) - kTick);
  EXPECT_EQ(server.disconnects, 0);
  server.say_octets(*from_hex("EB00 0001 0F"));
  server.run_for(hours(1));
  EXPECT_EQ(server.disconnects, 0);
}

TEST(ClientCore, random_octets_never_crash_it) {
  Rng rng(5);
  for (int round = 0; round < 3000; ++round) {
    FakeServer server;
    server.bring_up();
    std::size_t requests = 0;
    for (int step = 0; step < 10 && server.core.bound(); ++step) {
      requests += server.request(hello("x")).ok() ? 1 : 0;
      Bytes octets = *from_hex("90EB0000");
      const std::uint32_t size = 1 + rng.below(16);
      octets.push_back(static_cast<std::uint8_t>(size));
      octets.push_back(static_cast<std::uint8_t>(rng.below(29)));
      for (std::uint32_t i = 1; i < size; ++i) {
        octets.push_back(static_cast<std::uint8_t>(rng.below(256)));
      }
      server.say_octets(octets);
    }
    server.core.stop(server.now);
    server.settle();
    ASSERT_EQ(server.count<event::Confirmed>() + server.count<event::Rejected>() +
                  server.count<event::Unresolved>(),
              requests);
  }
}

// --- Keep-alive ----------------------------------------------------------------------------------

TEST(ClientCore, answers_a_keep_alive_and_not_again_within_120_seconds) {
  FakeServer server;
  server.bring_up();
  server.say(KeepAlive{});
  EXPECT_EQ(server.saw<KeepAlive>(), 1u);
  server.run_for(seconds(120) - kTick);
  server.say(KeepAlive{});
  EXPECT_EQ(server.saw<KeepAlive>(), 1u);
  server.run_for(kTick);
  server.say(KeepAlive{});
  EXPECT_EQ(server.saw<KeepAlive>(), 2u);
}

TEST(ClientCore, an_answer_that_could_not_leave_within_10_seconds_is_not_sent) {
  for (const bool in_time : {true, false}) {
    FakeServer server;
    server.bring_up();
    server.block = true;
    ASSERT_TRUE(server.request(hello()).ok());
    server.say(KeepAlive{});
    server.run_for(in_time ? Duration(seconds(10) - kTick) : Duration(seconds(10)));
    server.core.on_sent(server.now);
    server.settle();
    EXPECT_EQ(server.saw<KeepAlive>(), in_time ? 1u : 0u);
  }
}

TEST(ClientCore, does_not_probe_unless_asked_to) {
  FakeServer server;
  server.bring_up();
  server.run_for(hours(24));
  EXPECT_EQ(server.saw<KeepAlive>(), 0u);
  EXPECT_TRUE(server.core.bound());
}

TEST(ClientCore, probes_a_silent_server_and_leaves_it_without_an_answer) {
  FakeServer server({.sap = {6}, .retry_jitter = 0, .probe_after = seconds(120)});
  server.bring_up();
  server.run_for(seconds(120) - kTick);
  EXPECT_EQ(server.saw<KeepAlive>(), 0u);
  server.run_for(kTick);
  EXPECT_EQ(server.saw<KeepAlive>(), 1u);
  server.run_for(seconds(30) - kTick);
  EXPECT_EQ(server.disconnects, 0);
  server.run_for(kTick);
  EXPECT_EQ(server.disconnects, 1);
  EXPECT_EQ(server.last<event::Lost>().why.code, ErrorCode::timed_out);
}

TEST(ClientCore, a_server_that_reads_nothing_for_hours_is_busy_and_not_dead) {
  FakeServer server({.sap = {6}, .probe_after = seconds(120)});
  server.bring_up();
  server.block = true;
  ASSERT_TRUE(server.request(hello()).ok());
  server.run_for(hours(3));
  EXPECT_EQ(server.core.counters()[ClientCounter::keep_alives_sent], 0u);
  EXPECT_TRUE(server.core.bound());
}

TEST(ClientCore, an_answered_probe_keeps_the_binding_and_is_not_answered) {
  FakeServer server({.sap = {6}, .probe_after = seconds(120)});
  server.bring_up();
  for (std::size_t probes = 1; probes <= 5; ++probes) {
    server.run_for(seconds(120));
    EXPECT_EQ(server.saw<KeepAlive>(), probes);
    server.say(KeepAlive{});
    EXPECT_EQ(server.saw<KeepAlive>(), probes);
  }
  EXPECT_TRUE(server.core.bound());
}

TEST(ClientCore, answers_a_probe_of_the_server_soon_after_its_own_if_so_configured) {
  for (const bool answer : {true, false}) {
    FakeServer server({.sap = {6}, .probe_after = seconds(120), .answer_after_probe = answer});
    server.bring_up();
    server.run_for(seconds(120));
    server.say(KeepAlive{});  // the answer
    server.run_for(seconds(20));
    server.say(KeepAlive{});  // its own probe
    EXPECT_EQ(server.saw<KeepAlive>(), answer ? 2u : 1u);
    server.say(KeepAlive{});  // an answer to our answer would be a loop
    EXPECT_EQ(server.saw<KeepAlive>(), answer ? 2u : 1u);
  }
}

TEST(ClientCore, two_cores_that_probe_each_other_do_not_play_ping_pong) {
  // Each core hears every keep-alive of the other, as it would from a server.
  const ClientCore::Config config{.sap = {6}, .probe_after = seconds(120)};
  FakeServer a(config), b(config);
  a.bring_up();
  b.bring_up();
  std::size_t from_a = 0, from_b = 0;
  for (int second = 0; second < 3600; ++second) {
    a.run_for(seconds(1));
    b.run_for(seconds(1));
    for (bool moved = true; moved;) {
      moved = from_a != a.saw<KeepAlive>() || from_b != b.saw<KeepAlive>();
      for (; from_a < a.saw<KeepAlive>(); ++from_a) b.say(KeepAlive{});
      for (; from_b < b.saw<KeepAlive>(); ++from_b) a.say(KeepAlive{});
      ASSERT_LT(from_a + from_b, 200u);
    }
  }
  EXPECT_TRUE(a.core.bound());
  EXPECT_TRUE(b.core.bound());
  EXPECT_LE(from_a, 60u);
  EXPECT_LE(from_b, 60u);
}

// --- Stopping ------------------------------------------------------------------------------------

TEST(ClientCore, stopping_unbinds_and_then_disconnects) {
  FakeServer server;
  server.bring_up();
  const RequestId id = *server.request(hello());
  server.block = true;
  server.core.stop(server.now);
  server.settle();
  EXPECT_EQ(server.last<event::Unresolved>().id, id);
  EXPECT_EQ(server.saw<UnbindRequest>(), 1u);
  EXPECT_EQ(server.disconnects, 0);
  server.core.on_sent(server.now);
  server.settle();
  EXPECT_EQ(server.disconnects, 1);
  EXPECT_TRUE(server.core.stopped());
  EXPECT_EQ(server.core.next_deadline(), std::nullopt);
}

TEST(ClientCore, stopping_lets_a_write_finish_but_waits_no_longer_than_its_time) {
  FakeServer server;
  server.bring_up();
  server.block = true;
  ASSERT_TRUE(server.request(hello()).ok());
  server.core.stop(server.now);
  server.run_for(seconds(5) - kTick);
  EXPECT_FALSE(server.core.stopped());
  server.run_for(kTick);
  EXPECT_TRUE(server.core.stopped());
  EXPECT_EQ(server.disconnects, 1);
}

TEST(ClientCore, can_be_stopped_and_started_in_every_state) {
  for (int state = 0; state < 5; ++state) {
    FakeServer server;
    if (state > 0) server.start();
    if (state == 1) server.hang_up();
    if (state > 1) server.accept();
    if (state == 3) server.say(BindRejected{BindRejectReason::invalid_sap});
    if (state == 4) server.say(BindAccepted{.sap = {6}});
    server.core.stop(server.now);
    server.core.stop(server.now);
    server.settle();
    EXPECT_TRUE(server.core.stopped()) << state;
    EXPECT_EQ(server.core.next_deadline(), std::nullopt) << state;
    server.start();
    server.accept();
    server.say(BindAccepted{.sap = {6}});
    EXPECT_TRUE(server.core.bound()) << state;
  }
}

TEST(ClientCore, spurious_calls_are_harmless_in_every_state) {
  for (int state = 0; state < 4; ++state) {
    FakeServer server;
    if (state > 0) server.start();
    if (state > 1) server.accept();
    if (state > 2) server.say(BindAccepted{.sap = {6}});
    const bool bound = server.core.bound();
    server.core.on_sent(server.now);
    server.core.on_deadline(server.now);
    if (state > 0) server.core.start(server.now);
    if (state != 1) server.core.on_connected(server.now);
    if (state < 2) server.core.on_bytes(server.now, *from_hex("00"));
    server.settle();
    EXPECT_EQ(server.core.bound(), bound) << state;
    EXPECT_EQ(server.disconnects, 0) << state;
  }
}

}  // namespace
}  // namespace s5066::sis
