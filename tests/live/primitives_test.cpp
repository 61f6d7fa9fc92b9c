// SPDX-License-Identifier: Apache-2.0
// Passes every primitive between two running servers and their clients. Each is sent or received as
// meant, and an independent dissector shows it with the same values.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/live/hand_client.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

using namespace sis;

constexpr Address kAlpha{0x01020001};
constexpr Address kBravo{0x01020002};
constexpr SapId kSap{5};
constexpr SapId kUnboundSap{9};

/// Two servers, and the types of all primitives that have passed their clients' taps.
class LivePrimitives : public testing::Test {
 protected:
  explicit LivePrimitives(const std::vector<std::string>& cable = {},
                          const std::string& subnet_access = {})
      : pair(cable) {
    for (const char* name : {"alpha", "bravo"}) {
      pair.configure_node(name,
                          "subnet_access { bind { allow_rank_15: true } "
                          "queue { client_updus_max: 20 } " +
                              subnet_access + " }");
    }
  }
  void SetUp() override {
    for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair.start_node(name));
  }

  void expect_shown(const std::vector<const HandClient*>& clients,
                    const std::set<Type>& types_wanted) {
    std::set<Type> types;
    for (const HandClient* client : clients) {
      for (const Primitive& p : client->tap().primitives()) types.insert(type_of(p));
      expect_dissected(client->tap());
    }
    for (const Type type : types_wanted) EXPECT_TRUE(types.contains(type)) << to_string(type);
  }

  Pair pair;
};

UnidataRequest data(const std::string& text, SapId sap = kSap, Address to = kBravo) {
  return {.priority = 7,
          .destination_sap = sap,
          .destination = to,
          .delivery = {.mode = TransmissionMode::arq, .confirmation = Confirmation::client},
          .time_to_live = 300,
          .updu = Bytes(text.begin(), text.end())};
}

ExpeditedUnidataRequest urgent(const std::string& text, SapId sap = kSap) {
  const UnidataRequest r = data(text, sap);
  return {.destination_sap = r.destination_sap,
          .destination = r.destination,
          .delivery = r.delivery,
          .time_to_live = r.time_to_live,
          .updu = r.updu};
}

TEST_F(LivePrimitives, binds_keep_alives_and_data_of_all_services) {
  HandClient a(pair.sis_port("alpha"));
  HandClient rival(pair.sis_port("alpha"));
  HandClient b(pair.sis_port("bravo"));

  a.ask<KeepAlive>(KeepAlive{});
  a.bind(kSap);
  b.bind(kSap);
  EXPECT_EQ(rival.ask<BindRejected>(
                BindRequest{.sap = kSap, .rank = 3, .service = {.mode = TransmissionMode::arq}}),
            BindRejected{BindRejectReason::sap_already_allocated});

  const auto request = data("normal");
  EXPECT_EQ(a.ask<UnidataRequestConfirm>(request),
            (UnidataRequestConfirm{kSap, kBravo, request.updu}));
  EXPECT_EQ(b.next<UnidataIndication>(), (UnidataIndication{.priority = 7,
                                                            .destination_sap = kSap,
                                                            .destination = kBravo,
                                                            .mode = TransmissionMode::arq,
                                                            .source_sap = kSap,
                                                            .source = kAlpha,
                                                            .updu = request.updu}));
  const auto nowhere = data("nobody", kUnboundSap);
  EXPECT_EQ(a.ask<UnidataRequestRejected>(nowhere),
            (UnidataRequestRejected{RejectReason::destination_sap_not_bound, kUnboundSap, kBravo,
                                    nowhere.updu}));

  const auto now = urgent("expedited");
  EXPECT_EQ(a.ask<ExpeditedUnidataRequestConfirm>(now),
            (ExpeditedUnidataRequestConfirm{kSap, kBravo, now.updu}));
  EXPECT_EQ(b.next<ExpeditedUnidataIndication>(),
            (ExpeditedUnidataIndication{.destination_sap = kSap,
                                        .destination = kBravo,
                                        .mode = TransmissionMode::arq,
                                        .source_sap = kSap,
                                        .source = kAlpha,
                                        .updu = now.updu}));
  const auto now_nowhere = urgent("nobody", kUnboundSap);
  EXPECT_EQ(a.ask<ExpeditedUnidataRequestRejected>(now_nowhere),
            (ExpeditedUnidataRequestRejected{RejectReason::destination_sap_not_bound, kUnboundSap,
                                             kBravo, now_nowhere.updu}));

  UnidataRequest to_all = data("broadcast", kSap, Address::all_stations());
  to_all.delivery = {.mode = TransmissionMode::nonarq};
  a.send(to_all);
  const auto heard = b.next<UnidataIndication>();
  EXPECT_EQ(heard.destination, Address::all_stations());
  EXPECT_EQ(heard.mode, TransmissionMode::nonarq);
  EXPECT_EQ(heard.updu, to_all.updu);

  a.send(UnbindRequest{});
  a.bind(kSap);
  // The station does not exist, so the U_PDUs wait until their time to live ends.
  UnidataRequest held = data("held", kSap, Address{0x01020009});
  held.time_to_live = 2;
  constexpr int kHeld = 17;
  for (int i = 0; i < kHeld; ++i) a.send(held);
  a.next<DataFlowOff>();
  a.next<DataFlowOn>();
  const Primitive expired = UnidataRequestRejected{RejectReason::ttl_expired, held.destination_sap,
                                                   held.destination, held.updu};
  const auto count_expired = [&] {
    const auto passed = a.tap().primitives();
    return std::count(passed.begin(), passed.end(), expired);
  };
  await([&] { return count_expired() >= kHeld; });
  for (int i = 0; i < 30; ++i) a.send(urgent("too often"));
  EXPECT_EQ(a.next<UnbindIndication>(),
            UnbindIndication{UnbindReason::too_many_expedited_requests});
  EXPECT_EQ(count_expired(), kHeld);

  expect_shown({&a, &rival, &b},
               {Type::bind_request, Type::unbind_request, Type::bind_accepted, Type::bind_rejected,
                Type::unbind_indication, Type::data_flow_on, Type::data_flow_off, Type::keep_alive,
                Type::unidata_request, Type::unidata_indication, Type::unidata_request_confirm,
                Type::unidata_request_rejected, Type::expedited_request, Type::expedited_indication,
                Type::expedited_request_confirm, Type::expedited_request_rejected});
}

