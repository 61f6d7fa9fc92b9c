// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/subnetwork_interface.h"

#include <gtest/gtest.h>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::Confirmation;
using sis::RejectReason;
using sis::TransmissionMode;
using std::chrono::nanoseconds;

class Interface : public InterfaceFixture {};

// --- Clients -------------------------------------------------------------------------------------

TEST_F(Interface, nothing_but_a_bind_and_a_keep_alive_is_served_before_a_bind) {
  const ClientId client = connect();
  give(client, sis::KeepAlive{});
  EXPECT_EQ(sent<sis::KeepAlive>(client), 1u);
  give(client, request(kPeer, Bytes{1}));
  give(client, sis::UnbindRequest{});
  EXPECT_EQ(counters[Counter::primitives_invalid], 2u);
  EXPECT_EQ(counters[Counter::updus_accepted], 0u);
}

TEST_F(Interface, a_bind_is_answered_with_sap_and_mtu) {
  const ClientId client = bind(3, Confirmation::none);
  EXPECT_EQ(last<sis::BindAccepted>(client), (sis::BindAccepted{SapId{3}, 2048}));
}

TEST_F(Interface, a_second_bind_of_a_bound_client_is_refused_and_counted) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, bind_to(4, Confirmation::none));
  EXPECT_EQ(last<sis::BindRejected>(client).reason, sis::BindRejectReason::sap_already_allocated);
  EXPECT_EQ(counters[Counter::primitives_invalid], 1u);
}

TEST_F(Interface, an_unbind_frees_the_sap_without_an_answer) {
  const ClientId client = bind(3, Confirmation::none);
  const auto before = log[client].size();
  give(client, sis::UnbindRequest{});
  EXPECT_EQ(log[client].size(), before);
  EXPECT_FALSE(closed.count(client));
  bind(3, Confirmation::none);
  give(client, bind_to(4, Confirmation::none));
  EXPECT_EQ(sent<sis::BindAccepted>(client), 2u);
}

TEST_F(Interface, too_many_invalid_primitives_end_the_connection) {
  const ClientId client = bind(3, Confirmation::none);
  for (unsigned i = 0; i < config.invalid_primitives_max; ++i) {
    core->on_invalid_primitive(now, client, 6);
    drain();
  }
  EXPECT_FALSE(closed.count(client));
  core->on_invalid_primitive(now, client, 6);
  drain();
  EXPECT_TRUE(closed.count(client));
  EXPECT_EQ(last<sis::UnbindIndication>(client).reason,
            sis::UnbindReason::too_many_invalid_primitives);
  bind(3, Confirmation::none);  // the SAP is free
}

TEST_F(Interface, a_primitive_that_only_servers_send_is_invalid) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, sis::DataFlowOn{});
  give(client, sis::BindAccepted{});
  EXPECT_EQ(counters[Counter::primitives_invalid], 2u);
}

TEST_F(Interface, connections_that_are_not_bound_are_bounded_apart_from_those_that_are) {
  const ClientId bound = bind(1, Confirmation::none);
  const ClientId oldest = connect();
  for (std::size_t i = 1; i < config.unbound_clients_max; ++i) connect();
  EXPECT_TRUE(closed.empty());
  const ClientId newcomer = connect();
  EXPECT_EQ(closed, std::set<ClientId>{oldest});
  EXPECT_EQ(counters[Counter::clients_dropped], 1u);
  give(newcomer, bind_to(2, Confirmation::none));
  EXPECT_EQ(sent<sis::BindAccepted>(newcomer), 1u);
  connect();
  EXPECT_EQ(closed.size(), 1u);
  EXPECT_EQ(core->clients().front().id, bound);
}

TEST_F(Interface, who_has_most_connections_without_a_bind_makes_room_for_the_next) {
  config.unbound_clients_max = 4;
  restart();
  const ClientId modest = connect(1);
  const ClientId greedy = connect(2);
  const ClientId greedy_again = connect(2);
  connect(2);
  for (const ClientId victim : {greedy, greedy_again}) {
    connect(2);
    EXPECT_TRUE(closed.count(victim));
  }
  connect(3);
  connect(4);
  EXPECT_FALSE(closed.count(modest));
  EXPECT_EQ(closed.size(), 4u);
  connect(5);  // each owner has one connection
  EXPECT_TRUE(closed.count(modest));
}

