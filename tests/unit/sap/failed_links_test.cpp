// SPDX-License-Identifier: Apache-2.0
// These tests cover calls that fail and links that end: when the peer is called again, and what
// happens to the U_PDUs.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using FailedLinks = InterfaceFixture;
using sis::Confirmation;
using sis::RejectReason;
using std::chrono::nanoseconds;

TEST_F(FailedLinks, failed_calls_are_repeated_at_growing_distance_and_then_reported) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  no_answer(kPeer);
  EXPECT_EQ(calls_to(kPeer), 1u);
  wait(config.links.call_retry_wait - nanoseconds(1));
  EXPECT_EQ(calls_to(kPeer), 1u);
  wait(nanoseconds(1));
  EXPECT_EQ(calls_to(kPeer), 2u);
  no_answer(kPeer);
  wait(config.links.call_retry_wait * 2 - nanoseconds(1));
  EXPECT_EQ(calls_to(kPeer), 2u);
  wait(nanoseconds(1));
  EXPECT_EQ(calls_to(kPeer), 3u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  no_answer(kPeer);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_not_responding);
  wait(hours(1));
  EXPECT_EQ(calls_to(kPeer), 3u);
}

TEST_F(FailedLinks, the_distance_of_calls_is_capped) {
  config.attempts_max = 50;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes{1}));
  for (int i = 0; i < 20; ++i) {
    no_answer(kPeer);
    wait(config.links.call_retry_wait_max);
  }
  EXPECT_EQ(calls_to(kPeer), 21u);
}

TEST_F(FailedLinks, a_peer_that_refuses_for_now_is_no_failed_attempt_whatever_its_reason) {
  using Reason = cas::RejectReason;
  for (const auto reason : {Reason::unknown, Reason::higher_priority_pending,
                            Reason::supporting_exclusive_link, static_cast<Reason>(9)}) {
    SCOPED_TRACE(static_cast<int>(reason));
    restart();
    const ClientId client = bind(3, Confirmation::node);
    give(client, request(kPeer, Bytes{1}));
    for (int i = 0; i < 10; ++i) {
      no_answer(kPeer, reason);
      wait(config.links.call_retry_wait_max);
    }
    EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
    make(kPeer);
    EXPECT_EQ(spdus.size(), 1u);
  }
}

TEST_F(FailedLinks, a_peer_that_takes_no_links_at_all_uses_up_the_attempts) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  for (unsigned i = 0; i < config.attempts_max; ++i) {
    EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
    no_answer(kPeer, cas::RejectReason::broadcast_only_node);
    wait(config.links.call_retry_wait_max);
  }
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 1u);
}

TEST_F(FailedLinks, a_call_that_could_not_be_tried_is_tried_later) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes{1}));
  core->on_link_refused(now, kPeer);
  drain();
  EXPECT_EQ(calls_to(kPeer), 1u);
  wait(config.links.call_retry_wait);
  EXPECT_EQ(calls_to(kPeer), 2u);
}

TEST_F(FailedLinks, what_a_lost_link_left_is_sent_again_in_its_order) {
  const ClientId client = bind(3, Confirmation::node);
  for (std::uint8_t i = 0; i < 4; ++i) give(client, request(kPeer, Bytes{i}));
  make(kPeer);
  confirm(1);
  lose(kPeer);
  give(client, request(kPeer, Bytes{4}));
  EXPECT_EQ(calls_to(kPeer), 1u);  // a silent peer is not called for a while
  wait(config.links.call_retry_wait);
  EXPECT_EQ(calls_to(kPeer), 2u);
  make(kPeer);
  std::vector<std::uint8_t> order;
  for (std::size_t i = 4; i < spdus.size(); ++i) order.push_back(spdus[i].spdu.back());
  EXPECT_EQ(order, (std::vector<std::uint8_t>{0, 2, 3, 4}));
  EXPECT_EQ(counters[Counter::updus_requeued], 3u);
}