TEST_F(LivePrimitives, hard_links_from_both_ends) {
  HandClient a(pair.sis_port("alpha"));
  HandClient b(pair.sis_port("bravo"));
  a.bind(kSap);
  b.bind(kSap);
  const HardLink link{HardLinkType::full_bandwidth, 1, kSap, kBravo};
  const HardLink from_a{HardLinkType::full_bandwidth, 1, kSap, kAlpha};

  a.send(HardLinkEstablish{link});
  EXPECT_EQ(b.next<HardLinkIndication>(), (HardLinkIndication{1, from_a}));
  b.send(HardLinkAccept{from_a});
  EXPECT_EQ(a.next<HardLinkEstablished>(), (HardLinkEstablished{1, link}));
  a.send(HardLinkTerminate{kBravo});
  EXPECT_EQ(b.next<HardLinkTerminated>(),
            (HardLinkTerminated{HardLinkEndReason::by_remote, from_a}));

  a.send(HardLinkEstablish{link});
  EXPECT_EQ(b.next<HardLinkIndication>(), (HardLinkIndication{1, from_a}));
  b.send(HardLinkReject{1, from_a});
  EXPECT_EQ(a.next<HardLinkRejected>(),
            (HardLinkRejected{HardLinkRejectReason::remote_busy, link}));

  expect_shown({&a, &b},
               {Type::hard_link_establish, Type::hard_link_terminate, Type::hard_link_established,
                Type::hard_link_rejected, Type::hard_link_terminated, Type::hard_link_indication,
                Type::hard_link_accept, Type::hard_link_reject});
}

