// SPDX-License-Identifier: Apache-2.0
// These tests run the bearers of P_MUL without a network, and the UDP bearer over the loopback
// interface.
#include <gtest/gtest.h>

#include "gateways/p_mul/carrier_udop_core.h"
#include "gateways/p_mul/carrier_udp.h"
#include "gateways/p_mul/p_mul_core.h"
#include "sis/codec.h"

namespace s5066::p_mul {
namespace {

using namespace std::chrono_literals;
using gateways::SisBound;
using gateways::SisConfirmed;
using gateways::SisFlow;
using gateways::SisIndication;
using gateways::SisLost;
using gateways::SisRejected;

constexpr NodeId kBravo{0x0A010102};
constexpr GroupId kGroup{1};
constexpr Address kBravoAddress{0x01020304};
constexpr Address kGroupAddress{0x01020306, true};

CarrierUdopCore::Config udop(SapId sap = kUdopSap) {
  CarrierUdopCore::Config config{.sap = sap, .nodes = {}, .groups = {}};
  config.nodes[kBravo] = kBravoAddress;
  config.groups[kGroup] = kGroupAddress;
  return config;
}

OutgoingPdu pdu_to(Target target, std::size_t octets = 40, bool reliable = false) {
  return {.target = target,
          .priority = 2,
          .lifetime = 1h,
          .reliable = reliable,
          .octets = Bytes(octets, 0x55)};
}

Instant at(Duration d) {
  return Instant(d);
}

// PM-081, PM-083, PM-084, PM-085: the worked example of a request, octet by octet (U_PDU_ID and
// priority aside).
TEST(CarrierUdop, an_address_pdu_to_a_group_is_the_worked_example) {
  auto config = udop();
  config.repeats = 1;
  CarrierUdopCore carrier(config);
  carrier.on_sis(at(0s), SisBound{});
  auto pdu = pdu_to(kGroup);
  pdu.priority = 0;
  pdu.octets = *from_hex(
      "00280202000"
      "17B4C0A010101000000036553FF10000200000A010102000000070A0101030000000C");
  ASSERT_TRUE(carrier.request_send(at(0s), pdu).ok());
  const auto request = carrier.poll_unidata();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->priority, 8);
  EXPECT_EQ(request->destination, kGroupAddress);
  EXPECT_EQ(request->destination_sap, kUdopSap);
  EXPECT_EQ(request->delivery.mode, sis::TransmissionMode::nonarq);
  EXPECT_EQ(request->delivery.retransmissions, 1);
  EXPECT_EQ(request->time_to_live_s, 3600u);
  EXPECT_EQ(to_hex(ByteSpan(request->updu).first(10)), "00 00 00 00 20 00 00 28 02 02");
}

// PM-082
TEST(CarrierUdop, a_pdu_of_the_mtu_less_six_goes_and_one_octet_more_does_not) {
  CarrierUdopCore carrier(udop());
  carrier.on_sis(at(0s), SisBound{});
  EXPECT_EQ(carrier.request_send(at(0s), pdu_to(kGroup, 2043)).error().code, ErrorCode::too_large);
  EXPECT_TRUE(carrier.request_send(at(0s), pdu_to(kGroup, 2042)).ok());
  EXPECT_EQ(carrier.poll_unidata()->updu.size(), 2048u);
  EXPECT_FALSE(carrier.request_send(at(0s), pdu_to(GroupId{2})).ok());
  EXPECT_FALSE(carrier.request_send(at(0s), pdu_to(NodeId{77})).ok());
}

// PM-086
TEST(CarrierUdop, takes_pdus_while_bound_and_the_flow_is_on) {
  CarrierUdopCore carrier(udop());
  EXPECT_FALSE(carrier.ready());
  carrier.on_sis(at(0s), SisBound{});
  EXPECT_TRUE(carrier.ready());
  carrier.on_sis(at(1s), SisFlow{false});
  EXPECT_FALSE(carrier.ready());
  EXPECT_EQ(carrier.request_send(at(1s), pdu_to(kGroup)).error().code, ErrorCode::queue_full);
  carrier.on_sis(at(2s), SisFlow{true});
  EXPECT_TRUE(carrier.ready());
  carrier.on_sis(at(3s), SisLost{});
  EXPECT_FALSE(carrier.ready());
}

// PM-087: 1500 octets in 10 s are 1200 bit/s, whatever rate was configured.
TEST(CarrierUdop, measures_how_fast_the_node_transmits) {
  auto config = udop();
  config.rate_bps = 75;
  CarrierUdopCore carrier(config);
  carrier.on_sis(at(0s), SisBound{});
  EXPECT_FALSE(carrier.drain().measured());
  Instant now = at(0s);
  for (int cycle = 0; cycle < 6; ++cycle) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(carrier.request_send(now, pdu_to(kGroup, 494)).ok());
      carrier.poll_unidata();
    }
    carrier.on_sis(now + 1s, SisFlow{false});
    now += 10s;
    carrier.on_sis(now, SisFlow{true});
  }
  EXPECT_TRUE(carrier.drain().measured());
  EXPECT_NEAR(carrier.drain().rate_bps(), 1200, 1);
}

