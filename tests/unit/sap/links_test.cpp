// SPDX-License-Identifier: Apache-2.0
// These tests cover soft link sessions, and what happens to U_PDUs if links fail.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/seeds.h"
#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::Confirmation;
using sis::RejectReason;
using std::chrono::nanoseconds;

using Links = InterfaceFixture;

// B.3(3)
TEST_F(Links, queued_arq_data_calls_its_destination_once) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes{1}));
  give(client, request(kPeer, Bytes{2}));
  EXPECT_EQ(calls, std::vector{kPeer});
  make(kPeer);
  EXPECT_EQ(spdus.size(), 2u);
}

TEST_F(Links, an_idle_session_ends_at_its_time_and_not_before) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  wait(seconds(100));
  EXPECT_TRUE(breaks.empty());  // the U_PDU is not acknowledged
  confirm(0);
  wait(config.links.idle_timeout - nanoseconds(1));
  EXPECT_TRUE(breaks.empty());
  wait(nanoseconds(1));
  EXPECT_EQ(breaks, std::vector{kPeer});
  lose(kPeer, cas::LinkEnd::by_us);
  EXPECT_EQ(core->next_deadline(), std::nullopt);
}

TEST_F(Links, an_idle_timeout_of_zero_ends_a_session_with_its_data) {
  config.links.idle_timeout = Duration::zero();
  restart();
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  EXPECT_TRUE(breaks.empty());
  confirm(0);
  EXPECT_EQ(breaks, std::vector{kPeer});
}

TEST_F(Links, the_called_side_waits_longer_before_it_ends_an_idle_session) {
  make(kPeer, false);
  wait(config.links.idle_timeout + config.links.called_minimum - nanoseconds(1));
  EXPECT_TRUE(breaks.empty());
  wait(nanoseconds(1));
  EXPECT_EQ(breaks, std::vector{kPeer});
}

TEST_F(Links, a_called_session_carries_our_data_too) {
  const ClientId client = bind(3, Confirmation::none);
  make(kPeer, false);
  give(client, request(kPeer, Bytes{1}));
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(spdus.size(), 1u);
}

TEST_F(Links, sessions_are_bounded_and_an_idle_one_makes_place) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  give(client, request(kOther, Bytes{2}));
  EXPECT_EQ(calls, std::vector{kPeer});
  EXPECT_TRUE(breaks.empty());
  confirm(0);
  EXPECT_EQ(breaks, std::vector{kPeer});  // without waiting for the idle time
  lose(kPeer, cas::LinkEnd::by_us);
  EXPECT_EQ(calls, (std::vector{kPeer, kOther}));
}

// Peers that call us count as sessions once they send something.
TEST_F(Links, a_place_that_was_made_for_a_node_is_its_own) {
  const Address caller{0x02000000};
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  for (std::uint32_t i = 0; i < 3; ++i) {
    make(Address{caller.value + i}, false);
    core->on_peer_active(now, Address{caller.value + i});
  }
  give(client, request(kPeer, Bytes{1}));
  wait(config.links.called_minimum);
  ASSERT_EQ(breaks, std::vector{caller});
  EXPECT_TRUE(calls.empty());
  make(Address{caller.value + 3}, false);
  core->on_peer_active(now, Address{caller.value + 3});
  EXPECT_TRUE(calls.empty());
  lose(caller, cas::LinkEnd::by_us);
  EXPECT_EQ(calls, std::vector{kPeer});
  // Only one place has been made.
  give(client, request(kOther, Bytes{2}));
  EXPECT_EQ(calls, std::vector{kPeer});
}

// Nodes that call us and give way do not raise the limit for our own sessions.
TEST_F(Links, our_own_sessions_never_exceed_the_maximum) {
  config.links.soft_links_max = 2;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  const auto address = [](std::uint32_t number) { return Address{0x02000000 + number}; };
  for (std::uint32_t i = 0; i < 3; ++i) {
    make(address(i), false);
    core->on_peer_active(now, address(i));
  }
  for (std::uint32_t i = 10; i < 13; ++i) give(client, request(address(i), Bytes{1}));
  wait(config.links.called_minimum);
  ASSERT_EQ(breaks, (std::vector{address(0), address(1), address(2)}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    lose(address(i), cas::LinkEnd::by_us);
    EXPECT_EQ(calls.size(), std::min<std::size_t>(i + 1, 2));
  }
  // Another node that calls us does not give way for a node that could not be called at that time.
  for (const Address peer : calls) make(peer);
  make(address(3), false);
  core->on_peer_active(now, address(3));
  wait(config.links.called_minimum);
  EXPECT_EQ(std::count(breaks.begin(), breaks.end(), address(3)), 0);
}

TEST_F(Links, a_place_that_nobody_waits_for_any_more_is_anybodys) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  confirm(0);
  auto brief = request(kOther, Bytes{2});
  brief.time_to_live = 1;
  give(client, brief);
  ASSERT_EQ(breaks, std::vector{kPeer});
  wait(seconds(2));
  lose(kPeer, cas::LinkEnd::by_us);
  const Address caller{0x02000000};
  make(caller, false);
  core->on_peer_active(now, caller);
  give(client, request(kOther, Bytes{3}));
  EXPECT_EQ(calls, std::vector{kPeer});
}

