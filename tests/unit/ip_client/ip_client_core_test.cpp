// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/ip_client_core.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "s5066d/base/rng.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

using namespace std::chrono_literals;
using gateways::SisUnidata;
using test::prefix;
using test::tcp;
using test::udp;
using test::V4;

constexpr Address kBravo{0x01020302};
constexpr Address kCharlie{0x01020303};
constexpr Address kHub{0x01020304};
constexpr Address kGroup{0x00000007, true};
constexpr std::uint32_t kBehindBravo = 0x0A020102;    // 10.2.1.2
constexpr std::uint32_t kBehindCharlie = 0x0A030102;  // 10.3.1.2
constexpr std::uint32_t kMulticast = 0xEF010203;      // 239.1.2.3

IpAddress v6_address(std::uint8_t ninth, std::uint8_t last) {
  IpAddress address{.v6 = true};
  address.octets[0] = 0xFD;
  address.octets[9] = ninth;
  address.octets[15] = last;
  return address;
}

std::vector<Route> routes() {
  return {{.prefix = prefix(0x0A020000, 16), .station = kBravo},
          {.prefix = prefix(0x0A030000, 16), .station = kCharlie},
          {.prefix = prefix(0xEF000000, 8), .station = kGroup}};
}

/// The table with rows for IPv6, too.
std::vector<Route> ipv6_routes() {
  auto table = routes();
  table.push_back({.prefix = {masked(v6_address(1, 0), 64), 64}, .station = kCharlie});
  table.push_back({.prefix = {v6_address(1, 2), 128}, .station = kBravo});
  table.push_back({.prefix = {v6_address(0, 1), 128}, .station = kBravo});
  return table;
}

class IpClientTest : public testing::Test {
 protected:
  void start(IpClientCore::Config config = {}) {
    if (config.routes.routes().empty()) config.routes = *RouteTable::make(routes());
    core.emplace(config);
    core->on_sis(now, gateways::SisBound{2048});
    drain();
  }
  void give(const Bytes& octets) {
    core->on_datagram(now, octets);
    drain();
  }
  void drain() {
    while (auto action = core->poll_action()) {
      if (auto* unidata = std::get_if<SisUnidata>(&*action)) sent.push_back(std::move(*unidata));
      if (auto* to = std::get_if<IpClientCore::ToInterface>(&*action)) got.push_back(to->octets);
      if (auto* event = std::get_if<IpEvent>(&*action)) events.push_back(*event);
    }
  }
  void sis(const gateways::SisEvent& event) {
    core->on_sis(now, event);
    drain();
  }
  void confirm_all() {
    const auto all = std::exchange(sent, {});
    for (const auto& unidata : all) {
      if (unidata.delivery.mode == sis::TransmissionMode::arq) {
        sis(gateways::SisConfirmed{unidata.id});
      }
    }
  }
  void reject_all(sis::RejectReason reason) {
    const auto all = std::exchange(sent, {});
    for (const auto& unidata : all) sis(gateways::SisRejected{unidata.id, reason});
  }
  void from_air(Address station, const Bytes& octets) {
    sis(gateways::SisIndication{station, kIpSap, octets});
  }
  std::uint64_t dropped(Drop drop, Direction direction = Direction::to_air) const {
    return core->drops(direction, drop);
  }
  void run_for(Duration d) {
    sim::run_deadlines(
        now, now + d, [&] { return core->next_deadline(); },
        [&] {
          core->on_deadline(now);
          drain();
        });
  }
  std::ptrdiff_t count(IpEvent::Kind kind) const {
    return std::count_if(events.begin(), events.end(),
                         [&](const IpEvent& event) { return event.kind == kind; });
  }
  /// The ICMP type and code of the last datagram for the interface.
  std::pair<int, int> last_icmp() const {
    if (got.empty()) return {-1, -1};
    return {got.back().at(20), got.back().at(21)};
  }

  Instant now{1000s};
  std::optional<IpClientCore> core;
  std::vector<SisUnidata> sent;
  std::vector<Bytes> got;
  std::vector<IpEvent> events;
};

// --- Encapsulation and modes ---------------------------------------------------------------------

