// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/sis/fake_server.h"

namespace s5066::sis {
namespace {

// --- Requests and their ends ---------------------------------------------------------------------

TEST(ClientRequests, a_request_goes_out_as_it_was_given) {
  FakeServer server;
  server.bring_up();
  ASSERT_TRUE(server.request(hello()).ok());
  ASSERT_EQ(server.seen.size(), 1u);
  EXPECT_EQ(server.seen[0], Primitive{hello()});
}

TEST(ClientRequests, takes_a_updu_of_the_mtu_and_refuses_one_octet_more) {
  FakeServer server;
  server.bring_up(100);
  EXPECT_TRUE(server.request(hello(std::string(100, 'x'))).ok());
  EXPECT_EQ(code_of(server.request(hello(std::string(101, 'x')))), ErrorCode::too_large);
}

TEST(ClientRequests, an_absurd_mtu_does_not_exceed_what_a_frame_can_hold) {
  FakeServer server;
  server.bring_up(65535);
  EXPECT_TRUE(server.request(hello(std::string(65523, 'x'))).ok());
  EXPECT_EQ(code_of(server.request(hello(std::string(65524, 'x')))), ErrorCode::too_large);
}

TEST(ClientRequests, refuses_what_the_standard_forbids) {
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

TEST(ClientRequests, a_confirmation_ends_the_oldest_request_with_that_start) {
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
  EXPECT_EQ(server.core.counters()[ClientCounter::answers_unmatched], 1u);
  EXPECT_EQ(server.count<event::Confirmed>(), 2u);
}

TEST(ClientRequests, a_whole_copy_prefers_the_request_of_its_length) {
  FakeServer server;
  server.bring_up();
  const RequestId longer = *server.request(hello("abc"));
  const RequestId shorter = *server.request(hello("ab"));
  server.say(confirm("ab"));
  EXPECT_EQ(server.last<event::Confirmed>().id, shorter);
  server.say(confirm("ab"));
  EXPECT_EQ(server.last<event::Confirmed>().id, longer);
}

TEST(ClientRequests, an_answer_for_another_destination_or_sap_ends_nothing) {
  FakeServer server;
  server.bring_up();
  ASSERT_TRUE(server.request(hello("x")).ok());
  UnidataRequestConfirm other = confirm("x");
  other.destination = Address{9};
  server.say(other);
  other = confirm("x");
  other.destination_sap = {7};
  server.say(other);
  EXPECT_EQ(server.core.counters()[ClientCounter::answers_unmatched], 2u);
  EXPECT_TRUE(server.events.empty());
}

TEST(ClientRequests, a_request_without_confirmation_is_done_once_sent) {
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

TEST(ClientRequests, an_unspecified_mode_uses_the_confirmation_of_the_bind) {
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

TEST(ClientRequests, an_unspecified_mode_leaves_the_rest_of_the_delivery_out) {
  FakeServer server;
  server.bring_up();
  UnidataRequest request = hello("x");
  request.delivery = {.mode = TransmissionMode::unspecified,
                      .confirmation = static_cast<Confirmation>(4),
                      .as_they_arrive = true,
                      .extended = true,
                      .retransmissions = 16};  // invalid in any other mode
  ASSERT_TRUE(server.request(request).ok());
  ASSERT_EQ(server.saw<UnidataRequest>(), 1u);
  EXPECT_EQ(std::get<UnidataRequest>(server.seen.back()).delivery, DeliveryMode{});
}

TEST(ClientRequests, every_open_request_is_unresolved_when_the_connection_is_lost) {
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
  server.core.on_sent(server.now);  // a late and spurious call
  server.settle();
  EXPECT_EQ(server.count<event::Sent>(), 0u);
}

TEST(ClientRequests, an_unbind_makes_open_requests_unresolved_and_a_late_answer_ends_nothing) {
  FakeServer server;
  server.bring_up();
  const RequestId id = *server.request(hello("x"));
  server.say(UnbindIndication{UnbindReason::inactivity});
  EXPECT_EQ(server.last<event::Unresolved>().id, id);
  server.say(confirm("x"));
  EXPECT_EQ(server.count<event::Confirmed>(), 0u);
}

TEST(ClientRequests, an_answer_that_never_comes_ends_the_wait_after_its_time) {
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

// A.2.1.14(2),(3)
TEST(ClientRequests, holds_requests_while_the_flow_is_off_and_sends_them_in_order_after) {
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

TEST(ClientRequests, the_queue_takes_its_limit_and_refuses_one_more) {
  FakeServer server({.sap = {6}, .queue_max = 3});
  server.bring_up();
  server.say(DataFlowOff{});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(server.request(hello()).ok());
  EXPECT_EQ(code_of(server.request(hello())), ErrorCode::queue_full);
  server.say(DataFlowOn{});
  EXPECT_TRUE(server.request(hello()).ok());
}

TEST(ClientRequests, a_transport_that_takes_no_more_holds_back_the_requests) {
  FakeServer server({.sap = {6}, .queue_max = 2});
  server.bring_up();
  server.block = true;
  EXPECT_TRUE(server.request(hello("one")).ok());  // the transport has this one
  EXPECT_TRUE(server.request(hello("two")).ok());
  EXPECT_TRUE(server.request(hello("three")).ok());
  EXPECT_EQ(server.saw<UnidataRequest>(), 1u);
  EXPECT_EQ(code_of(server.request(hello("four"))), ErrorCode::queue_full);
  server.core.on_sent(server.now);
  server.settle();
  EXPECT_EQ(server.saw<UnidataRequest>(), 3u);
}

TEST(ClientRequests, a_write_stops_growing_at_its_limit) {
  FakeServer server({.sap = {6}, .write_octets_max = 100});
  server.bring_up();
  server.say(DataFlowOff{});
  // Each request has 50 octets.
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(server.request(hello(std::string(33, 'x'))).ok());
  server.block = true;
  server.say(DataFlowOn{});
  EXPECT_EQ(server.saw<UnidataRequest>(), 2u);
}

TEST(ClientRequests, no_more_than_the_limit_of_unconfirmed_requests_is_out) {
  FakeServer server({.sap = {6}, .unconfirmed_max = 2});
  server.bring_up();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(server.request(hello("x")).ok());
  EXPECT_EQ(server.saw<UnidataRequest>(), 2u);
  server.say(confirm("x"));
  EXPECT_EQ(server.saw<UnidataRequest>(), 3u);
}

TEST(ClientRequests, a_new_binding_starts_with_the_flow_on) {
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

}  // namespace
}  // namespace s5066::sis
