// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/datagram.h"

#include <gtest/gtest.h>

#include "gateways/ip_client/fragment.h"
#include "gateways/ip_client/icmp.h"
#include "s5066d/base/rng.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

using namespace std::chrono_literals;
using test::udp;
using test::V4;

std::optional<DatagramFault> fault_of(ByteSpan octets) {
  const auto result = parse_datagram(octets);
  const auto* fault = std::get_if<DatagramFault>(&result);
  return fault != nullptr ? std::optional(*fault) : std::nullopt;
}

// F.12.2(1): the worked example, a datagram with DSCP EF.
TEST(Datagram, the_worked_example_is_read) {
  const Bytes octets = *from_hex("45B8001C123400004011 51E1 0A010101 0A010102 0AC10AC1 0008 0000");
  const Datagram datagram = test::parsed(octets);
  EXPECT_EQ(datagram.total_octets, 28u);
  EXPECT_EQ(datagram.traffic_class, 0xB8);
  EXPECT_EQ(datagram.source, IpAddress::v4(0x0A010101));
  EXPECT_EQ(datagram.destination, IpAddress::v4(0x0A010102));
  EXPECT_EQ(datagram.source_port, 0x0AC1);
  EXPECT_EQ(to_string(flow_of(datagram)), "udp 10.1.1.1:2753 > 10.1.1.2:2753");
}

// F.12.2(2): a datagram that is shorter than it says is refused; octets behind it are ignored.
TEST(Datagram, every_prefix_is_truncated_and_octets_behind_it_are_ignored) {
  const Bytes whole = udp(60);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(fault_of(ByteSpan(whole).first(size)), DatagramFault::truncated) << size;
  }
  Bytes longer = whole;
  longer.resize(100);
  EXPECT_EQ(test::parsed(longer).total_octets, 60u);
}

TEST(Datagram, each_fault_has_its_name) {
  Bytes version = udp(40);
  version[0] = 0x55;
  EXPECT_EQ(fault_of(version), DatagramFault::version);
  Bytes header = udp(40);
  header[0] = 0x44;
  EXPECT_EQ(fault_of(header), DatagramFault::header_length);
  Bytes total = udp(40);
  total[3] = 19;
  EXPECT_EQ(fault_of(total), DatagramFault::total_length);
  Bytes sum = udp(40);
  sum[10] ^= 1;
  EXPECT_EQ(fault_of(sum), DatagramFault::checksum);
  EXPECT_EQ(fault_of(udp(40, {.options = {7, 3, 4, 0}})), std::nullopt);
  EXPECT_EQ(fault_of(udp(40, {.options = {7, 5, 4, 0}})), DatagramFault::options);
  EXPECT_EQ(fault_of(udp(40, {.options = {7, 1, 4, 0}})), DatagramFault::options);
  EXPECT_EQ(fault_of(udp(40, {.options = {1, 1, 1, 7}})), DatagramFault::options);
  EXPECT_EQ(fault_of(udp(1000, {.offset = 65528})), DatagramFault::fragment);
  EXPECT_EQ(fault_of(udp(41, {.more = true})), DatagramFault::fragment);
  EXPECT_EQ(fault_of(udp(40, {.source = 0xE0000001})), DatagramFault::address);
  EXPECT_EQ(fault_of(udp(40, {.source = 0x7F000001})), DatagramFault::address);
  EXPECT_EQ(fault_of(udp(40, {.destination = 0x7F000001})), DatagramFault::address);
  EXPECT_EQ(fault_of(udp(40, {.destination = 0})), DatagramFault::address);
  EXPECT_EQ(fault_of(udp(40, {.destination = 0xF0000001})), DatagramFault::address);
}

TEST(Datagram, a_single_flipped_bit_of_the_header_is_seen) {
  const Bytes whole = udp(28);
  for (std::size_t bit = 0; bit < 8 * kIpv4HeaderOctets; ++bit) {
    Bytes damaged = whole;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_TRUE(fault_of(damaged)) << bit;
  }
}

TEST(Datagram, ports_and_segments_are_read_only_where_they_are) {
  EXPECT_FALSE(test::parsed(udp(40, {.offset = 8})).source_port);
  EXPECT_FALSE(test::parsed(test::v4({.protocol = kUdp}, Bytes(3))).source_port);
  const Bytes segment =
      test::tcp({.sequence = 7, .data = 5, .options = {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}});
  const Datagram datagram = test::parsed(segment);
  ASSERT_TRUE(datagram.tcp);
  EXPECT_EQ(datagram.tcp->sequence, 7u);
  EXPECT_EQ(datagram.tcp->data_octets, 5u);
  EXPECT_TRUE(datagram.tcp->plain_options);
  EXPECT_FALSE(test::parsed(test::tcp({.options = {1, 1, 5, 2}})).tcp->plain_options);
  EXPECT_FALSE(test::parsed(test::v4({.protocol = kTcp}, Bytes(19))).tcp);
}

TEST(Datagram, extension_headers_of_ipv6_are_walked_and_limited) {
  Bytes payload = {kUdp, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 9, 0, 8, 0, 0};
  const Datagram datagram = test::parsed(test::v6(0, payload, 0xB8));
  EXPECT_EQ(datagram.protocol, kUdp);
  EXPECT_EQ(datagram.source_port, 0x1234);
  EXPECT_EQ(datagram.traffic_class, 0xB8);
  EXPECT_EQ(to_string(flow_of(datagram)), "udp [fd00::1]:4660 > [fd00::1:0:0:2]:9");
  payload[1] = 9;  // longer than what is there
  EXPECT_EQ(fault_of(test::v6(0, payload)), DatagramFault::options);
  Bytes many(8 * 9, 0);
  for (std::size_t i = 0; i < 8; ++i) many[8 * i] = 60;
  EXPECT_EQ(fault_of(test::v6(60, many)), DatagramFault::options);
}