// Otherwise the first message after a quiet hour would wait for its answers for as long as that
// hour.
TEST(CarrierUdop, a_pause_does_not_make_the_node_look_slow) {
  CarrierUdopCore carrier(udop());
  carrier.on_sis(at(0s), SisBound{});
  Instant now = at(0s);
  const auto send_and_wait = [&] {
    ASSERT_TRUE(carrier.request_send(now, pdu_to(kGroup, 1494)).ok());
    carrier.poll_unidata();
    carrier.on_sis(now, SisFlow{false});
    now += 10s;
    carrier.on_sis(now, SisFlow{true});
  };
  for (int cycle = 0; cycle < 3; ++cycle) send_and_wait();
  EXPECT_NEAR(carrier.drain().rate_bps(), 1200, 1);
  now += std::chrono::hours(1);
  send_and_wait();
  EXPECT_NEAR(carrier.drain().rate_bps(), 1200, 1);
}

// The node transmits nothing in EMCON, so what it has leaves only afterwards.
TEST(CarrierUdop, our_own_emcon_counts_neither_as_time_on_the_air_nor_in_the_rate) {
  auto config = udop();
  config.rate_bps = 1200;
  CarrierUdopCore carrier(config);
  carrier.on_sis(at(0s), SisBound{});
  carrier.on_sis(at(0s), SisFlow{false});
  carrier.on_sis(at(0s), SisFlow{true});
  ASSERT_TRUE(carrier.request_send(at(0s), pdu_to(kGroup, 1494)).ok());  // 10 s with its header
  carrier.poll_unidata();
  EXPECT_EQ(carrier.clear_at(at(4s)), at(10s));
  carrier.on_silence(at(4s), true);
  EXPECT_EQ(carrier.clear_at(at(4s)), at(10s));
  EXPECT_EQ(carrier.clear_at(at(1h)), at(1h + 6s));
  carrier.on_sis(at(2s + 1h), SisFlow{false});
  carrier.on_sis(at(2h), SisFlow{true});
  carrier.on_silence(at(3h), false);
  EXPECT_EQ(carrier.clear_at(at(3h)), at(3h + 6s));
  EXPECT_EQ(carrier.clear_at(at(3h + 6s)), at(3h + 6s));
  EXPECT_FALSE(carrier.drain().measured());
  EXPECT_EQ(carrier.drain().rate_bps(), 1200);
}