// F.12.2(1), F.12.4(1), F.12.5(1): each datagram is one U_PDU of SAP 9 from its first octet, and
// the delivery mode stands in each request.
TEST_F(IpClientTest, a_datagram_is_one_updu_of_sap_9_with_its_own_delivery_mode) {
  start();
  const Bytes octets = udp(100);
  give(octets);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].updu, octets);
  EXPECT_EQ(sent[0].destination, kBravo);
  EXPECT_EQ(sent[0].destination_sap, kIpSap);
  EXPECT_EQ(sent[0].delivery.mode, sis::TransmissionMode::arq);
  EXPECT_EQ(sent[0].delivery.confirmation, sis::Confirmation::node);
  EXPECT_FALSE(sent[0].delivery.as_they_arrive);
}

// F.12.2(2), F.12.3(1): received datagrams go to the interface without octets behind them; faulty
// ones are counted.
TEST_F(IpClientTest, what_comes_from_the_air_is_checked_and_passed_on) {
  start();
  const Bytes octets = udp(100, {.source = kBehindBravo, .destination = 0x0A010101});
  Bytes longer = octets;
  longer.resize(120);
  from_air(kBravo, longer);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0], octets);
  from_air(kBravo, Bytes(octets.begin(), octets.end() - 1));
  from_air(kBravo, Bytes{0x75, 0, 0});
  from_air(kBravo, {});
  EXPECT_EQ(got.size(), 1u);
  EXPECT_EQ(dropped(Drop::truncated, Direction::from_air), 2u);
  EXPECT_EQ(dropped(Drop::version, Direction::from_air), 1u);
}

// F.12.3(1): unicast by ARQ and by non-ARQ, multicast by non-ARQ with repeats.
TEST_F(IpClientTest, unicast_goes_with_and_without_arq_and_multicast_without) {
  auto table = routes();
  table[1].arq = false;
  start({.routes = *RouteTable::make(table)});
  give(udp(100));
  give(udp(100, {.destination = kBehindCharlie}));
  give(udp(100, {.destination = kMulticast}));
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].delivery.mode, sis::TransmissionMode::arq);
  EXPECT_EQ(sent[1].delivery.mode, sis::TransmissionMode::nonarq);
  EXPECT_EQ(sent[1].delivery.retransmissions, 0);
  EXPECT_EQ(sent[2].delivery.mode, sis::TransmissionMode::nonarq);
  EXPECT_EQ(sent[2].delivery.retransmissions, 1);
  EXPECT_EQ(sent[2].destination, kGroup);
}

// --- Table ---------------------------------------------------------------------------------------

// F.12.3.1(1), F.12.7(1): hosts, subnets and multicast groups; the longest prefix decides.
TEST_F(IpClientTest, the_longest_prefix_decides_and_a_default_route_takes_the_rest) {
  auto table = routes();
  table.push_back({.prefix = prefix(0, 0), .station = kHub});
  table.push_back({.prefix = prefix(kBehindBravo, 32), .station = kCharlie});
  table.push_back({.prefix = prefix(kMulticast, 32), .station = kBravo});
  start({.routes = *RouteTable::make(table)});
  const auto to = [&](std::uint32_t destination) {
    sent.clear();
    core->on_sis(now, gateways::SisBound{2048});
    give(udp(100, {.destination = destination}));
    return sent.empty() ? Address{} : sent.back().destination;
  };
  EXPECT_EQ(to(kBehindBravo), kCharlie);
  EXPECT_EQ(to(kBehindBravo + 1), kBravo);
  EXPECT_EQ(to(0x08080808), kHub);
  EXPECT_EQ(to(kMulticast + 1), kGroup);
  EXPECT_EQ(to(kMulticast), kBravo);
  EXPECT_EQ(sent.back().delivery.mode, sis::TransmissionMode::arq);  // F.12.7(2): one station
}

