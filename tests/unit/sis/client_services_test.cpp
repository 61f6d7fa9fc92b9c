// SPDX-License-Identifier: Apache-2.0
// These tests show expedited data, hard links, management, availability and errors within U_PDUs as
// a client sees them.
#include <gtest/gtest.h>

#include "sis/send_outcome.h"
#include "sis/text.h"
#include "tests/unit/sis/fake_server.h"

namespace s5066::sis {
namespace {

constexpr HardLink kLink{
    .type = HardLinkType::full_bandwidth, .priority = 1, .remote_sap = {6}, .remote = kPeer};

ExpeditedUnidataRequest urgent(std::string_view text,
                               Confirmation confirmation = Confirmation::node) {
  return {.destination_sap = {6},
          .destination = kPeer,
          .delivery = {.mode = TransmissionMode::arq, .confirmation = confirmation},
          .updu = Bytes(text.begin(), text.end())};
}

template <typename Answer>
Answer answer(std::string_view part) {
  Answer p;
  p.destination_sap = {6};
  p.destination = kPeer;
  p.updu_part = Bytes(part.begin(), part.end());
  return p;
}

ErrorCode code_of(const Result<void>& result) {
  return result.ok() ? ErrorCode::io : result.error().code;
}

class ClientServices : public testing::Test {
 protected:
  Result<RequestId> expedite(ExpeditedUnidataRequest request) {
    auto result = server.core.request_expedited(server.now, std::move(request));
    server.settle();
    return result;
  }
  Result<void> request_link(const HardLink& link = kLink) {
    auto result = server.core.request_hard_link(server.now, link);
    server.settle();
    return result;
  }
  Result<void> end_link(Address remote = kPeer) {
    auto result = server.core.request_hard_link_end(server.now, remote);
    server.settle();
    return result;
  }
  Result<void> accept_link(const HardLink& link = kLink) {
    auto result = server.core.request_hard_link_accept(server.now, link);
    server.settle();
    return result;
  }
  Result<void> reject_link(const HardLink& link = kLink, std::uint8_t reason = 1) {
    auto result = server.core.request_hard_link_reject(server.now, link, reason);
    server.settle();
    return result;
  }