TEST_F(Interface, a_client_of_higher_rank_takes_the_place_of_one_of_lower_rank_who_may_bind_again) {
  config.bound_clients_max = 2;
  restart();
  const ClientId low = bind(3, Confirmation::node);
  give(low, request(kPeer, Bytes{1}));
  sis::BindRequest ranked = bind_to(4, Confirmation::none);
  ranked.rank = 1;
  const ClientId middle = connect();
  give(middle, ranked);
  const ClientId third = connect();
  give(third, bind_to(5, Confirmation::none));  // its rank is not above the lowest
  EXPECT_EQ(last<sis::BindRejected>(third).reason, sis::BindRejectReason::not_enough_resources);
  EXPECT_EQ(sent<sis::UnbindIndication>(low), 0u);
  ranked.sap = SapId{5};
  give(third, ranked);
  EXPECT_EQ(last<sis::UnbindIndication>(low).reason, sis::UnbindReason::preempted);
  EXPECT_EQ(sent<sis::UnbindIndication>(middle), 0u);
  EXPECT_EQ(last<sis::BindAccepted>(third).sap, SapId{5});
  EXPECT_EQ(core->updus_queued(), 0u);
  EXPECT_FALSE(closed.count(low));
  give(third, sis::UnbindRequest{});
  give(low, bind_to(3, Confirmation::none));
  EXPECT_EQ(sent<sis::BindAccepted>(low), 2u);
}

// --- Accepting and refusing ----------------------------------------------------------------------

TEST_F(Interface, a_updu_above_the_mtu_is_always_rejected) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, request(kPeer, Bytes(2048)));
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  give(client, request(kPeer, Bytes(2049)));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::larger_than_mtu);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).updu_part.size(), 2048u);
}

TEST_F(Interface, a_request_with_its_own_mode_overrides_the_bind) {
  const ClientId client = bind(3, Confirmation::node);
  sis::UnidataRequest own = request(kPeer, Bytes{1});
  own.delivery.mode = TransmissionMode::nonarq;
  own.delivery.retransmissions = 2;
  give(client, own);
  ASSERT_EQ(spdus.size(), 1u);  // needs no link
  EXPECT_EQ(spdus[0].service, cas::Service::nonarq);
  EXPECT_EQ(spdus[0].repeats, 2);
  confirm(0);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 0u);
  EXPECT_EQ(counters[Counter::updus_confirmed], 1u);
}

TEST_F(Interface, an_undefined_mode_is_rejected_and_an_undefined_confirmation_invalid) {
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest bad = request(kPeer, Bytes{1});
  bad.delivery.mode = static_cast<TransmissionMode>(4);
  give(client, bad);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::mode_not_specified);
  bad.delivery.mode = TransmissionMode::arq;
  bad.delivery.confirmation = Confirmation::undefined;
  give(client, bad);
  bad.delivery.confirmation = Confirmation::none;
  bad.delivery.extended = true;
  give(client, bad);
  EXPECT_EQ(counters[Counter::primitives_invalid], 2u);
  EXPECT_EQ(counters[Counter::updus_accepted], 0u);
}

TEST_F(Interface, a_group_gets_nonarq_data_only) {
  const ClientId client = bind(3, Confirmation::node);
  sis::UnidataRequest to_all = request(Address::all_stations(), Bytes{1});
  give(client, to_all);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_not_responding);
  EXPECT_EQ(counters[Counter::primitives_invalid], 1u);
  to_all.delivery.mode = TransmissionMode::nonarq;
  give(client, to_all);
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(spdus[0].destination, Address::all_stations());
}

TEST_F(Interface, our_own_address_is_served_locally_when_switched_on) {
  const ClientId client = bind(3, Confirmation::client);
  const ClientId other = bind(4, Confirmation::none);
  sis::UnidataRequest own = request(kOwn, Bytes{1, 2});
  own.destination_sap = SapId{4};
  give(client, own);
  EXPECT_EQ(last<sis::UnidataIndication>(other).updu, (Bytes{1, 2}));
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 1u);
  own.destination_sap = SapId{5};
  give(client, own);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_sap_not_bound);
  EXPECT_TRUE(calls.empty());

  config.loopback = false;
  restart();
  const ClientId again = bind(3, Confirmation::node);
  give(again, request(kOwn, Bytes{1}));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(again).reason,
            RejectReason::destination_not_responding);
}