TEST(CarrierUdop, repeats_count_in_how_long_it_takes) {
  auto config = udop();
  config.rate_bps = 800;
  config.repeats = 1;
  CarrierUdopCore carrier(config);
  carrier.on_sis(at(0s), SisBound{});
  ASSERT_TRUE(carrier.request_send(at(5s), pdu_to(kGroup, 994)).ok());
  EXPECT_EQ(carrier.clear_at(at(5s)), at(25s));
  EXPECT_EQ(carrier.clear_at(at(15s)), at(25s));
  EXPECT_EQ(carrier.clear_at(at(30s)), at(30s));
}

// PM-024, PM-087: the node sends the most urgent PDU first, except for two transmissions that it
// prepares.
TEST(CarrierUdop, an_urgent_pdu_leaves_before_what_waits_in_the_node) {
  auto config = udop();
  config.rate_bps = 800;
  CarrierUdopCore carrier(config);
  carrier.on_sis(at(0s), SisBound{});
  const auto send = [&](std::uint8_t priority, std::size_t octets) {
    auto pdu = pdu_to(kGroup, octets - gateways::kRcopHeaderBytes);
    pdu.priority = priority;
    ASSERT_TRUE(carrier.request_send(at(5s), pdu).ok());
    carrier.poll_unidata();
  };
  for (int i = 0; i < 50; ++i) send(8, 1000);
  EXPECT_EQ(carrier.clear_at(at(5s), 8), at(505s));
  send(2, 1000);
  EXPECT_EQ(carrier.clear_at(at(5s), 2), at(5s + 10s + CarrierUdopCore::kHeldByNodeMax));
  EXPECT_EQ(carrier.clear_at(at(5s), 8), at(515s));
  EXPECT_EQ(carrier.clear_at(at(5s)), at(515s));
  // The urgent PDU has left. The node holds no more of the rest than that.
  EXPECT_EQ(carrier.clear_at(at(485s), 2), at(515s));
  EXPECT_EQ(carrier.clear_at(at(600s), 2), at(600s));
}

// PM-081, PM-084: the carrier uses ARQ to one node only, only when asked, and only on a SAP that
// may carry both.
TEST(CarrierUdop, uses_arq_where_it_may) {
  const auto mode_of = [](SapId sap, const OutgoingPdu& pdu) {
    CarrierUdopCore carrier(udop(sap));
    carrier.on_sis(at(0s), SisBound{});
    EXPECT_TRUE(carrier.request_send(at(0s), pdu).ok());
    return carrier.poll_unidata()->delivery.mode;
  };
  using sis::TransmissionMode;
  EXPECT_EQ(mode_of(kMmhsSap, pdu_to(kBravo, 40, true)), TransmissionMode::arq);
  EXPECT_EQ(mode_of(kMmhsSap, pdu_to(kBravo, 40, false)), TransmissionMode::nonarq);
  EXPECT_EQ(mode_of(kMmhsSap, pdu_to(kGroup, 40, true)), TransmissionMode::nonarq);
  EXPECT_EQ(mode_of(kUdopSap, pdu_to(kBravo, 40, true)), TransmissionMode::nonarq);
}

TEST(CarrierUdop, a_node_that_does_not_answer_its_link_keeps_no_other_from_being_sent_to) {
  auto config = udop(kMmhsSap);
  config.arq_outstanding_max = 2;
  CarrierUdopCore carrier(config);
  carrier.on_sis(at(0s), SisBound{});
  std::vector<gateways::SisRequestId> ids;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(carrier.arq_full().empty());
    ASSERT_TRUE(carrier.request_send(at(0s), pdu_to(kBravo, 40, true)).ok());
    ids.push_back(carrier.poll_unidata()->id);
  }
  EXPECT_EQ(carrier.arq_full(), std::set{kBravo});
  EXPECT_EQ(carrier.request_send(at(0s), pdu_to(kBravo, 40, true)).error().code,
            ErrorCode::queue_full);
  ASSERT_TRUE(carrier.ready());
  EXPECT_TRUE(carrier.request_send(at(0s), pdu_to(kGroup)).ok());
  EXPECT_TRUE(carrier.poll_unidata().has_value());
  EXPECT_TRUE(carrier.request_send(at(0s), pdu_to(kBravo)).ok());
  EXPECT_TRUE(carrier.poll_unidata().has_value());
  carrier.on_sis(at(1s), SisConfirmed{.id = ids[0]});
  EXPECT_TRUE(carrier.arq_full().empty());
}