// F.12.3.1(2)
TEST(RouteTable, holds_ten_thousand_rows_and_refuses_contradictions) {
  std::vector<Route> many;
  for (std::uint32_t i = 0; i < RouteTable::kRoutesMax; ++i) {
    many.push_back({.prefix = prefix(0x0A000000 + i * 256, 24), .station = {1 + i}});
  }
  const auto table = RouteTable::make(many);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->find(IpAddress::v4(0x0A000000 + 9999 * 256 + 7))->station.value, 10000u);
  many.push_back({.prefix = prefix(0, 0), .station = {1}});
  EXPECT_FALSE(RouteTable::make(many));
  const auto refused = [](Route route) { return !check_route(route); };
  EXPECT_TRUE(refused({.prefix = prefix(0x0A000001, 24), .station = {1}}));
  EXPECT_TRUE(refused({.prefix = prefix(0x0A000000, 33), .station = {1}}));
  EXPECT_TRUE(refused({.prefix = prefix(0x0A000000, 24), .station = kGroup}));
  EXPECT_TRUE(refused({.prefix = prefix(0xE0000000, 4), .station = kGroup, .arq = true}));
  EXPECT_TRUE(refused({.prefix = prefix(0x0A000000, 24), .station = {1}, .mtu = 67}));
  EXPECT_FALSE(refused({.prefix = prefix(0x0A0000FF, 32), .station = kGroup}));  // broadcast
  EXPECT_FALSE(RouteTable::make(
      {{.prefix = prefix(0, 0), .station = {1}}, {.prefix = prefix(0, 0), .station = {2}}}));
}

TEST_F(IpClientTest, a_datagram_without_a_route_is_reported) {
  start();
  give(udp(100, {.destination = 0x08080808}));
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(last_icmp(), std::pair(3, 0));
  EXPECT_EQ(dropped(Drop::no_route), 1u);
}

TEST_F(IpClientTest, a_new_table_drops_what_waits_for_a_station_that_has_left_it) {
  start();
  for (int i = 0; i < 5; ++i) give(udp(500));
  EXPECT_EQ(sent.size(), 2u);
  core->on_routes(now, *RouteTable::make({routes()[1]}));
  drain();
  EXPECT_EQ(dropped(Drop::no_route), 3u);
  confirm_all();
  EXPECT_TRUE(sent.empty());
}

// --- Quality of service --------------------------------------------------------------------------

// F.12.4.2(1): Table 9, checked for each value of the octet; ECN bits do not count.
TEST(ServiceClass, diffserv_gives_twice_the_class_selector) {
  const Route route{.prefix = prefix(0, 0), .station = kBravo};
  for (unsigned tos = 0; tos < 256; ++tos) {
    const Datagram datagram = test::parsed(udp(40, {.tos = static_cast<std::uint8_t>(tos)}));
    const Delivery delivery = delivery_of({}, datagram, route);
    EXPECT_EQ(delivery.priority, (tos >> 5) * 2);
    EXPECT_TRUE(delivery.arq);
  }
}

// F.12.4.2(2), F.12.4(2): the mapping is configurable, and QoS can be switched off.
TEST(ServiceClass, the_mapping_can_be_changed_and_switched_off) {
  const Route route{.prefix = prefix(0, 0), .station = kBravo};
  const Datagram expedited = test::parsed(udp(40, {.tos = 0xB8}));
  QosConfig config;
  config.by_dscp[46] = {.priority = 13, .arq = false};
  EXPECT_EQ(delivery_of(config, expedited, route), (Delivery{13, false, 0}));
  config.mode = QosMode::off;
  config.priority = 3;
  EXPECT_EQ(delivery_of(config, expedited, route), (Delivery{3, true, 0}));
  const Route capped{
      .prefix = prefix(0, 0), .station = kBravo, .arq = false, .priority_max = 2, .repeats = 4};
  EXPECT_EQ(delivery_of(config, expedited, capped), (Delivery{2, false, 4}));
}

// F.12.4.1(1): Table F-8.
TEST(ServiceClass, tos_mode_follows_its_table) {
  const Route route{.prefix = prefix(0, 0), .station = kBravo};
  const Route group{.prefix = prefix(0xE0000000, 4), .station = kGroup};
  const QosConfig config{.mode = QosMode::tos};
  const auto with = [&](std::uint8_t tos, const Route& by) {
    return delivery_of(config, test::parsed(udp(40, {.tos = tos})), by);
  };
  EXPECT_EQ(with(0xA0 | 0x10, route), (Delivery{10, false, 0}));
  EXPECT_EQ(with(0x08, route), (Delivery{0, true, 0}));
  EXPECT_EQ(with(0x04, route), (Delivery{0, true, 0}));
  EXPECT_EQ(with(0x02, route), (Delivery{0, false, 0}));
  EXPECT_EQ(with(0x00, route), (Delivery{0, true, 0}));
  EXPECT_EQ(with(0x18, route), (Delivery{0, true, 0}));
  EXPECT_EQ(with(0x10, group), (Delivery{0, false, 1}));
  EXPECT_EQ(with(0x04, group), (Delivery{0, false, 2}));
}