TEST_F(Interface, a_broadcast_only_node_rejects_arq_requests) {
  config.broadcast_only = true;
  restart();
  const ClientId client = connect();
  sis::BindRequest binding = bind_to(3, Confirmation::none);
  binding.service.mode = TransmissionMode::nonarq;
  give(client, binding);
  sis::UnidataRequest arq = request(kPeer, Bytes{1});
  arq.delivery.mode = TransmissionMode::arq;
  arq.delivery.confirmation = Confirmation::node;
  give(client, arq);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::mode_not_specified);
}

// --- Confirmation (A.2.1.7, A.2.1.8, A.3.2.4) ----------------------------------------------------

TEST_F(Interface, node_confirmation_follows_the_acknowledgement) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1, 2, 3}));
  ASSERT_EQ(calls, std::vector{kPeer});
  make(kPeer);
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 0u);
  confirm(0);
  EXPECT_EQ(last<sis::UnidataRequestConfirm>(client).updu_part, (Bytes{1, 2, 3}));
  EXPECT_EQ(last<sis::UnidataRequestConfirm>(client).destination, kPeer);
}

TEST_F(Interface, the_copied_part_is_limited) {
  config.response_octets_local = 2;
  restart();
  const ClientId client = bind(3, Confirmation::node);
  give(client, request(kPeer, Bytes{1, 2, 3}));
  make(kPeer);
  confirm(0);
  EXPECT_EQ(last<sis::UnidataRequestConfirm>(client).updu_part, (Bytes{1, 2}));
}

TEST_F(Interface, client_confirmation_needs_acknowledgement_and_answer_in_either_order) {
  const ClientId client = bind(3, Confirmation::client);
  give(client, request(kPeer, Bytes{1}));
  give(client, request(kPeer, Bytes{2}));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 2u);
  EXPECT_EQ(spdus[0].spdu[2] & 0x80, 0x80);
  confirm(0);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 0u);
  hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{1}});
  EXPECT_EQ(last<sis::UnidataRequestConfirm>(client).updu_part, Bytes{1});
  hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{2}});
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 1u);
  confirm(1);
  EXPECT_EQ(last<sis::UnidataRequestConfirm>(client).updu_part, Bytes{2});
  hear(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{2}});  // no U_PDU waits for it any more
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 2u);
}

TEST_F(Interface, a_failed_delivery_is_reported_once) {
  const ClientId client = bind(3, Confirmation::client);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  hear(DeliveryFail{1, SapId{3}, SapId{4}, {}});
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_sap_not_bound);
  confirm(0);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 1u);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 0u);
}

TEST_F(Interface, a_client_that_never_confirms_is_given_up_at_the_time_to_die_and_its_grace) {
  const ClientId client = bind(3, Confirmation::client);
  sis::UnidataRequest soon = request(kPeer, Bytes{1});
  soon.time_to_live = 30;  // 60 s
  give(client, soon);
  make(kPeer);
  confirm(0);
  wait(seconds(60) + config.client_confirm_grace - nanoseconds(1));
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  wait(nanoseconds(1));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::ttl_expired);
}

TEST_F(Interface, the_wait_for_a_client_is_capped) {
  const ClientId client = bind(3, Confirmation::client);
  give(client, request(kPeer, Bytes{1}));
  make(kPeer);
  confirm(0);
  wait(config.client_confirm_wait_max);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason,
            RejectReason::destination_not_responding);
}

TEST_F(Interface, clients_that_await_confirmation_are_bounded) {
  config.awaiting_client_confirm_max = 2;
  restart();
  const ClientId client = bind(3, Confirmation::client);
  for (std::uint8_t i = 0; i < 3; ++i) give(client, request(kPeer, Bytes{i}));
  make(kPeer);
  confirm(0);
  confirm(1);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  confirm(2);
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).updu_part, Bytes{0});
}

TEST_F(Interface, a_queued_updu_dies_at_its_time_and_not_before) {
  const ClientId client = bind(3, Confirmation::node);
  sis::UnidataRequest soon = request(kPeer, Bytes{1});
  soon.time_to_live = 5;  // 10 s
  give(client, soon);
  wait(seconds(10) - nanoseconds(1));
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 0u);
  wait(nanoseconds(1));
  EXPECT_EQ(last<sis::UnidataRequestRejected>(client).reason, RejectReason::ttl_expired);
  EXPECT_EQ(counters[Counter::updus_expired], 1u);
}