TEST_F(Links, a_busy_session_gives_way_after_its_maximum_and_finishes_what_is_out) {
  config.links.soft_links_max = 1;
  config.link_outstanding_octets_max = 2100;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  for (int i = 0; i < 3; ++i) give(client, request(kPeer, Bytes(2000)));
  make(kPeer);
  give(client, request(kOther, Bytes{2}));
  ASSERT_EQ(spdus.size(), 1u);
  wait(config.links.session_max - nanoseconds(1));
  confirm(0);
  ASSERT_EQ(spdus.size(), 2u);
  wait(nanoseconds(1));
  EXPECT_TRUE(breaks.empty());
  confirm(1);
  EXPECT_EQ(spdus.size(), 2u);  // the third U_PDU has to wait
  EXPECT_EQ(breaks, std::vector{kPeer});
  lose(kPeer, cas::LinkEnd::by_us);
  EXPECT_EQ(calls.back(), kOther);  // not kPeer again, though its data is older
  make(kOther);
  confirm(2);
  lose(kOther, cas::LinkEnd::by_us);
  EXPECT_EQ(calls.back(), kPeer);
}

// A.1.1.1(5),(6)
TEST_F(Links, what_is_out_at_the_end_of_the_drain_time_is_queued_again_and_not_given_up) {
  config.links.soft_links_max = 1;
  config.attempts_max = 1;  // one failed attempt would end the U_PDU
  restart();
  const ClientId client = bind(3, Confirmation::node);
  for (int i = 0; i < 3; ++i) give(client, request(kPeer, Bytes(2000)));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 3u);
  wait(config.links.session_max);
  give(client, request(kOther, Bytes{2}));  // another node waits, long after the maximum
  wait(config.links.drain_max - nanoseconds(1));
  EXPECT_TRUE(breaks.empty());
  wait(nanoseconds(1));
  EXPECT_EQ(breaks, std::vector{kPeer});
  lose(kPeer, cas::LinkEnd::by_us);
  EXPECT_EQ(calls.back(), kOther);
  make(kOther);
  confirm(3);
  lose(kOther, cas::LinkEnd::by_us);
  EXPECT_EQ(calls.back(), kPeer);
  make(kPeer);
  ASSERT_EQ(spdus.size(), 7u);
  for (std::size_t i = 4; i < 7; ++i) confirm(i);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 4u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
}

TEST_F(Links, a_session_that_nobody_waits_for_any_more_is_not_ended_by_its_drain_time) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes(2000)));
  make(kPeer);
  wait(config.links.session_max);
  sis::UnidataRequest brief = request(kOther, Bytes{2});
  brief.time_to_live = 1;  // 2 s
  give(client, brief);
  wait(config.links.drain_max);
  EXPECT_TRUE(breaks.empty());
}

TEST_F(Links, a_session_with_more_urgent_data_does_not_give_way) {
  config.links.soft_links_max = 1;
  config.link_outstanding_octets_max = 2100;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest urgent = request(kPeer, Bytes(2000));
  urgent.priority = 5;
  for (int i = 0; i < 3; ++i) give(client, urgent);
  make(kPeer);
  give(client, request(kOther, Bytes{2}));
  wait(config.links.session_max * 2);
  confirm(0);
  EXPECT_EQ(spdus.size(), 2u);
  EXPECT_TRUE(breaks.empty());
}

TEST_F(Links, a_session_whose_more_urgent_data_is_on_its_way_does_not_give_way) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest urgent = request(kPeer, Bytes(2000));
  urgent.priority = 5;
  give(client, urgent);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 2u);  // nothing more waits for kPeer
  give(client, request(kOther, Bytes{2}));
  wait(config.links.session_max);
  wait(config.links.drain_max);
  confirm(1);
  EXPECT_TRUE(breaks.empty());
  confirm(0);
  EXPECT_EQ(breaks, std::vector{kPeer});
}