  FakeServer server;
};

// --- Expedited data ------------------------------------------------------------------------------

TEST_F(ClientServices, an_expedited_request_goes_out_as_it_was_given) {
  server.bring_up();
  ASSERT_TRUE(expedite(urgent("now")).ok());
  ASSERT_EQ(server.seen.size(), 1u);
  EXPECT_EQ(server.seen[0], Primitive{urgent("now")});
}

TEST_F(ClientServices, expedited_data_overtakes_normal_data_that_is_still_held) {
  server.bring_up();
  server.say(DataFlowOff{});
  ASSERT_TRUE(server.request(hello("first")).ok());
  ASSERT_TRUE(expedite(urgent("second")).ok());
  EXPECT_TRUE(server.seen.empty()) << "the flow is off for all U_PDUs";
  server.say(DataFlowOn{});
  ASSERT_EQ(server.seen.size(), 2u);
  EXPECT_EQ(server.seen[0], Primitive{urgent("second")});
  EXPECT_EQ(server.seen[1], Primitive{hello("first")});
}

TEST_F(ClientServices, answers_to_expedited_and_normal_data_are_told_apart) {
  server.bring_up();
  const RequestId normal = *server.request(hello("same"));
  const RequestId expedited = *expedite(urgent("same"));
  server.say(answer<ExpeditedUnidataRequestConfirm>("same"));
  EXPECT_EQ(server.last<event::Confirmed>().id, expedited);
  server.say(answer<ExpeditedUnidataRequestConfirm>("same"));
  EXPECT_EQ(server.core.counters()[ClientCounter::answers_unmatched], 1u);
  server.say(confirm("same"));
  EXPECT_EQ(server.last<event::Confirmed>().id, normal);
}

TEST_F(ClientServices, a_rejected_expedited_request_says_why) {
  server.bring_up();
  const RequestId id = *expedite(urgent("now"));
  auto rejected = answer<ExpeditedUnidataRequestRejected>("now");
  rejected.reason = RejectReason::destination_sap_not_bound;
  server.say(rejected);
  EXPECT_EQ(server.last<event::Rejected>().id, id);
  EXPECT_EQ(server.last<event::Rejected>().reason, RejectReason::destination_sap_not_bound);
}

TEST_F(ClientServices, a_rejection_says_how_far_a_updu_came_where_the_reason_tells) {
  using event::Reach;
  const std::pair<RejectReason, Reach> cases[] = {
      {RejectReason::ttl_expired, Reach::unknown},
      {RejectReason::destination_sap_not_bound, Reach::refused_there},
      {RejectReason::destination_not_responding, Reach::unknown},
      {RejectReason::larger_than_mtu, Reach::never_left},
      {RejectReason::mode_not_specified, Reach::never_left},
      {static_cast<RejectReason>(9), Reach::unknown},
  };
  server.bring_up();
  for (const auto& [reason, reach] : cases) {
    ASSERT_TRUE(expedite(urgent("now")).ok());
    auto rejected = answer<ExpeditedUnidataRequestRejected>("now");
    rejected.reason = reason;
    server.say(rejected);
    EXPECT_EQ(server.last<event::Rejected>().reach(), reach);
    EXPECT_EQ(outcome_of(Event{server.last<event::Rejected>()})->reach, reach);
  }
}

TEST_F(ClientServices, expedited_data_counts_against_the_same_limit_and_rules) {
  FakeServer small({.sap = {6}, .queue_max = 2, .retry_jitter = 0});
  small.bring_up(100);
  small.say(DataFlowOff{});
  ASSERT_TRUE(small.request(hello()).ok());
  ASSERT_TRUE(small.core.request_expedited(small.now, urgent("2")).ok());
  EXPECT_EQ(sis::code_of(small.core.request_expedited(small.now, urgent("3"))),
            ErrorCode::queue_full);
  EXPECT_EQ(sis::code_of(small.core.request_expedited(small.now, urgent(std::string(101, 'x')))),
            ErrorCode::too_large);
  auto to_all = urgent("all");
  to_all.destination = Address::all_stations();
  EXPECT_EQ(sis::code_of(small.core.request_expedited(small.now, to_all)), ErrorCode::bad_field);
}

TEST_F(ClientServices, an_expedited_request_without_an_answer_is_given_up_after_an_older_one) {
  FakeServer slow({.sap = {6}, .confirmation_timeout = seconds(60), .retry_jitter = 0});
  slow.bring_up();
  slow.say(DataFlowOff{});
  const RequestId normal = *slow.request(hello());
  slow.run_for(seconds(10));
  const auto expedited = slow.core.request_expedited(slow.now, urgent("now"));
  slow.say(DataFlowOn{});  // the younger request leaves first
  slow.run_for(seconds(50) - kTick);
  EXPECT_EQ(slow.count<event::Unresolved>(), 0u);
  slow.run_for(kTick);
  EXPECT_EQ(slow.last<event::Unresolved>().id, normal);
  EXPECT_EQ(slow.count<event::Unresolved>(), 1u);
  slow.run_for(seconds(10));
  EXPECT_EQ(slow.last<event::Unresolved>().id, *expedited);
}

TEST_F(ClientServices, an_expedited_indication_is_told_as_such) {
  server.bring_up();
  const ExpeditedUnidataIndication in{
      .destination_sap = {6}, .source_sap = {7}, .source = kPeer, .updu = {1, 2, 3}};
  server.say(in);
  EXPECT_EQ(server.last<event::ExpeditedIndication>().unidata, in);
}

// --- Errors within a U_PDU -----------------------------------------------------------------------

TEST_F(ClientServices, errored_and_missing_blocks_are_told_and_never_reach_beyond_the_updu) {
  server.bring_up();
  server.say(UnidataIndication{.mode = TransmissionMode::nonarq_with_errors,
                               .updu = Bytes(10),
                               .errored = {{0, 10}, {9, 1}, {9, 2}, {10, 1}},
                               .missing = {{5, 65535}}});
  const auto& unidata = server.last<event::Indication>().unidata;
  EXPECT_EQ(unidata.errored, (std::vector<OctetRange>{{0, 10}, {9, 1}, {9, 1}}));
  EXPECT_EQ(unidata.missing, (std::vector<OctetRange>{{5, 5}}));
  server.say(ExpeditedUnidataIndication{
      .mode = TransmissionMode::nonarq_with_errors, .errored = {{0, 1}}, .updu = {}});
  EXPECT_TRUE(server.last<event::ExpeditedIndication>().unidata.errored.empty());
}

// --- Hard links that we ask for ------------------------------------------------------------------

TEST_F(ClientServices, a_hard_link_is_established_and_ended) {
  server.bring_up();
  ASSERT_TRUE(request_link().ok());
  ASSERT_EQ(server.seen.size(), 1u);
  EXPECT_EQ(server.seen[0], Primitive{HardLinkEstablish{kLink}});
  server.say(HardLinkEstablished{1, kLink});
  EXPECT_EQ(server.last<event::HardLinkEstablished>().link, kLink);
  ASSERT_TRUE(end_link().ok());
  EXPECT_EQ(server.seen.back(), Primitive{HardLinkTerminate{kPeer}});
  server.hang_up();
  EXPECT_EQ(server.count<event::HardLinkLost>(), 0u) << "it was over already";
}

TEST_F(ClientServices, a_hard_link_ended_just_before_the_stop_is_ended_before_the_unbind) {
  server.bring_up();
  ASSERT_TRUE(request_link().ok());
  server.seen.clear();
  ASSERT_TRUE(server.core.request_hard_link_end(server.now, kPeer).ok());
  server.core.stop(server.now);
  server.settle();
  ASSERT_EQ(server.seen.size(), 2u);
  EXPECT_EQ(server.seen[0], Primitive{HardLinkTerminate{kPeer}});
  EXPECT_EQ(server.seen[1], Primitive{UnbindRequest{}});
}

TEST_F(ClientServices, a_hard_link_may_be_rejected_and_asked_for_again) {
  server.bring_up();
  ASSERT_TRUE(request_link().ok());
  EXPECT_EQ(code_of(request_link()), ErrorCode::already_exists);
  server.say(HardLinkRejected{HardLinkRejectReason::remote_not_responding, kLink});
  EXPECT_EQ(server.last<event::HardLinkRejected>().reason,
            HardLinkRejectReason::remote_not_responding);
  EXPECT_TRUE(request_link().ok());
}

TEST_F(ClientServices, a_terminated_hard_link_says_why) {
  server.bring_up();
  ASSERT_TRUE(request_link().ok());
  server.say(HardLinkEstablished{1, kLink});
  server.say(HardLinkTerminated{HardLinkEndReason::physical_link_broken, kLink});
  EXPECT_EQ(server.last<event::HardLinkTerminated>().reason,
            HardLinkEndReason::physical_link_broken);
  EXPECT_EQ(code_of(end_link()), ErrorCode::not_found);
}

TEST_F(ClientServices, a_binding_that_ends_takes_its_hard_links_along) {
  server.bring_up();
  HardLink other = kLink;
  other.remote.value += 1;
  HardLink offered = kLink;
  offered.remote.value += 2;
  ASSERT_TRUE(request_link().ok());
  server.say(HardLinkEstablished{1, kLink});
  ASSERT_TRUE(request_link(other).ok());
  server.say(HardLinkIndication{1, offered});
  server.hang_up();
  EXPECT_EQ(server.count<event::HardLinkLost>(), 3u);
  server.run_for(seconds(2));
  server.accept();
  server.say(BindAccepted{.sap = {6}});
  EXPECT_TRUE(server.core.bound());
  EXPECT_EQ(server.saw<HardLinkEstablish>(), 2u) << "nothing is asked for again";
  EXPECT_EQ(code_of(end_link()), ErrorCode::not_found);
}

TEST_F(ClientServices, an_unbind_takes_hard_links_along) {
  server.bring_up();
  ASSERT_TRUE(request_link().ok());
  server.say(UnbindIndication{UnbindReason::preempted});
  EXPECT_EQ(server.last<event::HardLinkLost>().link, kLink);
  EXPECT_EQ(code_of(request_link()), ErrorCode::link_down);
}

TEST_F(ClientServices, a_hard_link_that_never_gets_an_answer_is_lost_and_called_off) {
  FakeServer silent({.sap = {6}, .hard_link_timeout = seconds(100), .retry_jitter = 0});
  silent.bring_up();
  ASSERT_TRUE(silent.core.request_hard_link(silent.now, kLink).ok());
  silent.settle();
  silent.run_for(seconds(100) - kTick);
  EXPECT_EQ(silent.count<event::HardLinkLost>(), 0u);
  silent.run_for(kTick);
  EXPECT_EQ(silent.last<event::HardLinkLost>().link, kLink);
  EXPECT_EQ(silent.seen.back(), Primitive{HardLinkTerminate{kPeer}});
  silent.say(HardLinkEstablished{1, kLink});
  EXPECT_EQ(silent.core.counters()[ClientCounter::answers_unmatched], 1u);
}

TEST_F(ClientServices, a_hard_link_without_meaning_is_refused) {
  server.bring_up();
  const auto refused = [this](auto change) {
    HardLink link = kLink;
    change(link);
    return code_of(request_link(link)) == ErrorCode::bad_field;
  };
  EXPECT_FALSE(refused([](HardLink&) {}));
  EXPECT_TRUE(refused([](auto& l) { l.type = static_cast<HardLinkType>(3); }));
  EXPECT_FALSE(refused([](auto& l) { l.priority = 3; }));
  EXPECT_TRUE(refused([](auto& l) { l.priority = 4; }));
  EXPECT_FALSE(refused([](auto& l) { l.remote_sap = {15}; }));
  EXPECT_TRUE(refused([](auto& l) { l.remote_sap = {16}; }));
  EXPECT_FALSE(refused([](auto& l) { l.remote.value = Address::kMax; }));
  EXPECT_TRUE(refused([](auto& l) { l.remote.value = Address::kMax + 1; }));
  EXPECT_TRUE(refused([](auto& l) { l.remote = Address::all_stations(); }));
}

TEST_F(ClientServices, there_are_only_so_many_hard_links) {
  server.bring_up();
  HardLink link = kLink;
  for (int i = 0; i < 4; ++i) {
    link.remote.value += 1;
    EXPECT_TRUE(request_link(link).ok());
  }
  link.remote.value += 1;
  EXPECT_EQ(code_of(request_link(link)), ErrorCode::queue_full);
  server.say(HardLinkIndication{1, link});
  EXPECT_EQ(server.count<event::HardLinkOffered>(), 0u);
  EXPECT_EQ(server.seen.back(), (Primitive{HardLinkReject{1, link}}));
}

// --- Hard links that we are offered --------------------------------------------------------------

TEST_F(ClientServices, an_offered_hard_link_is_accepted_and_ended_by_the_other_side) {
  server.bring_up();
  server.say(HardLinkIndication{1, kLink});
  EXPECT_EQ(server.last<event::HardLinkOffered>().link, kLink);
  ASSERT_TRUE(accept_link().ok());
  EXPECT_EQ(server.seen.back(), Primitive{HardLinkAccept{kLink}});
  EXPECT_EQ(code_of(accept_link()), ErrorCode::not_found) << "once is enough";
  server.say(HardLinkTerminated{HardLinkEndReason::by_remote, kLink});
  EXPECT_EQ(server.last<event::HardLinkTerminated>().link, kLink);
}

TEST_F(ClientServices, an_accepted_hard_link_can_be_ended_from_here) {
  server.bring_up();
  server.say(HardLinkIndication{1, kLink});
  EXPECT_EQ(code_of(end_link()), ErrorCode::not_found) << "reject it instead";
  ASSERT_TRUE(accept_link().ok());
  ASSERT_TRUE(end_link().ok());
  EXPECT_EQ(server.seen.back(), Primitive{HardLinkTerminate{kPeer}});
}

TEST_F(ClientServices, an_offered_hard_link_is_rejected_with_a_reason) {
  server.bring_up();
  server.say(HardLinkIndication{1, kLink});
  ASSERT_TRUE(reject_link(kLink, 2).ok());
  EXPECT_EQ(server.seen.back(), (Primitive{HardLinkReject{2, kLink}}));
  EXPECT_EQ(code_of(accept_link()), ErrorCode::not_found);
}

TEST_F(ClientServices, an_offer_withdrawn_before_our_answer_ends_in_an_event) {
  server.bring_up();
  server.say(HardLinkIndication{1, kLink});
  server.say(HardLinkTerminated{HardLinkEndReason::by_remote, kLink});
  EXPECT_EQ(server.count<event::HardLinkTerminated>(), 1u);
  EXPECT_EQ(code_of(accept_link()), ErrorCode::not_found);
}

TEST_F(ClientServices, hard_link_primitives_about_nothing_are_counted_and_harmless) {
  server.bring_up();
  server.say(HardLinkEstablished{1, kLink});
  server.say(HardLinkRejected{HardLinkRejectReason::remote_busy, kLink});
  server.say(HardLinkTerminated{HardLinkEndReason::by_remote, kLink});
  EXPECT_EQ(server.core.counters()[ClientCounter::answers_unmatched], 3u);
  EXPECT_TRUE(server.events.empty());
  EXPECT_TRUE(server.core.bound());
}

// --- Management and availability -----------------------------------------------------------------

TEST_F(ClientServices, only_rank_15_sends_management_messages) {
  server.bring_up();
  EXPECT_EQ(sis::code_of(server.core.request_management(server.now, {.message_type = 1})),
            ErrorCode::refused);

  FakeServer manager({.sap = {6}, .rank = 15, .retry_jitter = 0});
  manager.bring_up();
  manager.say(DataFlowOff{});
  const ManagementRequest request{.message_type = 1, .body = {2, 3}};
  const auto id = manager.core.request_management(manager.now, request);
  ASSERT_TRUE(id.ok());
  manager.settle();
  EXPECT_EQ(manager.seen.back(), Primitive{request}) << "it is no U_PDU, so the flow may be off";
  EXPECT_EQ(manager.last<event::Sent>().id, *id);
  manager.say(ManagementIndication{.message_type = 9, .body = {1}});
  EXPECT_EQ(manager.last<event::Management>().message_type, 9u);
  EXPECT_EQ(manager.last<event::Management>().body, Bytes{1});
}

TEST_F(ClientServices, a_management_message_fills_a_frame_and_no_more) {
  FakeServer manager({.sap = {6}, .rank = 15, .retry_jitter = 0});
  manager.bring_up();
  EXPECT_TRUE(manager.core.request_management(manager.now, {.body = Bytes(65533)}).ok());
  EXPECT_EQ(sis::code_of(manager.core.request_management(manager.now, {.body = Bytes(65534)})),
            ErrorCode::too_large);
}

TEST_F(ClientServices, a_management_message_that_did_not_get_out_is_unresolved) {
  FakeServer manager({.sap = {6}, .rank = 15, .retry_jitter = 0});
  manager.bring_up();
  manager.block = true;
  const auto id = manager.core.request_management(manager.now, {.message_type = 1});
  manager.settle();
  manager.hang_up();
  EXPECT_EQ(manager.last<event::Unresolved>().id, *id);
}

TEST_F(ClientServices, availability_is_told) {
  server.bring_up();
  server.say(SubnetAvailability{NodeStatus::receive_only, AvailabilityReason::emcon});
  EXPECT_EQ(server.last<event::Availability>().status, NodeStatus::receive_only);
  EXPECT_EQ(server.last<event::Availability>().reason, AvailabilityReason::emcon);
}

TEST_F(ClientServices, a_primitive_of_a_client_from_the_server_costs_the_connection) {
  server.bring_up();
  server.say(HardLinkEstablish{kLink});
  EXPECT_EQ(server.core.counters()[ClientCounter::protocol_errors], 1u);
  EXPECT_EQ(server.disconnects, 1);
}

TEST_F(ClientServices, events_are_readable) {
  EXPECT_EQ(to_string(Event{event::HardLinkTerminated{HardLinkEndReason::by_remote, kLink}}),
            "hard_link_terminated type=2 remote=1.2.3.5 reason=\"terminated by the remote node\"");
  EXPECT_EQ(to_string(Event{event::Availability{NodeStatus::on, AvailabilityReason::unspecified}}),
            "availability status=\"on\" reason=\"unspecified\"");
  EXPECT_EQ(to_string(Event{
                event::ExpeditedIndication{{.source = kPeer, .missing = {{0, 1}}, .updu = {1}}}}),
            "expedited_indication source=1.2.3.5 octets=1 missing=1");
}

}  // namespace
}  // namespace s5066::sis