TEST_F(Interface, time_to_live_is_clamped_and_zero_means_the_default) {
  config.default_time_to_live = hours(2);
  restart();
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest long_lived = request(kPeer, Bytes{1});
  long_lived.time_to_live = 0xFFFFF;
  give(client, long_lived);
  give(client, request(kPeer, Bytes{2}));
  make(kPeer);
  EXPECT_EQ(spdus[0].time_to_die, now + hours(15 * 24));
  EXPECT_EQ(spdus[1].time_to_die, now + hours(2));
}

TEST_F(Interface, the_time_to_die_goes_on_the_air_when_the_date_is_known) {
  const ClientId client = bind(3, Confirmation::none);
  sis::UnidataRequest r = request(kPeer, *from_hex("48454C4C4F"));
  r.priority = 5;
  r.destination_sap = SapId{3};
  r.time_to_live = 60;
  give(client, r);
  make(kPeer);
  EXPECT_EQ(spdus[0].spdu, *from_hex("05 33 00 48454C4C4F"));
  core->on_utc(now, UtcSeconds{1772409540});  // 2026-03-01 23:59:00
  give(client, r);
  EXPECT_EQ(spdus[1].spdu, *from_hex("05 33 4D 001E 48454C4C4F"));
}

// --- Flow control --------------------------------------------------------------------------------

TEST_F(Interface, flow_goes_off_and_on_with_a_gap_and_nothing_is_lost) {
  config.queue.client_updus_max = 100;
  restart();
  const ClientId client = bind(3, Confirmation::node);
  make(kPeer);
  for (int i = 0; i < 74; ++i) give(client, request(kPeer, Bytes{1}));
  EXPECT_EQ(sent<sis::DataFlowOff>(client), 0u);
  give(client, request(kPeer, Bytes{1}));
  EXPECT_EQ(sent<sis::DataFlowOff>(client), 1u);
  for (int i = 75; i < 99; ++i) give(client, request(kPeer, Bytes{1}));
  EXPECT_FALSE(paused[client]);
  give(client, request(kPeer, Bytes{1}));
  EXPECT_TRUE(paused[client]);
  EXPECT_EQ(counters[Counter::updus_refused], 0u);

  std::size_t acknowledged = 0;
  while (acknowledged < 25) confirm(acknowledged++);
  EXPECT_TRUE(paused[client]);
  confirm(acknowledged++);
  EXPECT_FALSE(paused[client]);
  while (acknowledged < 60) confirm(acknowledged++);
  EXPECT_EQ(sent<sis::DataFlowOn>(client), 0u);
  confirm(acknowledged++);
  EXPECT_EQ(sent<sis::DataFlowOn>(client), 1u);
  while (acknowledged < 100) confirm(acknowledged++);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 100u);
  EXPECT_EQ(sent<sis::DataFlowOff>(client), 1u);
}

TEST_F(Interface, flow_goes_off_before_the_nodes_number_of_u_pdus_is_full_and_the_last_is_taken) {
  config.bound_clients_max = 2;
  config.queue.updus_max = 100;
  config.queue.client_updus_reserved = 10;  // so 80 are lent
  restart();
  const ClientId many = bind(3, Confirmation::node);
  const ClientId few = bind(5, Confirmation::node);
  for (int i = 0; i < 67; ++i) give(many, request(kPeer, Bytes{1}));
  EXPECT_EQ(sent<sis::DataFlowOff>(many), 0u);
  give(many, request(kPeer, Bytes{1}));  // 75 % of 90
  EXPECT_EQ(sent<sis::DataFlowOff>(many), 1u);
  for (int i = 68; i < 90; ++i) {
    EXPECT_FALSE(paused[many]);
    give(many, request(kPeer, Bytes{1}));
  }
  EXPECT_TRUE(paused[many]);
  EXPECT_EQ(counters[Counter::updus_refused], 0u);
  give(many, request(kPeer, Bytes{1}));
  EXPECT_EQ(counters[Counter::updus_refused], 1u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(many), 1u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(paused[few]);
    give(few, request(kPeer, Bytes{1}));
  }
  EXPECT_TRUE(paused[few]);
  EXPECT_EQ(sent<sis::DataFlowOff>(few), 1u);
  EXPECT_EQ(core->holdings().updus_queued, 100u);
  EXPECT_EQ(counters[Counter::updus_refused], 1u);
}

