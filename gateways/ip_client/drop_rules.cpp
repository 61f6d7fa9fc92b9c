// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/drop_rules.h"

namespace s5066::ip_client {
namespace {

/// The ports are those of UDP. They count for TCP only if the service also runs over TCP, because a
/// TCP client may use any other of these numbers as its own port.
struct PortRange {
  Chatter chatter;
  std::uint16_t first;
  std::uint16_t last;
  bool also_tcp = false;
};
constexpr PortRange kChatterPorts[] = {
    {Chatter::dhcp, 67, 68},     {Chatter::netbios, 137, 139, true},
    {Chatter::dhcp, 546, 547},   {Chatter::ssdp, 1900, 1900},
    {Chatter::mdns, 5353, 5353}, {Chatter::llmnr, 5355, 5355, true},
};

/// Messages of ICMPv6 between neighbours: MLD 130 to 132 and 143, discovery 133 to 137.
bool is_ipv6_discovery(std::uint8_t type) {
  return (type >= 130 && type <= 137) || type == 143;
}

bool has_port(const Datagram& datagram, std::uint16_t first, std::uint16_t last) {
  const auto within = [&](std::optional<std::uint16_t> port) {
    return port && *port >= first && *port <= last;
  };
  return within(datagram.source_port) || within(datagram.destination_port);
}

}  // namespace

std::string_view to_string(Chatter chatter) {
  switch (chatter) {
    case Chatter::mdns:
      return "mdns";
    case Chatter::ssdp:
      return "ssdp";
    case Chatter::llmnr:
      return "llmnr";
    case Chatter::netbios:
      return "netbios";
    case Chatter::ipv6_discovery:
      return "ipv6_discovery";
    case Chatter::igmp:
      return "igmp";
    case Chatter::dhcp:
      return "dhcp";
    case Chatter::count:
      break;
  }
  return "unknown";
}

std::optional<Chatter> chatter_of(const Datagram& datagram, ByteSpan octets) {
  if (!datagram.v6 && datagram.protocol == kIgmp) return Chatter::igmp;
  if (!datagram.v6 && datagram.protocol == kIpv6InIpv4 && !datagram.is_fragment()) {
    const auto inner = parse_datagram(octets.subspan(datagram.header_octets));
    const auto* inside = std::get_if<Datagram>(&inner);
    if (inside == nullptr || !inside->v6) return std::nullopt;
    return chatter_of(*inside, octets.subspan(datagram.header_octets));
  }
  if (datagram.v6 && datagram.icmp_type && is_ipv6_discovery(*datagram.icmp_type)) {
    return Chatter::ipv6_discovery;
  }
  for (const PortRange& range : kChatterPorts) {
    if (datagram.protocol == kTcp && !range.also_tcp) continue;
    if (has_port(datagram, range.first, range.last)) return range.chatter;
  }
  return std::nullopt;
}

bool fits(const DropRule& rule, const Datagram& datagram) {
  if (rule.protocol && *rule.protocol != datagram.protocol) return false;
  if (rule.port && !has_port(datagram, *rule.port, *rule.port)) return false;
  if (rule.source && !rule.source->contains(datagram.source)) return false;
  return !rule.destination || rule.destination->contains(datagram.destination);
}

}  // namespace s5066::ip_client