// --- Size ----------------------------------------------------------------------------------------

// F.12.5(2), F.12.6(2): with DF a datagram above the MTU is refused with that MTU (RFC 1191).
TEST_F(IpClientTest, a_large_datagram_with_df_is_refused_with_the_mtu) {
  auto table = routes();
  table[0].mtu = 600;
  start({.routes = *RouteTable::make(table)});
  give(udp(600, {.dont_fragment = true}));
  EXPECT_EQ(sent.size(), 1u);
  give(udp(601, {.dont_fragment = true}));
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(last_icmp(), std::pair(3, 4));
  EXPECT_EQ(get_u16(got.back(), 26), 600);
  give(udp(2049, {.destination = kBehindCharlie, .dont_fragment = true}));
  EXPECT_EQ(get_u16(got.back(), 26), 2048);
}

// F.12.5(3)
TEST_F(IpClientTest, a_large_datagram_without_df_is_fragmented_or_refused) {
  auto table = routes();
  table[0].mtu = 600;
  start({.routes = *RouteTable::make(table)});
  give(udp(1100));
  EXPECT_EQ(sent.size(), 2u);
  for (const auto& unidata : sent) EXPECT_LE(unidata.updu.size(), 600u);
  sent.clear();
  start({.routes = *RouteTable::make(table), .fragment = false});
  give(udp(1100));
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(last_icmp(), std::pair(3, 4));
}

// --- ICMP ----------------------------------------------------------------------------------------

// F.12.6(1): each refusal of the subnetwork has its message.
TEST_F(IpClientTest, refusals_of_the_node_become_icmp) {
  start();
  const auto after = [&](sis::RejectReason reason) {
    give(udp(100));
    now += 20s;
    from_air(kBravo, udp(100, {.source = kBehindBravo}));  // a sign that the station is there
    got.clear();
    now += 20s;
    reject_all(reason);
    return last_icmp();
  };
  EXPECT_EQ(after(sis::RejectReason::ttl_expired), std::pair(-1, -1));
  EXPECT_EQ(after(sis::RejectReason::destination_sap_not_bound), std::pair(3, 2));
  EXPECT_EQ(after(sis::RejectReason::larger_than_mtu), std::pair(3, 4));
  EXPECT_EQ(after(sis::RejectReason::destination_not_responding), std::pair(3, 1));
  EXPECT_EQ(dropped(Drop::expired), 1u);
  EXPECT_EQ(dropped(Drop::not_bound_there), 1u);
  EXPECT_EQ(dropped(Drop::not_answered), 1u);
}

// F.12.6(3)
TEST_F(IpClientTest, icmp_is_limited_and_never_goes_to_the_air) {
  start();
  for (int i = 0; i < 100; ++i) give(udp(100, {.destination = 0x08080808}));
  EXPECT_EQ(got.size(), 10u);
  EXPECT_EQ(core->counters()[IpCounter::icmp_limited], 90u);
  give(udp(100, {.destination = 0xE0000001}));
  EXPECT_EQ(core->counters()[IpCounter::icmp_limited],
            90u);  // about multicast there is none to limit
  now += 10s;
  got.clear();
  from_air(kBravo, udp(100, {.source = kBehindBravo, .destination = 0x08080808}));
  EXPECT_EQ(got.size(), 1u);  // the datagram itself; the host answers
  EXPECT_TRUE(sent.empty());
}

TEST_F(IpClientTest, a_time_that_ends_without_a_sign_of_the_station_means_that_it_is_silent) {
  start();
  give(udp(100));
  now += 120s;
  reject_all(sis::RejectReason::ttl_expired);
  EXPECT_EQ(count(IpEvent::Kind::station_silent), 1);
  give(udp(100));
  EXPECT_EQ(last_icmp(), std::pair(3, 1));
  EXPECT_TRUE(sent.empty());
}

