// SPDX-License-Identifier: Apache-2.0
// Tests the datagrams in our primitives with tshark. Its SIS dissector shows a U_PDU of SAP 9 as
// data, and its IP dissector reads that.
#include <gtest/gtest.h>

#include "gateways/ip_client/ip_client_core.h"
#include "s5066d/pdu/capture.h"
#include "sis/codec.h"
#include "tests/support/sis_capture.h"
#include "tests/support/tshark.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1s};
constexpr Duration kDate = 1'800'000'000s;

Bytes ip_capture(const std::vector<Bytes>& datagrams) {
  Bytes file;
  pdu::append_capture_header(pdu::LinkType::raw_ip, file);
  for (const Bytes& datagram : datagrams) pdu::append_capture_record(kDate, datagram, file);
  return file;
}

IpClientCore client() {
  IpClientCore::Config config;
  config.routes = *RouteTable::make({{.prefix = test::prefix(0x0A020000, 16),
                                      .station = {0x01020302},
                                      .arq = false,
                                      .mtu = 600}});
  IpClientCore core(config);
  core.on_sis(kStart, gateways::SisBound{2048});
  return core;
}

/// Returns the octets that tshark's SIS dissector shows as the U_PDU of each request.
std::vector<Bytes> updus_shown(const std::vector<gateways::SisUnidata>& requests) {
  s5066::test::SisCapture capture;
  for (const auto& request : requests) {
    Bytes frame;
    encode(sis::Primitive{sis::UnidataRequest{.priority = request.priority,
                                              .destination_sap = request.destination_sap,
                                              .destination = request.destination,
                                              .delivery = request.delivery,
                                              .updu = request.updu}},
           frame);
    capture.add(true, frame, kDate);
  }
  const auto packets = s5066::test::dissect(capture.file());
  EXPECT_TRUE(packets.ok());
  std::vector<Bytes> shown;
  for (const auto& packet : *packets) {
    EXPECT_FALSE(packet.malformed);
    shown.push_back(*from_hex(packet.hex("data.data")));
  }
  return shown;
}

// F.12.2(1)
TEST(IpDissection, tshark_reads_the_datagrams_in_our_primitives) {
  IpClientCore core = client();
  core.on_datagram(kStart, test::udp(100, {.tos = 0xB8}));
  core.on_datagram(kStart, test::tcp({.data = 20}));
  core.on_datagram(kStart, test::udp(1100));  // two fragments
  std::vector<gateways::SisUnidata> requests;
  while (auto action = core.poll_action()) {
    if (auto* sent = std::get_if<gateways::SisUnidata>(&*action)) requests.push_back(*sent);
  }
  ASSERT_EQ(requests.size(), 4u);
  const auto packets = s5066::test::dissect(ip_capture(updus_shown(requests)),
                                            "-o ip.check_checksum:TRUE -o ip.defragment:FALSE");
  ASSERT_TRUE(packets.ok());
  ASSERT_EQ(packets->size(), requests.size());
  for (const auto& packet : *packets) {
    EXPECT_FALSE(packet.malformed);
    EXPECT_EQ(packet.shown("ip.dst"), std::vector<std::string>{"10.2.1.2"});
    EXPECT_EQ(packet.numbers("ip.checksum.status"), std::vector<std::uint64_t>{1});
  }
}

// The interface gets these datagrams.
TEST(IpDissection, tshark_reads_our_icmp_errors) {
  IpClientCore core = client();
  core.on_datagram(kStart, test::udp(1100, {.dont_fragment = true}));
  core.on_datagram(kStart, test::udp(100, {.destination = 0x08080808}));
  std::vector<Bytes> errors;
  while (auto action = core.poll_action()) {
    const auto* to = std::get_if<IpClientCore::ToInterface>(&*action);
    if (to != nullptr) errors.push_back(to->octets);
  }
  const auto packets = s5066::test::dissect(ip_capture(errors), "-o ip.check_checksum:TRUE");
  ASSERT_TRUE(packets.ok());
  ASSERT_EQ(packets->size(), 2u);
  EXPECT_EQ((*packets)[0].numbers("icmp.mtu"), std::vector<std::uint64_t>{600});
  for (const auto& packet : *packets) {
    EXPECT_EQ(packet.numbers("icmp.type"), std::vector<std::uint64_t>{3});
    EXPECT_EQ(packet.numbers("icmp.checksum.status"), std::vector<std::uint64_t>{1});
  }
}

}  // namespace
}  // namespace s5066::ip_client