TEST_F(Links, a_session_whose_data_on_its_way_is_no_more_urgent_gives_way) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest urgent = request(kPeer, Bytes(2000));
  urgent.priority = 5;
  give(client, urgent);
  give(client, request(kPeer, Bytes(2000)));
  make(kPeer);
  give(client, request(kOther, Bytes{2}));
  confirm(0);  // the U_PDUs left and waiting have one priority
  wait(config.links.session_max);
  EXPECT_TRUE(breaks.empty());
  wait(config.links.drain_max);
  EXPECT_EQ(breaks, std::vector{kPeer});
}

TEST_F(Links, a_called_session_is_left_in_peace_for_its_minimum) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  make(kPeer, false);
  core->on_peer_active(now, kPeer);
  give(client, request(kOther, Bytes{1}));
  wait(config.links.called_minimum - nanoseconds(1));
  EXPECT_TRUE(breaks.empty());
  wait(nanoseconds(1));
  EXPECT_EQ(breaks, std::vector{kPeer});
}

// A.3.2.1.2(3)
TEST_F(Links, a_called_session_that_has_data_of_ours_takes_a_place) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  make(kPeer, false);
  give(client, request(kPeer, Bytes{1}));
  wait(seconds(1));
  give(client, request(kOther, Bytes{2}));
  EXPECT_EQ(calls_to(kOther), 0u);
}

// An answer copies so few octets that it may fit several U_PDUs. An answer alone therefore confirms
// nothing that the link has not acknowledged. The receiver knows the repetition and answers it
// again.
TEST_F(Links, an_answer_without_an_acknowledgement_does_not_spare_the_repetition) {
  const ClientId client = bind(3, Confirmation::client);
  for (const bool answered_before_the_break : {true, false}) {
    const auto confirmed_before = sent<sis::UnidataRequestConfirm>(client);
    give(client, request(kPeer, Bytes{1}));
    make(kPeer);
    const std::size_t handed_down = spdus.size();
    if (answered_before_the_break) hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{1}});
    lose(kPeer);
    if (!answered_before_the_break) hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{1}});
    EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), confirmed_before);
    wait(config.links.call_retry_wait);
    make(kPeer);
    ASSERT_EQ(spdus.size(), handed_down + 1);
    confirm(spdus.size() - 1);
    hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{1}});
    EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), confirmed_before + 1);
    lose(kPeer);
    wait(config.links.call_retry_wait);
  }
}

TEST_F(Links, what_expires_below_is_reported_as_expired) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  refuse(0, cas::CpduFailure::expired);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::ttl_expired);
}

TEST_F(Links, what_is_refused_for_want_of_room_below_waits_until_something_there_has_ended) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  refuse(0, cas::CpduFailure::queue_full);
  give(client, request(kPeer, Bytes{2}));
  EXPECT_EQ(spdus.size(), 1u);  // neither U_PDU is tried again and again
  give(client, request(kOther, Bytes{3}));
  make(kOther);
  ASSERT_EQ(spdus.size(), 2u);
  confirm(1);
  ASSERT_EQ(spdus.size(), 4u);
  confirm(2);
  confirm(3);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 3u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
}

// --- A client that leaves with data in every stage -----------------------------------------------

class Departure : public Links {
 protected:
  /// One U_PDU awaits its client, one is below, and one for a third node waits for a link.
  ClientId client_with_data_in_every_stage() {
    const ClientId client = bind(3, Confirmation::client);
    give(client, request(kPeer, Bytes{1}));
    make(kPeer);
    confirm(0);
    give(client, request(kPeer, Bytes{2}));
    give(client, request(kOther, Bytes{3}));
    EXPECT_EQ(spdus.size(), 2u);
    return client;
  }
  void everything_ends_quietly(ClientId gone) {
    const auto before = log[gone].size();
    hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{1}});
    confirm(1);
    make(kOther);
    no_answer(kOther);
    wait(hours(30));
    EXPECT_EQ(log[gone].size(), before);
    EXPECT_EQ(spdus.size(), 2u);
    EXPECT_EQ(counters[Counter::updus_accepted], 3u);
    EXPECT_EQ(counters[Counter::updus_dropped], 3u);
    EXPECT_EQ(core->updus_queued(), 0u);
  }
};

TEST_F(Departure, closing_the_connection_drops_all_without_reports) {
  const ClientId client = client_with_data_in_every_stage();
  core->on_client_closed(now, client);
  drain();
  everything_ends_quietly(client);
}