// --- Filters -------------------------------------------------------------------------------------

// F.12.8(1), F.12.8(2): the chatter of hosts, IGMP among it, stays off the air unless the operator
// wants it.
TEST_F(IpClientTest, chatter_is_dropped_and_can_be_carried) {
  auto table = routes();
  table.push_back({.prefix = prefix(0, 0), .station = kHub});
  start({.routes = *RouteTable::make(table)});
  give(udp(100, {.destination = 0xE00000FB}, 5353, 5353));
  give(udp(100, {.destination = 0xEFFFFFFA}, 4000, 1900));
  give(udp(100, {.destination = 0xE00000FC}, 4000, 5355));
  give(udp(100, {.destination = 0x0A01FFFF}, 138, 138));
  give(udp(300, {.source = 0, .destination = 0xFFFFFFFF}, 68, 67));
  give(test::v4({.destination = 0xE0000016, .protocol = kIgmp}, Bytes(8)));
  give(test::v4({.protocol = kIpv6InIpv4}, test::v6(kIcmpv6, Bytes{133, 0, 0, 0, 0, 0, 0, 0})));
  give(test::v6(kIcmpv6, Bytes{143, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(sent.empty());
  EXPECT_TRUE(got.empty());
  for (const Drop drop :
       {Drop::mdns, Drop::ssdp, Drop::llmnr, Drop::netbios, Drop::dhcp, Drop::igmp}) {
    EXPECT_EQ(dropped(drop), 1u) << reason_of(drop);
  }
  EXPECT_EQ(dropped(Drop::ipv6_discovery), 2u);
  // F.12.2(4): IPv6 in IPv4 is a datagram like any other.
  give(test::v4({.protocol = kIpv6InIpv4}, test::v6(kUdp, Bytes(20))));
  EXPECT_EQ(sent.size(), 1u);
  start({.routes = *RouteTable::make(table), .drops = {.carried = {Chatter::mdns}}});
  give(udp(100, {.destination = 0xE00000FB}, 5353, 5353));
  EXPECT_EQ(sent.size(), 2u);
  // A connection may have such a number as a port, except where the service runs over TCP, too.
  give(tcp({.to = 1900}));
  EXPECT_EQ(sent.size(), 3u);
  give(tcp({.to = 139}));
  EXPECT_EQ(sent.size(), 3u);
}

TEST_F(IpClientTest, the_operators_rules_drop_what_all_their_fields_fit) {
  start(
      {.drops = {.rules = {{.protocol = kUdp, .port = 123}, {.source = prefix(0x0A010900, 24)}}}});
  give(udp(100, {}, 123, 123));
  give(udp(100, {.source = 0x0A010907}));
  EXPECT_EQ(dropped(Drop::rule), 2u);
  give(tcp({.to = 123}));
  EXPECT_EQ(sent.size(), 1u);
}

// --- Bad input -----------------------------------------------------------------------------------

TEST_F(IpClientTest, a_source_must_be_behind_the_station_that_sends_it) {
  start({.own_addresses = {IpAddress::v4(0x0A010101)}});
  from_air(kCharlie, udp(100, {.source = kBehindBravo}));
  from_air(kBravo, udp(100, {.source = 0x08080808}));
  from_air(kBravo, udp(100, {.source = 0x0A010101}));
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(dropped(Drop::source_refused, Direction::from_air), 3u);
  start({.own_addresses = {IpAddress::v4(0x0A010101)}, .check_sources = false});
  from_air(kCharlie, udp(100, {.source = kBehindBravo}));
  EXPECT_EQ(got.size(), 1u);
  from_air(kBravo, udp(100, {.source = 0x0A010101}));
  EXPECT_EQ(got.size(), 1u);
}

TEST_F(IpClientTest, a_datagram_never_returns_to_the_station_from_which_it_came) {
  start();
  // A host behind Bravo sends to another one behind Bravo, and our host forwards it.
  from_air(kBravo, udp(100, {.source = kBehindBravo, .destination = kBehindBravo + 1}));
  ASSERT_EQ(got.size(), 1u);
  Bytes forwarded = got[0];
  --forwarded[8];
  set_ipv4_checksum(forwarded, 20);
  give(forwarded);
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(dropped(Drop::loop), 1u);
  // A relay passes a datagram on to a third station.
  from_air(kBravo, udp(100, {.source = kBehindBravo, .destination = kBehindCharlie}));
  give(got.back());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].destination, kCharlie);
}

TEST_F(IpClientTest, the_pace_without_arq_starts_from_the_rate_of_the_node) {
  // Each of these takes 1000 octets of the 20 s that the node may have, because it is repeated.
  const auto handed_over = [&](std::optional<double> node_rate_bps) {
    start();
    sent.clear();
    if (node_rate_bps) core->on_node_rate(*node_rate_bps);
    for (int i = 0; i < 10; ++i) {
      give(udp(500, {.destination = kMulticast, .id = static_cast<std::uint16_t>(i)}));
    }
    return sent.size();
  };
  EXPECT_EQ(handed_over(std::nullopt), 3u);  // 1200 bit/s, the default of the setting
  EXPECT_EQ(handed_over(300), 1u);
  EXPECT_EQ(handed_over(2400), 6u);
}

TEST_F(IpClientTest, ipv6_goes_directly_only_to_stations_that_have_said_that_they_take_it) {
  auto table = routes();
  start({.routes = *RouteTable::make(table)});
  const Bytes octets = test::v6(kUdp, Bytes(20));
  from_air(kBravo, octets);
  EXPECT_EQ(dropped(Drop::source_refused, Direction::from_air), 1u);
  give(octets);
  EXPECT_EQ(dropped(Drop::no_route), 1u);
  from_air(kBravo, encode(Ipv6Notice{true}));
  EXPECT_TRUE(sent.empty());  // we have no IPv6 for it
  got.clear();

  start({.routes = *RouteTable::make(ipv6_routes())});
  give(octets);
  EXPECT_EQ(dropped(Drop::ipv6_not_offered), 1u);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].destination, kBravo);
  EXPECT_TRUE(decode_ipv6_notice(sent[0].updu)->answer_wanted);
  confirm_all();
  from_air(kBravo, encode(Ipv6Notice{false}));
  EXPECT_TRUE(got.empty());
  give(octets);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].destination, kBravo);
  EXPECT_EQ(sent[0].updu, octets);
  give(test::v6(kUdp, Bytes(2040)));
  EXPECT_EQ(got.back().at(40), 2);  // packet too big
  now += Ipv6Peers::kMemory;
  give(octets);
  EXPECT_EQ(dropped(Drop::ipv6_not_offered), 2u);
}