// If one U_PDU of full size is a large part of the storage, the storage is full far below the
// thresholds.
TEST_F(Interface, a_client_without_room_for_one_updu_stays_paused_at_any_threshold) {
  config.queue.client_octets_max = 4096;
  config.queue.client_octets_reserved = 4096;
  for (const unsigned flow_off_percent : {2u, 75u, 99u, 100u}) {
    SCOPED_TRACE(flow_off_percent);
    config.queue.flow_off_percent = flow_off_percent;
    config.queue.flow_on_percent = flow_off_percent - 1;
    restart();
    const ClientId client = bind(3, Confirmation::node);
    make(kPeer);
    give(client, request(kPeer, Bytes(1800)));
    EXPECT_TRUE(paused[client]);
    EXPECT_EQ(sent<sis::DataFlowOff>(client), 1u);
    EXPECT_EQ(sent<sis::DataFlowOn>(client), 0u);
    confirm(0);
    EXPECT_FALSE(paused[client]);
    EXPECT_EQ(sent<sis::DataFlowOn>(client), 1u);
  }
}

TEST_F(Interface, a_client_that_ignores_the_pause_is_told_what_is_not_accepted) {
  config.queue.client_updus_max = 2;
  restart();
  const ClientId client = bind(3, Confirmation::node);
  for (int i = 0; i < 3; ++i) give(client, request(kPeer, Bytes{1}));
  EXPECT_EQ(counters[Counter::updus_refused], 1u);
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(client), 1u);
}

TEST_F(Interface, a_flooding_client_leaves_room_for_another) {
  const ClientId flood = bind(3, Confirmation::none);
  while (!paused[flood]) give(flood, request(kPeer, Bytes(2048)));
  const ClientId modest = bind(4, Confirmation::node);
  EXPECT_FALSE(paused[modest]);
  sis::UnidataRequest urgent = request(kPeer, Bytes{7});
  urgent.priority = 9;
  give(modest, urgent);
  make(kPeer);
  ASSERT_FALSE(spdus.empty());
  EXPECT_EQ(spdus[0].priority, 9);
}

TEST_F(Interface, what_is_handed_down_for_a_link_is_bounded_but_never_one_by_one) {
  config.link_outstanding_octets_max = 10000;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  for (int i = 0; i < 20; ++i) give(client, request(kPeer, Bytes(995)));
  make(kPeer);
  EXPECT_EQ(spdus.size(), 10u);  // 998 octets each, and room kept for a TIME TO DIE
  confirm(3);
  EXPECT_EQ(spdus.size(), 11u);
}

// --- Clocks that are apart -----------------------------------------------------------------------

class ClocksApart : public Interface {
 protected:
  static constexpr UtcSeconds kUtc{1'790'000'000};

  ClocksApart() {
    core->on_utc(now, kUtc);
    client = bind(4, Confirmation::none);
  }
  /// Sends data with `time_to_live` now from a node whose clock is `behind` ours. True if it is
  /// indicated.
  bool arrives(Duration time_to_live, std::chrono::seconds behind,
               cas::Service service = cas::Service::arq) {
    const auto gone = std::chrono::duration_cast<seconds>(now.time_since_epoch());
    const UtcSeconds there{(kUtc.value + gone.count() - behind.count())};
    const auto lives = std::chrono::duration_cast<seconds>(time_to_live).count();
    const std::size_t before = sent<sis::UnidataIndication>(client);
    hear(DataSpdu{.source_sap = SapId{3},
                  .destination_sap = SapId{4},
                  .time_to_die = encode_time_to_die(there, {there.value + lives}),
                  .updu = Bytes{++number}},
         service);
    return sent<sis::UnidataIndication>(client) > before;
  }
  ClientId client;
  std::uint8_t number = 0;
};

TEST_F(ClocksApart, two_hours_lose_nothing_on_a_link_that_lasts_for_hours) {
  for (int link = 0; link < 2; ++link) {
    make(kPeer, false);
    wait(seconds(8));
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(arrives(minutes(2), hours(2))) << i;
      EXPECT_TRUE(arrives(minutes(115), hours(2))) << i;
      EXPECT_TRUE(arrives(hours(24), hours(2))) << i;
      EXPECT_TRUE(arrives(minutes(1), hours(2))) << i;
      wait(minutes(12));
    }
    lose(kPeer);
  }
  EXPECT_EQ(counters[Counter::spdus_expired], 0u);
  const auto apart = core->clocks_apart();
  ASSERT_EQ(apart.size(), 1u);
  EXPECT_EQ(apart[0].peer, kPeer);
  EXPECT_EQ(apart[0].at_least, hours(2) - minutes(1));
}