TEST_F(Departure, unbinding_drops_all_and_a_new_bind_starts_clean) {
  const ClientId client = client_with_data_in_every_stage();
  give(client, sis::UnbindRequest{});
  give(client, bind_to(3, Confirmation::client));
  everything_ends_quietly(client);
  EXPECT_EQ(core->clients().front().stored.updus, 0u);
}

TEST_F(Departure, a_link_break_after_it_requeues_nothing) {
  const ClientId client = client_with_data_in_every_stage();
  core->on_client_failed(now, client, ClientEnd::unread);
  drain();
  EXPECT_TRUE(closed.count(client));
  lose(kPeer);
  EXPECT_EQ(core->updus_queued(), 0u);
  EXPECT_EQ(counters[Counter::updus_requeued], 0u);
}

// --- Every accepted request that wants a report gets exactly one ---------------------------------

TEST_F(Links, random_histories_report_every_accepted_request_exactly_once) {
  for (const sim::Seed seed : sim::thinned_seeds(300)) {
    if (HasFailure()) return;
    SCOPED_TRACE(seed);
    Rng rng(seed);
    config = {};
    config.links.soft_links_max = 1 + rng.below(3);
    config.link_outstanding_octets_max = 200 + rng.below(5000);
    config.queue.client_updus_max = 5 + rng.below(60);
    config.awaiting_client_confirm_max = 2 + rng.below(40);
    restart();
    counters = {};
    now = Instant{};
    const std::vector<Address> peers{kPeer, kOther, Address{7}, Address{8}};
    std::map<Address, bool> up;
    std::vector<ClientId> clients;
    for (std::uint8_t sap = 1; sap <= 3; ++sap) clients.push_back(bind(sap, Confirmation::node));
    std::uint64_t wanted = 0;

    const auto step = [&](unsigned what) {
      const Address peer = peers[rng.below(4)];
      const ClientId client = clients[rng.below(3)];
      if (what < 40 && !paused[client]) {
        sis::UnidataRequest r = request(peer, Bytes(1 + rng.below(600), 9));
        r.priority = static_cast<std::uint8_t>(rng.below(4));
        r.time_to_live = rng.chance(0.5) ? 1 + rng.below(200) : 0;
        r.delivery.mode = sis::TransmissionMode::arq;
        r.delivery.confirmation = rng.chance(0.5) ? Confirmation::client : Confirmation::node;
        give(client, r);
        ++wanted;
      } else if (what < 60) {
        if (up[peer]) return;
        if (rng.chance(0.6)) {
          make(peer, std::count(calls.begin(), calls.end(), peer) > 0);
          up[peer] = true;
        } else {
          no_answer(peer);
        }
      } else if (what < 65) {
        if (up[peer]) lose(peer, static_cast<cas::LinkEnd>(rng.below(6)));
        up[peer] = false;
      } else if (what < 90) {
        if (below[peer].empty()) return;
        const CpduId id = *below[peer].begin();
        below[peer].erase(id);
        if (rng.chance(0.8)) {
          core->on_spdu_confirm(now, {id});
        } else {
          core->on_spdu_rejected(now, {id, cas::CpduFailure::expired});
        }
        drain();
      } else if (what < 97) {
        const SapId source{static_cast<std::uint8_t>(1 + rng.below(3))};
        const Bytes part(rng.below(3), 9);
        const Spdu spdu = rng.chance(0.8) ? Spdu(DeliveryConfirm{source, SapId{4}, part})
                                          : Spdu(DeliveryFail{1, source, SapId{4}, part});
        core->on_spdu(now, {cas::Service::arq, peer, kOwn, encode(spdu)});
        drain();
      } else {
        wait(seconds(rng.below(60)));
      }
    };
    for (int i = 0; i < 1500; ++i) step(rng.below(100));
    wait(hours(48));  // everything that still waits ends by its time …
    for (const Address peer : peers) lose(peer);
    wait(hours(48));

    std::uint64_t reports = 0;
    for (const ClientId client : clients) {
      reports += sent<sis::UnidataRequestConfirm>(client);
      reports += sent<sis::UnidataRequestRejected>(client);
    }
    EXPECT_EQ(reports, wanted);
    EXPECT_EQ(counters[Counter::updus_accepted], wanted);
    EXPECT_EQ(counters[Counter::updus_confirmed] + counters[Counter::updus_rejected] +
                  counters[Counter::updus_expired],
              wanted);
    for (const auto& client : core->clients()) EXPECT_EQ(client.stored.updus, 0u);
  }
}

}  // namespace
}  // namespace s5066::sap