TEST_F(IpClientTest, the_question_for_ipv6_is_answered_at_most_every_ten_seconds) {
  start({.routes = *RouteTable::make(ipv6_routes())});
  const Bytes question = encode(Ipv6Notice{true});
  for (int i = 0; i < 5; ++i) from_air(kBravo, question);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_FALSE(decode_ipv6_notice(sent[0].updu)->answer_wanted);
  confirm_all();
  now += Ipv6Peers::kAnswerMin;
  from_air(kBravo, question);
  EXPECT_EQ(sent.size(), 1u);
  confirm_all();
  give(test::v6(kUdp, Bytes(20)));  // the asker takes IPv6, too
  EXPECT_EQ(sent.at(0).updu.size(), 60u);
}

TEST_F(IpClientTest, a_station_that_never_answers_is_asked_for_ipv6_at_growing_intervals) {
  start({.routes = *RouteTable::make(ipv6_routes())});
  std::vector<Duration> asked;
  for (const Instant begin = now; now < begin + 4h; now += 10s) {
    give(test::v6(kUdp, Bytes(20)));
    if (!sent.empty()) asked.push_back(now - begin);
    confirm_all();
    EXPECT_TRUE(got.empty() || asked.size() > Ipv6Peers::kAskedInVain);
  }
  EXPECT_EQ(asked, (std::vector<Duration>{0s, 60s, 180s, 420s, 900s, 1860s, 3780s, 7380s, 10980s}));
  EXPECT_FALSE(got.empty());  // hosts are told that there is no route
}