TEST_F(ClocksApart, the_operator_is_told_at_most_once_an_hour) {
  const auto told = [this] {
    const auto events = trace.events();
    return std::count_if(events.begin(), events.end(), [](const TraceEvent& event) {
      return event.kind == TraceKind::clocks_apart;
    });
  };
  make(kPeer, false);
  EXPECT_TRUE(arrives(minutes(60), hours(2)));
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(arrives(minutes(30), hours(2)));
  wait(hours(1) - nanoseconds(1));
  EXPECT_TRUE(arrives(minutes(20), hours(2)));
  EXPECT_EQ(told(), 1);
  wait(nanoseconds(1));
  EXPECT_TRUE(arrives(minutes(1), hours(2)));
  EXPECT_EQ(told(), 2);
}

TEST_F(ClocksApart, a_short_time_to_live_survives_a_minute_when_the_link_is_new) {
  make(kPeer, false);
  wait(seconds(29));
  EXPECT_TRUE(arrives(seconds(30), minutes(1)));
}

TEST_F(ClocksApart, what_died_since_the_link_was_made_is_discarded) {
  make(kPeer, false);
  wait(seconds(30));
  EXPECT_FALSE(arrives(seconds(30), minutes(1)));
  EXPECT_EQ(counters[Counter::spdus_expired], 1u);
  EXPECT_TRUE(core->clocks_apart().empty());
}

TEST_F(ClocksApart, without_a_link_what_is_late_by_more_than_the_longest_way_is_delivered) {
  const auto way = std::chrono::duration_cast<seconds>(config.on_its_way_max);
  EXPECT_FALSE(arrives(seconds(60), seconds(60) + way, cas::Service::nonarq));
  EXPECT_TRUE(arrives(seconds(60), seconds(61) + way, cas::Service::nonarq));
}

TEST_F(ClocksApart, a_clock_that_is_behind_loses_nothing) {
  make(kPeer, false);
  EXPECT_TRUE(arrives(minutes(1), -hours(2)));
  EXPECT_TRUE(arrives(minutes(1), -hours(72)));
  EXPECT_TRUE(core->clocks_apart().empty());
}

TEST_F(ClocksApart, peers_are_bounded) {
  PeerClocks clocks({seconds(5), minutes(10), 2});
  for (std::uint32_t peer = 1; peer < 5; ++peer) {
    now += seconds(1);
    EXPECT_FALSE(clocks.has_died(now, Address{peer}, hours(2)));
  }
  ASSERT_EQ(clocks.differences().size(), 2u);
  EXPECT_EQ(clocks.differences()[0].peer, Address{3});
}

// --- From the air --------------------------------------------------------------------------------

TEST_F(Interface, data_is_indicated_whatever_its_size) {
  const ClientId client = bind(4, Confirmation::none);
  hear(DataSpdu{
      .priority = 6, .source_sap = SapId{3}, .destination_sap = SapId{4}, .updu = Bytes(4000)});
  const auto indication = last<sis::UnidataIndication>(client);
  EXPECT_EQ(indication.updu.size(), 4000u);
  EXPECT_EQ(indication.priority, 6);
  EXPECT_EQ(indication.source, kPeer);
  EXPECT_EQ(indication.source_sap, SapId{3});
  EXPECT_EQ(indication.destination, kOwn);
  EXPECT_TRUE(spdus.empty());
}

// A.3.2.4(25)
TEST_F(Interface, nothing_is_confirmed_before_the_client_has_taken_it) {
  const ClientId client = bind(4, Confirmation::none);
  unread.insert(client);
  const DataSpdu data{.source_sap = SapId{3},
                      .destination_sap = SapId{4},
                      .client_confirm_required = true,
                      .updu = Bytes(40, 7)};
  make(kPeer, false);
  hear(data);
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 1u);
  EXPECT_TRUE(spdus.empty());
  EXPECT_EQ(core->holdings().untaken, 1u);
  take_all(client);
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(*decode(spdus[0].spdu), Spdu(DeliveryConfirm{SapId{3}, SapId{4}, Bytes(32, 7)}));
  EXPECT_EQ(core->holdings().untaken, 0u);
}

