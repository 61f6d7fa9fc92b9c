#include "sis/client_core.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/sis/fake_server.h"

namespace s5066::sis {
namespace {

constexpr Duration kTick = milliseconds(1);

ErrorCode code_of(const Result<RequestId>& result) {
  return result.ok() ? ErrorCode::io : result.error().code;
}

UnidataRequestConfirm confirm(std::string_view part) {
  return {
      .destination_sap = {6}, .destination = kPeer, .updu_part = Bytes(part.begin(), part.end())};
}

UnidataRequestRejected reject(std::string_view part, RejectReason reason) {
  return {.reason = reason,
          .destination_sap = {6},
          .destination = kPeer,
          .updu_part = Bytes(part.begin(), part.end())};
}

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
  EXPECT_EQ(server.core.stats().protocol_errors, 1u);
}

// --- Requests and their ends ---------------------------------------------------------------------

TEST(ClientCore, a_request_goes_out_as_it_was_given) {
  FakeServer server;
  server.bring_up();
  ASSERT_TRUE(server.request(hello()).ok());
  ASSERT_EQ(server.seen.size(), 1u);
  EXPECT_EQ(server.seen[0], Primitive{hello()});
}

TEST(ClientCore, takes_a_updu_of_the_mtu_and_refuses_one_octet_more) {
  FakeServer server;
  server.bring_up(100);
  EXPECT_TRUE(server.request(hello(std::string(100, 'x'))).ok());
  EXPECT_EQ(code_of(server.request(hello(std::string(101, 'x')))), ErrorCode::too_large);
}

TEST(ClientCore, an_absurd_mtu_does_not_exceed_what_a_frame_can_hold) {
  FakeServer server;
  server.bring_up(65535);
  EXPECT_TRUE(server.request(hello(std::string(65523, 'x'))).ok());
  EXPECT_EQ(code_of(server.request(hello(std::string(65524, 'x')))), ErrorCode::too_large);
}

TEST(ClientCore, refuses_what_the_standard_forbids) {
  FakeServer server;
  server.bring_up();
  const auto refused = [&server](auto change) {
    UnidataRequest request = hello();
    change(request);
    return code_of(server.request(request)) == ErrorCode::bad_field;
  };
  EXPECT_FALSE(refused([](UnidataRequest&) {}));
  EXPECT_FALSE(refused([](auto& r) { r.time_to_live = kTimeToLiveMax; }));
  EXPECT_TRUE(refused([](auto& r) { r.time_to_live = kTimeToLiveMax + 1; }));
  EXPECT_FALSE(refused([](auto& r) { r.priority = 15; }));
  EXPECT_TRUE(refused([](auto& r) { r.priority = 16; }));
  EXPECT_FALSE(refused([](auto& r) { r.destination_sap = {15}; }));
  EXPECT_TRUE(refused([](auto& r) { r.destination_sap = {16}; }));
  EXPECT_TRUE(refused([](auto& r) { r.destination.value = Address::kMax + 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.destination = Address::all_stations(); }));
  EXPECT_TRUE(refused([](auto& r) { r.delivery.extended = true; }));
  EXPECT_TRUE(refused([](auto& r) { r.delivery.confirmation = Confirmation::undefined; }));
  EXPECT_TRUE(refused([](auto& r) { r.delivery.mode = TransmissionMode::nonarq; }));
  EXPECT_TRUE(refused([](auto& r) { r.delivery.mode = static_cast<TransmissionMode>(4); }));
  EXPECT_TRUE(refused([](auto& r) { r.delivery.retransmissions = 16; }));
  EXPECT_FALSE(refused([](auto& r) {
    r.destination = Address::all_stations();
    r.delivery = {.mode = TransmissionMode::nonarq, .retransmissions = 15};
  }));
}

TEST(ClientCore, a_confirmation_ends_the_oldest_request_with_that_start) {
  FakeServer server;
  server.bring_up();
  const RequestId first = *server.request(hello("same"));
  const RequestId second = *server.request(hello("same"));
  const RequestId other = *server.request(hello("other"));
  server.say(confirm("oth"));
  EXPECT_EQ(server.last<event::Confirmed>().id, other);
  server.say(confirm("same"));
  EXPECT_EQ(server.last<event::Confirmed>().id, first);
  server.say(reject("same", RejectReason::destination_not_responding));
  EXPECT_EQ(server.last<event::Rejected>().id, second);
  EXPECT_EQ(server.last<event::Rejected>().reason, RejectReason::destination_not_responding);
  server.say(confirm("same"));
  EXPECT_EQ(server.core.stats().answers_unmatched, 1u);
  EXPECT_EQ(server.count<event::Confirmed>(), 2u);
}

TEST(ClientCore, a_whole_copy_prefers_the_request_of_its_length) {
  FakeServer server;
  server.bring_up();
  const RequestId longer = *server.request(hello("abc"));
  const RequestId shorter = *server.request(hello("ab"));
  server.say(confirm("ab"));
  EXPECT_EQ(server.last<event::Confirmed>().id, shorter);
  server.say(confirm("ab"));
  EXPECT_EQ(server.last<event::Confirmed>().id, longer);
}

TEST(ClientCore, an_answer_for_another_destination_or_sap_ends_nothing) {
  FakeServer server;
  server.bring_up();
  ASSERT_TRUE(server.request(hello("x")).ok());
  UnidataRequestConfirm other = confirm("x");
  other.destination = Address{9};
  server.say(other);
  other = confirm("x");
  other.destination_sap = {7};
  server.say(other);
  EXPECT_EQ(server.core.stats().answers_unmatched, 2u);
  EXPECT_TRUE(server.events.empty());
}

TEST(ClientCore, a_request_without_confirmation_is_done_once_sent) {
  FakeServer server;
  server.bring_up();
  server.block = true;
  const RequestId id = *server.request(hello("x", Confirmation::none));
  EXPECT_EQ(server.saw<UnidataRequest>(), 1u);
  EXPECT_EQ(server.count<event::Sent>(), 0u);
  server.core.on_sent(server.now);
  server.settle();
  EXPECT_EQ(server.last<event::Sent>().id, id);
}

TEST(ClientCore, an_unspecified_mode_uses_the_confirmation_of_the_bind) {
  FakeServer server(
      {.sap = {6}, .service = {.mode = TransmissionMode::arq, .confirmation = Confirmation::node}});
  server.bring_up();
  UnidataRequest request = hello("x");
  request.delivery = {};
  const RequestId id = *server.request(request);
  EXPECT_EQ(server.count<event::Sent>(), 0u);
  server.say(confirm("x"));
  EXPECT_EQ(server.last<event::Confirmed>().id, id);
}

TEST(ClientCore, every_open_request_is_unresolved_when_the_connection_is_lost) {
  FakeServer server;
  server.bring_up();
  std::set<RequestId> open;
  open.insert(*server.request(hello("confirmed later")));
  server.block = true;
  open.insert(*server.request(hello("being written", Confirmation::none)));
  open.insert(*server.request(hello("held")));
  server.hang_up();
  ASSERT_EQ(server.events.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<event::Lost>(server.events[0]));
  std::set<RequestId> unresolved;
  for (const Event& event : server.events) {
    if (const auto* e = std::get_if<event::Unresolved>(&event)) unresolved.insert(e->id);
  }
  EXPECT_EQ(unresolved, open);
  server.core.on_sent(server.now);  // late and spurious
  server.settle();
  EXPECT_EQ(server.count<event::Sent>(), 0u);
}

TEST(ClientCore, an_unbind_makes_open_requests_unresolved_and_a_late_answer_ends_nothing) {
  FakeServer server;
  server.bring_up();
  const RequestId id = *server.request(hello("x"));
  server.say(UnbindIndication{UnbindReason::inactivity});
  EXPECT_EQ(server.last<event::Unresolved>().id, id);
  server.say(confirm("x"));
  EXPECT_EQ(server.count<event::Confirmed>(), 0u);
}

TEST(ClientCore, an_answer_that_never_comes_ends_the_wait_after_its_time) {
  FakeServer server({.sap = {6}, .confirmation_timeout = hours(1)});
  server.bring_up();
  const RequestId id = *server.request(hello("x"));
  server.run_for(hours(1) - kTick);
  EXPECT_EQ(server.count<event::Unresolved>(), 0u);
  server.run_for(kTick);
  EXPECT_EQ(server.last<event::Unresolved>().id, id);
  EXPECT_TRUE(server.core.bound());
}

// --- Flow control --------------------------------------------------------------------------------

TEST(ClientCore, holds_requests_while_the_flow_is_off_and_sends_them_in_order_after) {
  FakeServer server;
  server.bring_up();
  server.say(DataFlowOff{});
  ASSERT_TRUE(server.request(hello("one")).ok());
  ASSERT_TRUE(server.request(hello("two")).ok());
  EXPECT_EQ(server.saw<UnidataRequest>(), 0u);
  server.say(DataFlowOn{});
  ASSERT_EQ(server.saw<UnidataRequest>(), 2u);
  EXPECT_EQ(server.seen[0], Primitive{hello("one")});
  EXPECT_EQ(server.seen[1], Primitive{hello("two")});
  EXPECT_EQ(server.count<event::FlowOff>(), 1u);
  EXPECT_EQ(server.count<event::FlowOn>(), 1u);
}

TEST(ClientCore, the_queue_takes_its_limit_and_refuses_one_more) {
  FakeServer server({.sap = {6}, .queue_max = 3});
  server.bring_up();
  server.say(DataFlowOff{});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(server.request(hello()).ok());
  EXPECT_EQ(code_of(server.request(hello())), ErrorCode::queue_full);
  server.say(DataFlowOn{});
  EXPECT_TRUE(server.request(hello()).ok());
}

TEST(ClientCore, a_transport_that_takes_no_more_holds_back_the_requests) {
  FakeServer server({.sap = {6}, .queue_max = 2});
  server.bring_up();
  server.block = true;
  EXPECT_TRUE(server.request(hello("one")).ok());  // with the transport
  EXPECT_TRUE(server.request(hello("two")).ok());
  EXPECT_TRUE(server.request(hello("three")).ok());
  EXPECT_EQ(server.saw<UnidataRequest>(), 1u);
  EXPECT_EQ(code_of(server.request(hello("four"))), ErrorCode::queue_full);
  server.core.on_sent(server.now);
  server.settle();
  EXPECT_EQ(server.saw<UnidataRequest>(), 3u);
}

TEST(ClientCore, a_write_stops_growing_at_its_limit) {
  FakeServer server({.sap = {6}, .write_octets_max = 100});
  server.bring_up();
  server.say(DataFlowOff{});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(server.request(hello(std::string(33, 'x'))).ok());  // 50
  server.block = true;
  server.say(DataFlowOn{});
  EXPECT_EQ(server.saw<UnidataRequest>(), 2u);
}

TEST(ClientCore, no_more_than_the_limit_of_unconfirmed_requests_is_out) {
  FakeServer server({.sap = {6}, .unconfirmed_max = 2});
  server.bring_up();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(server.request(hello("x")).ok());
  EXPECT_EQ(server.saw<UnidataRequest>(), 2u);
  server.say(confirm("x"));
  EXPECT_EQ(server.saw<UnidataRequest>(), 3u);
}

TEST(ClientCore, a_new_binding_starts_with_the_flow_on) {
  FakeServer server;
  server.bring_up();
  server.say(DataFlowOff{});
  server.hang_up();
  server.run_for(seconds(2));
  server.accept();
  server.say(BindAccepted{.sap = {6}});
  ASSERT_TRUE(server.request(hello()).ok());
  EXPECT_EQ(server.saw<UnidataRequest>(), 1u);
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
  server.say_octets(*from_hex("90EB00 0003 0E 02 01  90EB00 0005 13 01 414243  90EB00 0001 1C"));
  EXPECT_TRUE(server.core.bound());
  EXPECT_EQ(server.core.stats().primitives_unsupported, 3u);
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
    EXPECT_EQ(server.core.stats().protocol_errors, 1u) << hex;
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
  server.say_octets(*from_hex("0001 10 90"));  // the first ends, the next begins
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
  EXPECT_EQ(server.core.stats().probes, 0u);
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
  // Each hears whatever the other sends, as a server would.
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