TEST(CarrierUdop, a_pdu_that_arq_cannot_deliver_goes_once_without) {
  CarrierUdopCore carrier(udop(kMmhsSap));
  carrier.on_sis(at(0s), SisBound{});
  ASSERT_TRUE(carrier.request_send(at(0s), pdu_to(kBravo, 40, true)).ok());
  const auto first = carrier.poll_unidata();
  carrier.on_sis(at(60s), SisRejected{.id = first->id});
  const auto second = carrier.poll_unidata();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->delivery.mode, sis::TransmissionMode::nonarq);
  carrier.on_sis(at(61s), SisRejected{.id = second->id});
  carrier.on_sis(at(62s), SisConfirmed{.id = first->id});
  EXPECT_FALSE(carrier.poll_unidata().has_value());
  EXPECT_EQ(carrier.counters()[CarrierCounter::arq_failed], 1u);
}

// PM-055
TEST(CarrierUdop, nothing_is_handed_to_the_node_in_emcon_not_even_what_arq_gave_back) {
  CarrierUdopCore carrier(udop(kMmhsSap));
  carrier.on_sis(at(0s), SisBound{});
  ASSERT_TRUE(carrier.request_send(at(0s), pdu_to(kBravo, 40, true)).ok());
  const auto request = carrier.poll_unidata();
  ASSERT_TRUE(carrier.request_send(at(0s), pdu_to(kBravo)).ok());
  carrier.on_silence(at(0s), true);
  EXPECT_FALSE(carrier.ready());
  EXPECT_FALSE(carrier.request_send(at(1s), pdu_to(kBravo)).ok());
  carrier.on_sis(at(2s), SisRejected{request->id});
  carrier.on_sis(at(3s), SisFlow{true});
  EXPECT_FALSE(carrier.poll_unidata().has_value());
  carrier.on_silence(at(4s), false);
  EXPECT_TRUE(carrier.ready());
  EXPECT_FALSE(carrier.poll_unidata().has_value());
}

// PM-022, PM-083, PM-114
TEST(CarrierUdop, only_the_station_of_the_table_speaks_for_a_node) {
  CarrierUdopCore carrier(udop());
  carrier.on_sis(at(0s), SisBound{});
  Bytes updu = *from_hex("000000002000");
  append(updu, *from_hex("0018040100009DFA0A0101020001000A0A0101010001E240"));
  carrier.on_sis(at(1s), SisIndication{{0x0102030F}, kUdopSap, updu});
  EXPECT_FALSE(carrier.poll_datagram().has_value());
  EXPECT_EQ(carrier.counters()[CarrierCounter::source_refused], 1u);
  carrier.on_sis(at(1s), SisIndication{kBravoAddress, kUdopSap, updu});
  EXPECT_EQ(carrier.poll_datagram()->size(), 24u);
  updu[3] = 1;  // the second piece of a datagram
  carrier.on_sis(at(1s), SisIndication{kBravoAddress, kUdopSap, updu});
  updu[3] = 0;
  updu[5] = 3;  // another application
  carrier.on_sis(at(1s), SisIndication{kBravoAddress, kUdopSap, updu});
  carrier.on_sis(at(1s), SisIndication{kBravoAddress, kUdopSap, {0, 0, 0, 0, 0x20, 0, 0}});
  EXPECT_FALSE(carrier.poll_datagram().has_value());
  EXPECT_EQ(carrier.counters()[CarrierCounter::divided], 1u);
  EXPECT_EQ(carrier.counters()[CarrierCounter::wrong_application], 1u);
  EXPECT_EQ(carrier.counters()[CarrierCounter::malformed], 1u);
}

