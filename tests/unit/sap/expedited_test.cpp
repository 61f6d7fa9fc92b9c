// SPDX-License-Identifier: Apache-2.0
// These tests cover expedited data (A.2.1.10 to A.2.1.13) and U_PDUs with errors (A.2.1.9(9) to
// (15)).
#include <gtest/gtest.h>

#include "s5066d/sap/damage.h"
#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

using sis::Confirmation;
using sis::RejectReason;
using sis::TransmissionMode;
using std::chrono::nanoseconds;

class Expedited : public InterfaceFixture {
 protected:
  ClientId bind_in_mode(std::uint8_t sap, TransmissionMode mode) {
    const ClientId id = connect();
    sis::BindRequest request = bind_to(sap, Confirmation::none);
    request.service.mode = mode;
    give(id, request);
    EXPECT_EQ(sent<sis::BindAccepted>(id), 1u);
    return id;
  }
};

// --- Sending -------------------------------------------------------------------------------------

TEST_F(Expedited, data_goes_by_the_expedited_services_with_priority_0) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, expedited(kPeer, Bytes{1}));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(spdus[0].service, cas::Service::expedited_arq);
  EXPECT_EQ(spdus[0].priority, 0);
  EXPECT_EQ(spdus[0].spdu, *from_hex("00 34 00 01"));
  auto to_all = expedited(Address::all_stations(), Bytes{2});
  to_all.delivery.mode = TransmissionMode::nonarq_with_errors;
  to_all.delivery.retransmissions = 3;
  give(client, to_all);
  ASSERT_EQ(spdus.size(), 2u);
  EXPECT_EQ(spdus[1].service, cas::Service::expedited_nonarq);
  EXPECT_EQ(spdus[1].repeats, 3);
}

TEST_F(Expedited, requests_pass_the_checks_of_type_20_and_are_answered_with_26_and_27) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, expedited(kPeer, Bytes(2049)));
  EXPECT_EQ(last<sis::ExpeditedUnidataRequestRejected>(client).reason,
            RejectReason::larger_than_mtu);
  auto bad = expedited(kPeer, Bytes{1});
  bad.delivery.mode = static_cast<TransmissionMode>(4);
  give(client, bad);
  EXPECT_EQ(last<sis::ExpeditedUnidataRequestRejected>(client).reason,
            RejectReason::mode_not_specified);
  give(client, expedited(Address::all_stations(), Bytes{1}));
  EXPECT_EQ(last<sis::ExpeditedUnidataRequestRejected>(client).reason,
            RejectReason::destination_not_responding);
  EXPECT_EQ(counters[Counter::primitives_invalid], 1u);
  bad.delivery.mode = TransmissionMode::arq;
  bad.delivery.extended = true;
  give(client, bad);
  EXPECT_EQ(counters[Counter::primitives_invalid], 2u);

  give(client, expedited(kPeer, Bytes{7, 8}));
  make(kPeer);
  confirm(0);
  const auto confirmed = last<sis::ExpeditedUnidataRequestConfirm>(client);
  EXPECT_EQ(confirmed.destination, kPeer);
  EXPECT_EQ(confirmed.destination_sap, SapId{4});
  EXPECT_EQ(confirmed.updu_part, (Bytes{7, 8}));
  EXPECT_EQ(sent<sis::UnidataRequestConfirm>(client), 0u);

  auto soon = expedited(kPeer, Bytes{9});
  soon.time_to_live = 1;
  lose(kPeer);
  give(client, soon);
  wait(seconds(2) - nanoseconds(1));
  EXPECT_EQ(sent<sis::ExpeditedUnidataRequestRejected>(client), 3u);
  wait(nanoseconds(1));
  EXPECT_EQ(last<sis::ExpeditedUnidataRequestRejected>(client).reason, RejectReason::ttl_expired);
}

TEST_F(Expedited, data_is_ahead_of_all_other_which_pauses_until_it_is_out) {
  const ClientId client = bind(3, Confirmation::none);
  auto urgent = request(kPeer, Bytes{15});
  urgent.priority = 15;
  give(client, urgent);
  give(client, expedited(kPeer, Bytes{1}));
  give(client, expedited(kPeer, Bytes{2}));
  make(kPeer);
  ASSERT_EQ(spdus.size(), 2u);
  EXPECT_EQ(spdus[0].spdu.back(), 1);
  EXPECT_EQ(spdus[1].spdu.back(), 2);
  confirm(0);
  EXPECT_EQ(spdus.size(), 2u);
  confirm(1);
  ASSERT_EQ(spdus.size(), 3u);
  EXPECT_EQ(spdus[2].spdu.back(), 15);
}