TEST_F(FailedLinks, links_that_get_nothing_through_use_up_the_attempts) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  for (unsigned i = 0; i < config.attempts_max; ++i) {
    EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
    make(kPeer);
    lose(kPeer);
    wait(config.links.call_retry_wait);
  }
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_not_responding);
}

TEST_F(FailedLinks, links_that_get_something_through_do_not) {
  const ClientId client = bind(3, Confirmation::node);
  for (int i = 0; i < 12; ++i) give(client, request(kPeer, Bytes{1}));
  for (std::size_t i = 0; i < 10; ++i) {
    make(kPeer);
    confirm(spdus.size() - 1);
    lose(kPeer);
    wait(config.links.call_retry_wait);
  }
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 10u);
}

// B.3(3.1)
TEST_F(FailedLinks, a_peer_that_forgot_the_link_is_called_again_at_once) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  lose(kPeer, cas::LinkEnd::not_connected);
  EXPECT_EQ(calls_to(kPeer), 2u);
}

// The peer responds, so its U_PDUs wait until their time to die (A.3.2.4(14)).
TEST_F(FailedLinks,
       a_peer_that_forgets_link_after_link_uses_up_no_attempt_and_is_called_ever_more_rarely) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  Duration distance{};
  for (unsigned i = 1; i <= 3 * config.attempts_max; ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(calls_to(kPeer), i);
    make(kPeer);
    // The U_PDUs come back before or after the news of the link.
    lose(kPeer, cas::LinkEnd::not_connected, i % 2 == 0);
    if (distance > Duration::zero()) {
      wait(distance - nanoseconds(1));
      EXPECT_EQ(calls_to(kPeer), i);
      wait(nanoseconds(1));
    }
    distance = std::clamp<Duration>(2 * distance, config.links.call_retry_wait,
                                    config.links.call_retry_wait_max);
  }
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  make(kPeer);
  confirm(spdus.size() - 1);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 1u);
}

TEST_F(FailedLinks, a_peer_that_calls_anew_or_makes_way_for_a_hard_link_uses_up_no_attempt) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  for (unsigned i = 0; i < 2 * config.attempts_max; ++i) {
    // The new link is there before the U_PDUs of the old link have come back.
    const auto old = std::exchange(below[kPeer], {});
    core->on_link_broken(now, {kPeer, cas::LinkEnd::called_anew});
    core->on_link_made(now, {kPeer, false, cas::LinkType::nonexclusive});
    for (const auto& spdu : old) {
      core->on_spdu_rejected(now, {spdu, cas::CpduFailure::not_connected});
    }
    drain();
  }
  for (unsigned i = 0; i < 2 * config.attempts_max; ++i) {
    core->on_link_broken(now, {.peer = kPeer,
                               .end = cas::LinkEnd::by_peer,
                               .reason = cas::BreakReason::higher_priority_pending});
    for (const auto& spdu : std::exchange(below[kPeer], {})) {
      core->on_spdu_rejected(now, {spdu, cas::CpduFailure::not_connected});
    }
    drain();
    wait(config.links.call_retry_wait);
    make(kPeer);
  }
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  EXPECT_EQ(core->holdings().updus_below, 1u);
}

// A.3.2.4(14): this node itself ended the link.
TEST_F(FailedLinks, a_peer_whose_link_made_way_uses_up_no_attempt_and_is_called_at_once) {
  const ClientId client = bind(3, Confirmation::node);
  make(kPeer, false);
  give(client, request(kPeer, Bytes{1}));
  for (unsigned i = 1; i <= 2 * config.attempts_max; ++i) {
    lose(kPeer, cas::LinkEnd::displaced);
    EXPECT_EQ(calls_to(kPeer), i);
    make(kPeer, false);
  }
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  EXPECT_EQ(core->holdings().updus_below, 1u);
}

}  // namespace
}  // namespace s5066::sap