// PM-022
TEST(CarrierUdop, a_node_of_no_table_is_answered_where_it_was_heard) {
  CarrierUdopCore carrier(udop());
  carrier.on_sis(at(0s), SisBound{});
  EXPECT_FALSE(carrier.request_send(at(0s), pdu_to(NodeId{0x0A010101})).ok());
  Bytes updu = *from_hex("000000002000");
  append(updu, *from_hex("001004030000CEE80A0101010001E240"));
  carrier.on_sis(at(1s), SisIndication{{0x0102030F}, kUdopSap, updu});
  ASSERT_TRUE(carrier.request_send(at(1s), pdu_to(NodeId{0x0A010101})).ok());
  EXPECT_EQ(carrier.poll_unidata()->destination, Address{0x0102030F});
}

// --- UDP -----------------------------------------------------------------------------------------

// PM-022, PM-080
TEST(CarrierUdpCore, each_use_has_its_port_and_address) {
  CarrierUdpCore::Config config;
  config.groups[kGroup] = 0xEF010203;
  CarrierUdpCore carrier(config);
  const auto to = [&](OutgoingPdu pdu) {
    static Instant now{};
    now += 1h;
    EXPECT_TRUE(carrier.request_send(now, pdu).ok());
    return carrier.poll_datagram()->to;
  };
  auto pdu = pdu_to(kGroup);
  EXPECT_EQ(to(pdu), (UdpEndpoint{0xEF010203, 2753}));
  pdu = pdu_to(kBravo);
  pdu.use = Use::ack;
  EXPECT_EQ(to(pdu), (UdpEndpoint{0x0A010102, 2754}));
  pdu = pdu_to(kGroup);
  pdu.use = Use::group_control;
  pdu.octets[3] = 0x05;
  EXPECT_EQ(to(pdu), (UdpEndpoint{0xEF010101, 2751}));
  pdu.octets[3] = 0x04;
  EXPECT_EQ(to(pdu), (UdpEndpoint{0xEF010101, 2752}));
  EXPECT_EQ(carrier.groups(), (std::vector<std::uint32_t>{0xEF010101, 0xEF010203}));
}

// PM-133: PDU_DELAY of a group.
TEST(CarrierUdpCore, keeps_to_the_rate_of_a_group_for_what_goes_there) {
  CarrierUdpCore carrier(
      {.groups = {{kGroup, 7}, {{2}, 8}}, .rate_bps = 8000, .group_rates_bps = {{kGroup, 4000}}});
  const Bytes pdu(72, 1);  // 100 octets with the IP and UDP headers
  for (const auto& [target, wait] :
       {std::pair<Target, Duration>{kGroup, 200ms}, {GroupId{2}, 100ms}, {NodeId{3}, 100ms}}) {
    const Instant now = carrier.clear_at();
    ASSERT_TRUE(carrier.request_send(now, {.target = target, .octets = pdu}).ok());
    carrier.poll_datagram();
    EXPECT_EQ(carrier.clear_at() - now, wait);
  }
}

// PM-030
TEST(CarrierUdpCore, keeps_to_its_rate) {
  CarrierUdpCore::Config config;
  config.rate_bps = 8000;
  config.groups[kGroup] = 0xEF010203;
  CarrierUdpCore carrier(config);
  ASSERT_TRUE(carrier.request_send(at(0s), pdu_to(kGroup, 972)).ok());
  carrier.poll_datagram();
  EXPECT_FALSE(carrier.ready(at(1s) - 1ns));
  EXPECT_TRUE(carrier.ready(at(1s)));
  EXPECT_EQ(carrier.request_send(at(1s), pdu_to(kGroup, 1473)).error().code, ErrorCode::too_large);
  ASSERT_TRUE(carrier.request_send(at(1s + 1ms), pdu_to(kGroup, 972)).ok());  // a timer came late
  carrier.poll_datagram();
  EXPECT_FALSE(carrier.ready(at(2s) - 1ns));
  EXPECT_TRUE(carrier.ready(at(2s)));
  // No PDU had to be sent in the meantime.
  ASSERT_TRUE(carrier.request_send(at(5s), pdu_to(kGroup, 972)).ok());
  carrier.poll_datagram();
  EXPECT_FALSE(carrier.ready(at(6s - 1ms) - 1ns));
  EXPECT_TRUE(carrier.ready(at(6s - 1ms)));
}