TEST(Datagram, random_octets_are_read_without_harm) {
  Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes octets(rng.below(100));
    for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
    if (!octets.empty()) octets[0] = static_cast<std::uint8_t>((rng.chance(0.5) ? 4 : 6) << 4 | 5);
    parse_datagram(octets);
  }
}

// --- Fragments -----------------------------------------------------------------------------------

/// Puts fragments together again, as a receiver does.
Bytes reassembled(const std::vector<Bytes>& pieces) {
  Bytes payload;
  for (const Bytes& piece : pieces) {
    const Datagram part = test::parsed(piece);
    payload.resize(
        std::max(payload.size(), part.fragment_offset + part.total_octets - part.header_octets));
    std::copy(piece.begin() + static_cast<std::ptrdiff_t>(part.header_octets), piece.end(),
              payload.begin() + static_cast<std::ptrdiff_t>(part.fragment_offset));
  }
  return payload;
}

// F.12.5(3): a datagram without DF is fragmented.
TEST(Fragment, pieces_fit_and_give_the_datagram_again) {
  for (const std::size_t mtu : {68u, 100u, 296u, 500u, 1499u}) {
    const Bytes whole = udp(1500, {.options = {0x83, 4, 4, 0, 7, 4, 4, 0}});
    const auto pieces = fragment_ipv4(whole, test::parsed(whole), mtu);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Datagram part = test::parsed(pieces[i]);
      EXPECT_LE(pieces[i].size(), mtu);
      EXPECT_EQ(part.more_fragments, i + 1 < pieces.size());
      EXPECT_EQ(part.id, 0x1234u);
      EXPECT_EQ(part.header_octets, i == 0 ? 28u : 24u);  // the option 7 is only in the first
    }
    EXPECT_EQ(reassembled(pieces), Bytes(whole.begin() + 28, whole.end())) << mtu;
  }
}

TEST(Fragment, a_fragment_can_be_divided_further) {
  const Bytes middle = udp(420, {.more = true, .offset = 800});
  const auto pieces = fragment_ipv4(middle, test::parsed(middle), 200);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(test::parsed(pieces[0]).fragment_offset, 800u);
  for (const Bytes& piece : pieces) EXPECT_TRUE(test::parsed(piece).more_fragments);
}

// --- ICMP ----------------------------------------------------------------------------------------

// F.12.6(1): never about an ICMP error, multicast, broadcast or a later fragment.
TEST(Icmp, nothing_is_reported_that_must_not_be) {
  const auto may = [](const Bytes& octets) { return may_report(test::parsed(octets)); };
  EXPECT_TRUE(may(udp(40)));
  EXPECT_TRUE(may(udp(44, {.more = true})));
  EXPECT_TRUE(may(test::icmp(8, 0)));
  EXPECT_FALSE(may(udp(40, {.offset = 8})));
  EXPECT_FALSE(may(udp(40, {.destination = 0xE1000001})));
  EXPECT_FALSE(may(udp(40, {.destination = 0xFFFFFFFF})));
  EXPECT_FALSE(may(udp(40, {.source = 0})));
  for (const int type : {3, 4, 5, 11, 12}) {
    EXPECT_FALSE(may(test::icmp(static_cast<std::uint8_t>(type), 0)));
  }
}

// F.12.6(2): the layout of RFC 1191, with the MTU of the next hop in octets 6 and 7.
TEST(Icmp, too_big_tells_the_mtu_and_quotes_the_datagram) {
  const Bytes whole = udp(1500, {.dont_fragment = true});
  const Datagram about = test::parsed(whole);
  const Bytes error = icmp_error({IcmpError::too_big, 1200, about.destination}, whole, about);
  const Datagram shown = test::parsed(error);
  EXPECT_EQ(shown.protocol, kIcmp);
  EXPECT_EQ(shown.destination, about.source);
  EXPECT_EQ(error.size(), 576u);
  const ByteSpan message = ByteSpan(error).subspan(20);
  EXPECT_EQ(message[0], 3);
  EXPECT_EQ(message[1], 4);
  EXPECT_EQ(get_u16(message, 6), 1200);
  EXPECT_EQ(internet_checksum(message), 0);
  EXPECT_TRUE(std::equal(message.begin() + 8, message.end(), whole.begin()));
}

TEST(Icmp, an_error_of_ipv6_has_a_checksum_with_its_addresses) {
  const Bytes whole = test::v6(kUdp, Bytes(1400, 1));
  const Datagram about = test::parsed(whole);
  const Bytes error = icmp_error({IcmpError::too_big, 1280, about.destination}, whole, about);
  EXPECT_EQ(error[40], 2);
  EXPECT_EQ(get_u32(error, 44), 1280u);
  Bytes pseudo(error.begin() + 8, error.begin() + 40);
  put_u32(pseudo, static_cast<std::uint32_t>(error.size() - 40));
  put_u32(pseudo, kIcmpv6);
  append(pseudo, ByteSpan(error).subspan(40));
  EXPECT_EQ(internet_checksum(pseudo), 0);
}

TEST(Icmp, a_rate_limit_gives_a_burst_and_then_one_in_each_interval) {
  RateLimit limit(3, 1s);
  Instant now{100s};
  int taken = 0;
  for (int i = 0; i < 10; ++i) taken += limit.take(now);
  EXPECT_EQ(taken, 3);
  for (int i = 0; i < 10; ++i) taken += limit.take(now += 500ms);
  EXPECT_EQ(taken, 8);
}

}  // namespace
}  // namespace s5066::ip_client