TEST_F(Expedited, data_for_one_node_does_not_stop_that_for_another) {
  const ClientId client = bind(3, Confirmation::none);
  give(client, expedited(kPeer, Bytes{1}));
  give(client, request(kOther, Bytes{2}));
  make(kOther);
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(spdus[0].destination, kOther);
}

TEST_F(Expedited, data_calls_its_node_before_any_other) {
  config.links.soft_links_max = 1;
  restart();
  const ClientId client = bind(3, Confirmation::none);
  make(kPeer, false);
  core->on_peer_active(now, kPeer);
  auto urgent = request(kOther, Bytes{1});
  urgent.priority = 15;
  give(client, urgent);
  give(client, expedited(Address{9}, Bytes{2}));
  wait(config.links.called_minimum);
  lose(kPeer, cas::LinkEnd::by_us);
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.front(), Address{9});
}

TEST_F(Expedited, a_broken_link_queues_it_again_as_expedited) {
  const ClientId client = bind(3, Confirmation::node);
  give(client, expedited(kPeer, Bytes{1}));
  make(kPeer);
  lose(kPeer, cas::LinkEnd::not_connected);
  make(kPeer);
  ASSERT_EQ(spdus.size(), 2u);
  EXPECT_EQ(spdus[1].service, cas::Service::expedited_arq);
  confirm(1);
  EXPECT_EQ(sent<sis::ExpeditedUnidataRequestConfirm>(client), 1u);
}

TEST_F(Expedited, one_request_above_the_rate_unbinds_but_does_not_disconnect) {
  config.expedited_requests_max = 3;
  config.expedited_requests_window = minutes(3);
  restart();
  const ClientId client = bind(3, Confirmation::node);
  for (int i = 0; i < 3; ++i) give(client, expedited(kPeer, Bytes{1}));
  EXPECT_EQ(sent<sis::UnbindIndication>(client), 0u);
  EXPECT_EQ(core->updus_queued(), 3u);
  give(client, expedited(kPeer, Bytes{1}));
  EXPECT_EQ(last<sis::UnbindIndication>(client).reason,
            sis::UnbindReason::too_many_expedited_requests);
  EXPECT_FALSE(closed.count(client));
  EXPECT_EQ(core->updus_queued(), 0u);
  EXPECT_EQ(counters[Counter::updus_dropped], 3u);
  give(client, bind_to(3, Confirmation::node));
  wait(minutes(1) + minutes(1));  // the excess request must be forgiven as well
  give(client, expedited(kPeer, Bytes{1}));
  EXPECT_EQ(sent<sis::UnbindIndication>(client), 1u);
}

// --- Receiving -----------------------------------------------------------------------------------

TEST_F(Expedited, what_came_by_an_expedited_service_is_indicated_and_answered_as_such) {
  const ClientId client = bind(4, Confirmation::none);
  make(kPeer, false);
  DataSpdu data{.source_sap = SapId{3},
                .destination_sap = SapId{4},
                .client_confirm_required = true,
                .time_to_die = std::nullopt,
                .updu = Bytes{1, 2}};
  hear(data, cas::Service::expedited_arq);
  const auto got = last<sis::ExpeditedUnidataIndication>(client);
  EXPECT_EQ(got.mode, TransmissionMode::arq);
  EXPECT_EQ(got.source, kPeer);
  EXPECT_EQ(got.source_sap, SapId{3});
  EXPECT_EQ(got.destination, kOwn);
  EXPECT_EQ(got.updu, (Bytes{1, 2}));
  ASSERT_EQ(spdus.size(), 1u);
  EXPECT_EQ(spdus[0].service, cas::Service::expedited_arq);
  EXPECT_EQ(spdus[0].spdu, encode(DeliveryConfirm{SapId{3}, SapId{4}, Bytes{1, 2}}));
  hear(data, cas::Service::arq);
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 1u);
  confirm(0);
  ASSERT_EQ(spdus.size(), 2u);
  EXPECT_EQ(spdus[1].service, cas::Service::arq);
  hear(data, cas::Service::expedited_nonarq, Address::all_stations());
  EXPECT_EQ(last<sis::ExpeditedUnidataIndication>(client).mode, TransmissionMode::nonarq);
  EXPECT_EQ(last<sis::ExpeditedUnidataIndication>(client).destination, Address::all_stations());
  EXPECT_EQ(spdus.size(), 2u);  // non-ARQ data is never confirmed
}

