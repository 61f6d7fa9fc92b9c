// SPDX-License-Identifier: Apache-2.0
// Input: a datagram. It goes through the parser as it is, and with a corrected header checksum. A
// datagram that the parser accepts is fragmented, quoted by ICMP, and goes through the IP client in
// both directions.
#include "gateways/ip_client/fragment.h"
#include "gateways/ip_client/ip_client_core.h"

using namespace s5066;
using namespace s5066::ip_client;

namespace {

constexpr Address kStation{0x01020302};

IpClientCore::Config client_config() {
  IpClientCore::Config config;
  IpAddress any_v6{.v6 = true};
  auto routes = RouteTable::make({{.prefix = {IpAddress::v4(0), 0}, .station = kStation},
                                  {.prefix = {any_v6, 0}, .station = kStation}});
  S5066_ASSERT(routes.ok());
  config.routes = std::move(routes).value();
  return config;
}

void drain(IpClientCore& core) {
  while (auto action = core.poll_action()) {
    const auto* to = std::get_if<IpClientCore::ToInterface>(&*action);
    if (to != nullptr) S5066_ASSERT(std::holds_alternative<Datagram>(parse_datagram(to->octets)));
    const auto* sent = std::get_if<gateways::SisUnidata>(&*action);
    if (sent != nullptr) S5066_ASSERT(sent->updu.size() <= core.mtu());
  }
}

void check_pieces(ByteSpan octets, const Datagram& datagram) {
  if (datagram.v6 || datagram.dont_fragment) return;
  std::size_t payload = 0;
  for (const Bytes& piece : fragment_ipv4(octets, datagram, kIpv4MtuMin)) {
    const auto part = parse_datagram(piece);
    S5066_ASSERT(std::holds_alternative<Datagram>(part) && piece.size() <= kIpv4MtuMin);
    payload += piece.size() - std::get<Datagram>(part).header_octets;
  }
  S5066_ASSERT(payload == datagram.total_octets - datagram.header_octets);
}

void check(ByteSpan octets) {
  const auto parsed = parse_datagram(octets);
  if (const auto* datagram = std::get_if<Datagram>(&parsed)) check_pieces(octets, *datagram);
  IpClientCore core(client_config());
  Instant now{std::chrono::seconds(1)};
  core.on_sis(now, gateways::SisBound{600});
  core.on_datagram(now, Bytes(octets.begin(), octets.end()));
  drain(core);
  core.on_sis(now, gateways::SisRejected{{1}, sis::RejectReason::destination_not_responding});
  core.on_sis(now, gateways::SisIndication{kStation, kIpSap, Bytes(octets.begin(), octets.end())});
  drain(core);
  core.on_datagram(now, Bytes(octets.begin(), octets.end()));
  core.on_deadline(now + std::chrono::minutes(10));
  drain(core);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 65535) return 0;
  check(ByteSpan(data, size));
  Bytes mended(data, data + size);
  if (size < kIpv4HeaderOctets || data[0] >> 4 != 4) return 0;
  const std::size_t header = std::size_t{data[0]} % 16 * 4;
  if (header < kIpv4HeaderOctets || header > size) return 0;
  set_ipv4_checksum(mended, header);
  check(mended);
  return 0;
}