/// Runs one P_MUL node on the loopback interface, with a clock that only the test moves.
struct LanNode {
  LanNode(boost::asio::io_context& io, std::uint32_t address, std::uint16_t ports) : rng(address) {
    CarrierUdp::Config lan{.interface = 0x7F000001, .listen = address, .hops = 0};
    lan.core.ports = {static_cast<std::uint16_t>(ports), static_cast<std::uint16_t>(ports + 1),
                      static_cast<std::uint16_t>(ports + 2), static_cast<std::uint16_t>(ports + 3)};
    lan.core.groups[kGroup] = 0xEFFF0001;
    lan.core.rate_bps = 1e9;
    auto opened =
        CarrierUdp::open(io, lan, [this](ByteSpan datagram) { core->on_datagram(now, datagram); });
    if (!opened) return;
    carrier = std::move(opened).value();
    PMulCore::Config config;
    config.sender.node = config.receiver.node = {address};
    config.sender.pdu_octets_max = config.receiver.pdu_octets_max = 1472;
    config.sender.block_octets = 1400;
    config.sender.groups = {{kGroup, {{0x7F000002}, {0x7F000003}, {0x7F000004}}}};
    core = std::make_unique<PMulCore>(config, rng);
    core->on_clock(now, {1'800'000'000});
    core->on_start(now);
  }

  void serve() {
    now += 1s;
    core->on_deadline(now);
    while (const auto event = core->poll_event()) {
      if (const auto* message = std::get_if<Received>(&*event)) {
        received.push_back(message->content);
        core->on_committed(now, message->name);
      }
      if (std::holds_alternative<DestinationEnded>(*event)) ++ended;
    }
    while (core->has_pdu()) {
      now += 1ms;
      const auto pdu = core->poll_pdu(now);
      if (!pdu) break;
      (void)carrier->core().request_send(now, *pdu).ok();
      carrier->flush();
    }
  }

  Rng rng;
  Instant now{};
  std::unique_ptr<CarrierUdp> carrier;
  std::unique_ptr<PMulCore> core;
  std::vector<Bytes> received;
  std::size_t ended = 0;
};

// Goal:   the sockets join their groups, and acknowledgements find their way back.
TEST(CarrierUdp, a_message_reaches_two_nodes_by_multicast) {
  boost::asio::io_context io;
  LanNode alpha(io, 0x7F000002, 27510), bravo(io, 0x7F000003, 27510),
      charlie(io, 0x7F000004, 27510);
  ASSERT_TRUE(alpha.carrier && bravo.carrier && charlie.carrier);
  Submission submission{.key = {1},
                        .message_id = 1,
                        .expiry = {1'800'086'400},
                        .destinations = {{{0x7F000003}, 1}, {{0x7F000004}, 1}},
                        .group = {}};
  submission.content.assign(20'000, 0x42);
  const Bytes content = submission.content;
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, std::move(submission)).ok());
  for (int i = 0; i < 1000 && alpha.ended < 2; ++i) {
    for (LanNode* node : {&alpha, &bravo, &charlie}) {
      node->serve();
      io.poll();
    }
  }
  EXPECT_EQ(alpha.ended, 2u);
  EXPECT_EQ(bravo.received, std::vector<Bytes>{content});
  EXPECT_EQ(charlie.received, std::vector<Bytes>{content});
}

}  // namespace
}  // namespace s5066::p_mul