TEST_F(Interface, what_was_lost_with_a_connection_is_denied_and_is_new_when_it_comes_again) {
  core->on_utc(now, UtcSeconds{1'790'000'000});
  const ClientId client = bind(4, Confirmation::none);
  unread.insert(client);
  const DataSpdu data{.source_sap = SapId{3},
                      .destination_sap = SapId{4},
                      .client_confirm_required = true,
                      .time_to_die = encode_time_to_die({1'790'000'000}, {1'790'000'000 + 3600}),
                      .updu = Bytes(40, 7)};
  make(kPeer, false);
  hear(data);
  core->on_indications_lost(now, std::span(untaken[client]).first(1));
  core->on_client_closed(now, client);
  drain();
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(*decode(spdus[0].spdu), Spdu(DeliveryFail{1, SapId{3}, SapId{4}, Bytes(32, 7)}));
  EXPECT_EQ(counters[Counter::updus_untaken], 1u);

  make(kPeer, false);
  const ClientId next = bind(4, Confirmation::none);
  hear(data);
  EXPECT_EQ(sent<sis::UnidataIndication>(next), 1u);
  EXPECT_EQ(counters[Counter::updus_repeated], 0u);
}

TEST_F(Interface, a_repetition_of_what_is_not_taken_yet_is_answered_once_it_is) {
  core->on_utc(now, UtcSeconds{1'790'000'000});
  const ClientId client = bind(4, Confirmation::none);
  unread.insert(client);
  const DataSpdu data{.source_sap = SapId{3},
                      .destination_sap = SapId{4},
                      .client_confirm_required = true,
                      .time_to_die = encode_time_to_die({1'790'000'000}, {1'790'000'000 + 3600}),
                      .updu = Bytes(40, 7)};
  make(kPeer, false);
  hear(data);
  make(kPeer, false);
  hear(data);
  EXPECT_EQ(counters[Counter::updus_repeated], 1u);
  EXPECT_TRUE(spdus.empty());
  take_all(client);
  EXPECT_EQ(spdus.size(), 1u);
  hear(data);  // the client has taken it, so the sender missed the answer
  EXPECT_EQ(spdus.size(), 2u);
}

TEST_F(Interface, a_client_with_too_much_to_take_is_dropped_and_nothing_is_said_of_it) {
  config.untaken_confirms_max = 2;
  restart();
  const ClientId client = bind(4, Confirmation::none);
  unread.insert(client);
  make(kPeer, false);
  const DataSpdu data{.destination_sap = SapId{4}, .client_confirm_required = true};
  hear(data);
  hear(data);
  EXPECT_EQ(closed.count(client), 0u);
  hear(data);
  EXPECT_EQ(closed.count(client), 1u);
  EXPECT_EQ(core->holdings().untaken, 0u);
  EXPECT_TRUE(spdus.empty());
}

TEST_F(Interface, delivery_to_a_client_of_the_same_node_is_confirmed_when_it_is_taken) {
  const ClientId from = bind(3, Confirmation::client);
  const ClientId to = bind(4, Confirmation::none);
  unread.insert(to);
  give(from, request(kOwn, Bytes(2000, 1)));
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(from), 0u);
  take_all(to);
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(from), 1u);
  give(from, request(kOwn, Bytes(2000, 2)));
  core->on_indications_lost(now, std::span(untaken[to]).first(1));
  drain();
  EXPECT_EQ(sent<sis::UnidataRequestRejected>(from), 1u);
  EXPECT_EQ(core->holdings(), Holdings{});
  EXPECT_TRUE(calls.empty());
}

TEST_F(Interface, delivery_is_confirmed_or_denied_where_that_is_asked_for) {
  bind(4, Confirmation::none);
  make(kPeer);
  Bytes updu(100, 7);
  DataSpdu data{.source_sap = SapId{3},
                .destination_sap = SapId{4},
                .client_confirm_required = true,
                .updu = updu};
  hear(data);
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(spdus[0].service, cas::Service::arq);
  EXPECT_EQ(*decode(spdus[0].spdu), Spdu(DeliveryConfirm{SapId{3}, SapId{4}, Bytes(32, 7)}));
  data.destination_sap = SapId{5};
  hear(data);
  ASSERT_EQ(spdus.size(), 2u);
  EXPECT_EQ(*decode(spdus[1].spdu), Spdu(DeliveryFail{1, SapId{3}, SapId{5}, Bytes(32, 7)}));
  EXPECT_EQ(counters[Counter::spdus_unbound], 1u);
  hear(data, cas::Service::nonarq);  // non-ARQ data has no confirmation
  EXPECT_EQ(spdus.size(), 2u);
}

TEST_F(Interface, answers_to_other_nodes_are_bounded) {
  config.queue.responses_max = 3;
  restart();
  for (int i = 0; i < 5; ++i) {
    hear(DataSpdu{.destination_sap = SapId{4}, .client_confirm_required = true});
  }
  make(kPeer);
  EXPECT_EQ(spdus.size(), 3u);
}

TEST_F(Interface, nonarq_data_reports_its_mode_and_the_group_it_was_sent_to) {
  const Address group{5, true};
  config.groups = {group};
  restart();
  const ClientId client = bind(4, Confirmation::none);
  const DataSpdu data{.destination_sap = SapId{4}, .updu = Bytes{1}};
  hear(data, cas::Service::nonarq, group);
  EXPECT_EQ(last<sis::UnidataIndication>(client).destination, group);
  EXPECT_EQ(last<sis::UnidataIndication>(client).mode, TransmissionMode::nonarq);
  hear(data, cas::Service::nonarq, Address::all_stations());
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 2u);
  hear(data, cas::Service::nonarq, Address{6, true});
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 2u);
  EXPECT_EQ(counters[Counter::spdus_not_for_us], 1u);
}