TEST_F(IpClientTest, an_ipv6_datagram_of_a_station_says_that_it_takes_ipv6) {
  start({.routes = *RouteTable::make(ipv6_routes())});
  Bytes back = test::v6(kUdp, Bytes(20));
  std::swap_ranges(back.begin() + 8, back.begin() + 24, back.begin() + 24);
  from_air(kBravo, back);
  ASSERT_EQ(got.size(), 1u);
  give(test::v6(kUdp, Bytes(24)));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].updu.size(), 64u);
}

TEST(Ipv6Notice, is_told_from_every_other_datagram) {
  const Bytes notice = encode(Ipv6Notice{true});
  EXPECT_EQ(notice.size(), 48u);
  for (std::size_t bit = 0; bit < 8 * notice.size(); ++bit) {
    Bytes other = notice;
    other[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_EQ(decode_ipv6_notice(other).has_value(), bit / 8 == 46) << bit;
  }
  for (std::size_t octets = 0; octets < notice.size(); ++octets) {
    EXPECT_FALSE(decode_ipv6_notice(ByteSpan(notice).first(octets)));
  }
}

TEST_F(IpClientTest, random_octets_do_no_harm_in_either_direction) {
  start();
  Rng rng(7);
  for (int i = 0; i < 5000; ++i) {
    Bytes octets = udp(28 + rng.below(60), {.source = kBehindBravo});
    for (int k = 0; k < 3; ++k) octets[rng.below(28)] = static_cast<std::uint8_t>(rng.below(256));
    if (rng.chance(0.5)) set_ipv4_checksum(octets, 20);
    now += 10ms;
    give(octets);
    from_air(kBravo, octets);
    confirm_all();
  }
  EXPECT_TRUE(core->bound());
}

// --- Pace ----------------------------------------------------------------------------------------

TEST_F(IpClientTest, the_node_gets_two_datagrams_before_the_first_confirmation) {
  start();
  for (int i = 0; i < 10; ++i) give(udp(500));
  EXPECT_EQ(sent.size(), 2u);
  now += 5s;
  confirm_all();
  EXPECT_GE(sent.size(), 2u);
}

// F.12.9(1): while the flow is off nothing is handed over.
TEST_F(IpClientTest, nothing_is_handed_over_while_the_flow_is_off_or_unbound) {
  start();
  sis(gateways::SisFlow{false});
  give(udp(100));
  EXPECT_TRUE(sent.empty());
  sis(gateways::SisFlow{true});
  EXPECT_EQ(sent.size(), 1u);
  sis(gateways::SisLost{});
  EXPECT_EQ(dropped(Drop::unresolved), 1u);
  give(udp(200));
  EXPECT_EQ(sent.size(), 1u);
  sis(gateways::SisBound{1500});
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_EQ(core->mtu(), 1500u);
  sis(gateways::SisBound{200});
  EXPECT_FALSE(core->bound());
}

TEST_F(IpClientTest, senders_learn_that_the_node_is_away) {
  start();
  sis(gateways::SisLost{});
  give(udp(100));
  EXPECT_TRUE(got.empty());  // the node may be restarting
  now += 11s;
  give(udp(100));
  EXPECT_EQ(last_icmp(), std::pair(3, 0));
  EXPECT_EQ(dropped(Drop::no_node), 1u);
  sis(gateways::SisBound{2048});
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(IpClientTest, a_station_that_never_answers_delays_no_other) {
  start();
  for (int i = 0; i < 300; ++i) give(udp(1000, {}, static_cast<std::uint16_t>(i)));
  EXPECT_EQ(sent.size(), 2u);
  sent.clear();
  std::size_t to_charlie = 0;
  for (int i = 0; i < 50; ++i) {
    give(udp(1000, {}, static_cast<std::uint16_t>(i)));
    give(udp(1000, {.destination = kBehindCharlie}));
    now += 5s;
    for (const auto& unidata : std::exchange(sent, {})) {
      EXPECT_EQ(unidata.destination, kCharlie);
      ++to_charlie;
      sis(gateways::SisConfirmed{unidata.id});
    }
  }
  EXPECT_GE(to_charlie, 48u);
}

TEST_F(IpClientTest, a_silent_station_is_refused_at_once_and_tried_at_growing_intervals) {
  start();
  for (int i = 0; i < 4; ++i) give(udp(500));
  reject_all(sis::RejectReason::destination_not_responding);
  EXPECT_EQ(core->queue().packets(), 0u);  // what waited was refused, too
  EXPECT_EQ(got.size(), 4u);
  EXPECT_EQ(count(IpEvent::Kind::station_silent), 1);
  std::vector<Instant> tried;
  for (int i = 0; i < 1000; ++i) {
    now += 1s;
    give(udp(500));
    if (!sent.empty()) tried.push_back(now);
    reject_all(sis::RejectReason::destination_not_responding);
  }
  ASSERT_GE(tried.size(), 4u);
  EXPECT_LE(tried.size(), 12u);
  EXPECT_GT(tried.back() - tried[tried.size() - 2], tried[1] - tried[0]);
  from_air(kBravo, udp(100, {.source = kBehindBravo}));
  EXPECT_EQ(count(IpEvent::Kind::station_silent), 1);
  EXPECT_EQ(count(IpEvent::Kind::station_answering), 1);
  give(udp(500));
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(IpClientTest, a_segment_that_the_node_still_sends_is_not_sent_again) {
  start();
  give(tcp({.sequence = 1, .data = 500}));
  give(tcp({.sequence = 1, .data = 500}));
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(dropped(Drop::segment_under_way), 1u);
  give(tcp({.sequence = 501, .data = 500}));
  EXPECT_EQ(sent.size(), 2u);
  confirm_all();
  give(tcp({.sequence = 1, .data = 500}));
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(IpClientTest, what_waits_too_long_is_dropped_without_any_event) {
  start();
  for (int i = 0; i < 5; ++i) give(udp(500));
  EXPECT_TRUE(core->next_deadline());
  run_for(122s);
  EXPECT_EQ(dropped(Drop::aged), 3u);
  EXPECT_FALSE(core->next_deadline());
}

TEST_F(IpClientTest, the_age_follows_the_measured_turnaround) {
  start();
  for (int i = 0; i < 20; ++i) {  // each takes 40 s
    give(udp(500));
    now += 40s;
    confirm_all();
  }
  for (int i = 0; i < 100; ++i) give(udp(500));
  const auto waiting = core->queue().packets();
  ASSERT_GT(waiting, 0u);
  run_for(45s);
  EXPECT_EQ(core->queue().packets(), waiting);
  run_for(10s);
  EXPECT_EQ(core->queue().packets(), 0u);
}

TEST_F(IpClientTest, datagrams_without_arq_are_paced_by_the_rate_of_the_air) {
  start();
  for (int i = 0; i < 100; ++i) give(udp(500, {.destination = kMulticast}));
  const std::size_t at_once = sent.size();
  EXPECT_GE(at_once, 2u);
  EXPECT_LE(at_once, 6u);  // 20 s at 1200 bit/s, each twice
  run_for(20s);
  EXPECT_GE(sent.size(), at_once + 2);
  EXPECT_LE(sent.size(), 2 * at_once + 2);
}

TEST_F(IpClientTest, counts_and_states_tell_who_talks_to_whom) {
  start();
  give(udp(500));
  give(udp(500));
  give(udp(500));
  now += 4s;
  from_air(kBravo, udp(100, {.source = kBehindBravo, .destination = 0x0A010101}, 5000, 4000));
  const auto stations = core->stations(now);
  ASSERT_EQ(stations.size(), 3u);
  const StationState& bravo = stations[1];  // the group has the smallest number
  EXPECT_EQ(bravo.station, kBravo);
  EXPECT_EQ(bravo.with_node, 2u);
  EXPECT_EQ(bravo.waiting, 1u);
  EXPECT_EQ(bravo.oldest, 4s);
  const auto flows = core->flows(now);
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].datagrams_sent, 2u);
  EXPECT_EQ(flows[0].waiting, 1u);
  EXPECT_EQ(flows[1].octets_received, 100u);
  EXPECT_EQ(core->counters()[IpCounter::datagrams_sent], 2u);
}

TEST_F(IpClientTest, conversations_that_are_counted_are_bounded) {
  start({.flows_max = 10});
  for (int i = 0; i < 100; ++i) {
    give(udp(100, {}, static_cast<std::uint16_t>(i)));
    confirm_all();
  }
  EXPECT_EQ(core->flows(now).size(), 10u);
}

}  // namespace
}  // namespace s5066::ip_client