TEST_F(Expedited, a_damaged_updu_reaches_only_a_client_bound_with_errors) {
  const ClientId with = bind_in_mode(4, TransmissionMode::nonarq_with_errors);
  const ClientId without = bind_in_mode(5, TransmissionMode::nonarq);
  DataSpdu data{.source_sap = SapId{3}, .destination_sap = SapId{4}, .updu = Bytes(20, 7)};
  hear_damaged(data, {{7, 3}}, {{15, 4}});  // the header has 3 octets
  const auto got = last<sis::UnidataIndication>(with);
  EXPECT_EQ(got.mode, TransmissionMode::nonarq_with_errors);
  EXPECT_EQ(got.errored, (std::vector<OctetRange>{{4, 3}}));
  EXPECT_EQ(got.missing, (std::vector<OctetRange>{{12, 4}}));
  EXPECT_EQ(got.updu.size(), 20u);
  hear_damaged(data, {{7, 3}}, {}, cas::Service::expedited_nonarq);
  EXPECT_EQ(last<sis::ExpeditedUnidataIndication>(with).errored, (std::vector<OctetRange>{{4, 3}}));

  hear(data, cas::Service::nonarq);
  EXPECT_EQ(last<sis::UnidataIndication>(with).mode, TransmissionMode::nonarq);
  EXPECT_TRUE(last<sis::UnidataIndication>(with).errored.empty());

  data.destination_sap = SapId{5};
  hear_damaged(data, {{7, 3}}, {});
  EXPECT_EQ(sent<sis::UnidataIndication>(without), 0u);
  EXPECT_EQ(counters[Counter::spdus_damaged], 1u);
  hear(data, cas::Service::nonarq);
  EXPECT_EQ(sent<sis::UnidataIndication>(without), 1u);
}

TEST_F(Expedited, damage_to_the_header_discards_the_whole) {
  const ClientId with = bind_in_mode(4, TransmissionMode::nonarq_with_errors);
  DataSpdu data{.source_sap = SapId{3}, .destination_sap = SapId{4}, .updu = Bytes(20, 7)};
  hear_damaged(data, {{2, 1}}, {});
  EXPECT_EQ(sent<sis::UnidataIndication>(with), 0u);
  hear_damaged(data, {{3, 1}}, {});
  EXPECT_EQ(sent<sis::UnidataIndication>(with), 1u);
  data.time_to_die = TimeToDie{1, 2};  // now the header has 5
  hear_damaged(data, {}, {{4, 1}});
  EXPECT_EQ(sent<sis::UnidataIndication>(with), 1u);
  hear_damaged(data, {}, {{5, 1}});
  EXPECT_EQ(sent<sis::UnidataIndication>(with), 2u);
  hear_damaged(DeliveryConfirm{SapId{4}, SapId{3}, Bytes(9)}, {{8, 1}}, {});
  EXPECT_EQ(counters[Counter::spdus_damaged], 3u);
}

using Ranges = std::vector<OctetRange>;

TEST(Damage, ranges_are_sorted_joined_and_cut_to_the_updu) {
  EXPECT_EQ(within_updu({}, 3, 10), Ranges{});
  EXPECT_EQ(within_updu({{8, 2}, {3, 1}}, 3, 10), (Ranges{{0, 1}, {5, 2}}));
  EXPECT_EQ(within_updu({{5, 2}, {7, 2}}, 3, 10), (Ranges{{2, 4}}));  // they meet
  EXPECT_EQ(within_updu({{5, 4}, {6, 1}}, 3, 10), (Ranges{{2, 4}}));  // one in the other
  EXPECT_EQ(within_updu({{5, 4}, {6, 5}}, 3, 10), (Ranges{{2, 6}}));  // they overlap
  EXPECT_EQ(within_updu({{0, 5}}, 3, 10), (Ranges{{0, 2}}));
  EXPECT_EQ(within_updu({{11, 90}}, 3, 10), (Ranges{{8, 2}}));
  EXPECT_EQ(within_updu({{13, 1}, {1, 2}, {5, 0}}, 3, 10), Ranges{});
  EXPECT_EQ(within_updu({{65535, 65535}}, 3, 10), Ranges{});
}

}  // namespace
}  // namespace s5066::sap