TEST_F(Interface, data_past_its_time_to_die_is_discarded) {
  const ClientId client = bind(4, Confirmation::none);
  const UtcSeconds utc{1772409540};  // 2026-03-01 23:59:00
  core->on_utc(now, utc);
  const auto dies = [&](std::int64_t in_seconds) {
    return DataSpdu{.destination_sap = SapId{4},
                    .time_to_die = encode_time_to_die(utc, {utc.value + in_seconds})};
  };
  hear(dies(0));
  hear(dies(-4));  // within the tolerance of 5 s
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 2u);
  hear(dies(-6));
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 2u);
  EXPECT_EQ(counters[Counter::spdus_expired], 1u);
}

TEST_F(Interface, invalid_spdus_are_counted_and_dropped) {
  const auto raw = [&](const char* hex) {
    core->on_spdu(now, {cas::Service::arq, kPeer, kOwn, *from_hex(hex)});
    drain();
  };
  raw("05 33");
  raw("80 33");
  raw("F0");
  EXPECT_EQ(counters[Counter::spdus_malformed], 1u);
  EXPECT_EQ(counters[Counter::spdus_unsupported], 2u);
}

TEST_F(Interface, what_a_connection_was_granted_ends_with_it) {
  const ClientId gateway{++last_client};
  core->on_client_connected(now, gateway, {.access = ClientAccess{.saps = 1u << 7}});
  give(gateway, bind_to(3, sis::Confirmation::none));
  EXPECT_EQ(sent<sis::BindRejected>(gateway), 1u);
  give(gateway, bind_to(7, sis::Confirmation::none));
  EXPECT_EQ(sent<sis::BindAccepted>(gateway), 1u);
  core->on_client_closed(now, gateway);
  bind(3, sis::Confirmation::none);
}

// Goal:   no U_PDU of a client has more than the client's highest priority, here and on the air.
TEST_F(Interface, a_u_pdu_above_the_priority_max_of_its_client_is_sent_with_that) {
  const ClientId low{++last_client};
  core->on_client_connected(now, low, {.priority_max = 9});
  give(low, bind_to(3, sis::Confirmation::none));
  const ClientId high = bind(5, sis::Confirmation::none);
  make(kPeer);
  std::vector<unsigned> priorities;
  for (const ClientId client : {low, high}) {
    for (const auto wish : {std::uint8_t{9}, std::uint8_t{10}, std::uint8_t{15}}) {
      auto urgent = request(kPeer, Bytes{1});
      urgent.priority = wish;
      give(client, urgent);
      EXPECT_EQ(std::get<DataSpdu>(*decode(spdus.back().spdu)).priority, spdus.back().priority);
      priorities.push_back(spdus.back().priority);
    }
  }
  EXPECT_EQ(priorities, (std::vector<unsigned>{9, 9, 9, 9, 10, 15}));
  EXPECT_EQ(counters[Counter::updus_lowered], 2u);
}

}  // namespace
}  // namespace s5066::sap