// A.3.2.2.1(1)-(6), A.3.2.2.2(2)-(8): the rank decides before the priority, and a tie keeps the
// existing link.
TEST_F(LivePrimitives, a_hard_link_gives_way_to_a_client_of_higher_rank_and_to_no_equal) {
  constexpr SapId kRivals{6};
  HandClient a(pair.sis_port("alpha"));
  HandClient equal(pair.sis_port("alpha"));
  HandClient higher(pair.sis_port("alpha"));
  HandClient b(pair.sis_port("bravo"));
  HandClient b_of_rivals(pair.sis_port("bravo"));
  a.bind(kSap, 3);
  equal.bind(SapId{7}, 3);
  higher.bind(kRivals, 4);
  b.bind(kSap);
  b_of_rivals.bind(kRivals);
  const HardLink first{HardLinkType::full_bandwidth, 3, kSap, kBravo};
  const HardLink first_from_a{HardLinkType::full_bandwidth, 3, kSap, kAlpha};
  const HardLink rivals{HardLinkType::full_bandwidth, 0, kRivals, kBravo};
  const HardLink rivals_from_a{HardLinkType::full_bandwidth, 0, kRivals, kAlpha};

  a.send(HardLinkEstablish{first});
  EXPECT_EQ(b.next<HardLinkIndication>(), (HardLinkIndication{1, first_from_a}));
  b.send(HardLinkAccept{first_from_a});
  EXPECT_EQ(a.next<HardLinkEstablished>(), (HardLinkEstablished{1, first}));

  EXPECT_EQ(equal.ask<HardLinkRejected>(HardLinkEstablish{first}),
            (HardLinkRejected{HardLinkRejectReason::higher_priority_existing, first}));

  higher.send(HardLinkEstablish{rivals});
  EXPECT_EQ(a.next<HardLinkTerminated>(),
            (HardLinkTerminated{HardLinkEndReason::higher_priority_requested, first}));
  EXPECT_EQ(b.next<HardLinkTerminated>(),
            (HardLinkTerminated{HardLinkEndReason::higher_priority_requested, first_from_a}));
  EXPECT_EQ(b_of_rivals.next<HardLinkIndication>(), (HardLinkIndication{1, rivals_from_a}));
  b_of_rivals.send(HardLinkAccept{rivals_from_a});
  EXPECT_EQ(higher.next<HardLinkEstablished>(), (HardLinkEstablished{1, rivals}));

  for (const HandClient* client : {&a, &equal, &higher, &b, &b_of_rivals}) {
    expect_dissected(client->tap());
  }
}

TEST_F(LivePrimitives, management_messages_and_what_the_node_may_do) {
  HandClient a(pair.sis_port("alpha"));
  HandClient manager(pair.sis_port("alpha"));
  a.bind(kSap);
  manager.bind(SapId{3}, 15);
  const auto text = [](std::string_view words) { return Bytes(words.begin(), words.end()); };

  const auto emcon = manager.ask<ManagementIndication>(ManagementRequest{8, text("on=1")});
  EXPECT_EQ(emcon.message_type, 8u);
  EXPECT_EQ(a.next<SubnetAvailability>(),
            (SubnetAvailability{NodeStatus::receive_only, AvailabilityReason::emcon}));
  manager.send(ManagementRequest{8, text("on=0")});
  EXPECT_EQ(a.next<SubnetAvailability>(),
            (SubnetAvailability{NodeStatus::on, AvailabilityReason::unspecified}));

  expect_shown({&a, &manager},
               {Type::management_request, Type::management_indication, Type::subnet_availability});
}

/// Runs over a channel with noise, which damages a segment or a header now and then.
class LiveDamage : public LivePrimitives {
 protected:
  LiveDamage()
      : LivePrimitives({"--channel", "awgn", "--snr-db", "6.0"}, "expedited_requests_max: 1000") {}

  /// Sends until both kinds of damage have shown. More U_PDUs are sent than arrive, because one
  /// whose first segment is damaged does not arrive at all.
  template <typename Indication, typename Request>
  void expect_both_kinds_of_damage(Request request) {
    HandClient a(pair.sis_port("alpha"));
    HandClient b(pair.sis_port("bravo"));
    a.bind(kSap, 3, TransmissionMode::nonarq);
    b.bind(kSap, 3, TransmissionMode::nonarq_with_errors);
    request.delivery = {.mode = TransmissionMode::nonarq_with_errors};  // short segments
    constexpr int kSent = 100;
    for (int i = 0; i < kSent; ++i) a.send(request);

    bool errored = false;
    bool missing = false;
    while (!(errored && missing) && !HasFailure()) {
      const auto shown = b.next<Indication>();
      const bool damaged = !shown.errored.empty() || !shown.missing.empty();
      EXPECT_EQ(shown.mode,
                damaged ? TransmissionMode::nonarq_with_errors : TransmissionMode::nonarq);
      EXPECT_TRUE(damaged || shown.updu == request.updu);
      errored = errored || !shown.errored.empty();
      missing = missing || !shown.missing.empty();
    }
    expect_shown({&a, &b}, {type_of(Indication{})});
  }
};

// A.2.1.9(7)-(9): the lists of errored and missing blocks, from the air to the client's socket.
TEST_F(LiveDamage, non_arq_with_errors_shows_errored_and_missing_blocks) {
  expect_both_kinds_of_damage<UnidataIndication>(data(noise(kMtu, 4)));
}

// A.2.1.13
TEST_F(LiveDamage, expedited_with_errors_shows_errored_and_missing_blocks) {
  expect_both_kinds_of_damage<ExpeditedUnidataIndication>(urgent(noise(kMtu, 4)));
}

}  // namespace
}  // namespace s5066::live
