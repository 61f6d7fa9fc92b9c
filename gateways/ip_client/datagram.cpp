// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/datagram.h"

#include <algorithm>

namespace s5066::ip_client {
namespace {

constexpr std::size_t kDatagramOctetsMax = 65535;
constexpr std::size_t kTcpHeaderOctets = 20;
constexpr std::size_t kExtensionsMax = 8;  // extension headers of one IPv6 datagram

// Options of TCP.
constexpr std::uint8_t kEndOfOptions = 0;
constexpr std::uint8_t kNoOperation = 1;
constexpr std::uint8_t kTimestamps = 8;

/// Calls `take(type)` for each option of an IPv4 or TCP header. The options of both headers have
/// the same form. Returns false if an option does not fit into the header.
template <typename Take>
bool each_option(ByteSpan options, Take take) {
  for (std::size_t at = 0; at < options.size();) {
    const std::uint8_t type = options[at];
    if (type == kEndOfOptions) return true;
    if (type == kNoOperation) {
      ++at;
      continue;
    }
    if (at + 1 >= options.size()) return false;
    const std::size_t length = options[at + 1];
    if (length < 2 || at + length > options.size()) return false;
    take(type);
    at += length;
  }
  return true;
}

std::optional<TcpSegment> parse_tcp(ByteSpan octets) {
  if (octets.size() < kTcpHeaderOctets) return std::nullopt;
  const std::size_t header = std::size_t{octets[12]} / 16 * 4;
  if (header < kTcpHeaderOctets || header > octets.size()) return std::nullopt;
  TcpSegment segment;
  segment.sequence = get_u32(octets, 4);
  segment.acknowledgement = get_u32(octets, 8);
  segment.flags = octets[13];
  segment.window = get_u16(octets, 14);
  segment.data_octets = static_cast<std::uint32_t>(octets.size() - header);
  const auto options = octets.subspan(kTcpHeaderOctets, header - kTcpHeaderOctets);
  const bool sound = each_option(
      options, [&](std::uint8_t type) { segment.plain_options &= type == kTimestamps; });
  segment.plain_options &= sound;
  return segment;
}

/// Reads the transport header at the start of the payload. A payload that is too short for its
/// protocol is not an error here, but the datagram then has no ports.
void read_transport(Datagram& datagram, ByteSpan octets) {
  if (datagram.fragment_offset > 0) return;
  const ByteSpan payload = octets.subspan(datagram.header_octets);
  const bool ports = datagram.protocol == kTcp || datagram.protocol == kUdp;
  if (ports && payload.size() >= 4) {
    datagram.source_port = get_u16(payload, 0);
    datagram.destination_port = get_u16(payload, 2);
  }
  const bool icmp = datagram.protocol == (datagram.v6 ? kIcmpv6 : kIcmp);
  if (icmp && !payload.empty()) datagram.icmp_type = payload[0];
  if (datagram.protocol == kTcp && !datagram.is_fragment()) datagram.tcp = parse_tcp(payload);
}

std::optional<DatagramFault> check_addresses(const Datagram& datagram) {
  const bool source = datagram.source.is_one_host() || datagram.source.is_unspecified();
  const IpAddress& to = datagram.destination;
  if (!source || !(to.is_one_host() || datagram.to_many())) return DatagramFault::address;
  return std::nullopt;
}

std::optional<DatagramFault> check_fragment(const Datagram& datagram) {
  const std::size_t payload = datagram.total_octets - datagram.header_octets;
  const bool uneven = datagram.more_fragments && payload % 8 != 0;
  if (uneven || datagram.fragment_offset + payload > kDatagramOctetsMax) {
    return DatagramFault::fragment;
  }
  return std::nullopt;
}

std::variant<Datagram, DatagramFault> parse_v4(ByteSpan octets) {
  if (octets.size() < kIpv4HeaderOctets) return DatagramFault::truncated;
  Datagram datagram;
  datagram.header_octets = std::size_t{octets[0]} % 16 * 4;
  if (datagram.header_octets < kIpv4HeaderOctets) return DatagramFault::header_length;
  datagram.total_octets = get_u16(octets, 2);
  if (datagram.total_octets < datagram.header_octets) return DatagramFault::total_length;
  if (datagram.total_octets > octets.size()) return DatagramFault::truncated;
  octets = octets.first(datagram.total_octets);
  const ByteSpan header = octets.first(datagram.header_octets);
  if (internet_checksum(header) != 0) return DatagramFault::checksum;
  if (!each_option(header.subspan(kIpv4HeaderOctets), [](std::uint8_t) {})) {
    return DatagramFault::options;
  }
  datagram.traffic_class = octets[1];
  datagram.id = get_u16(octets, 4);
  const std::uint16_t flags = get_u16(octets, 6);
  datagram.dont_fragment = (flags & 0x4000) != 0;
  datagram.more_fragments = (flags & 0x2000) != 0;
  datagram.fragment_offset = std::size_t{flags} % 0x2000 * 8;
  datagram.hops = octets[8];
  datagram.protocol = octets[9];
  datagram.source = IpAddress::read(false, octets.subspan(12));
  datagram.destination = IpAddress::read(false, octets.subspan(16));
  if (const auto fault = check_fragment(datagram)) return *fault;
  if (const auto fault = check_addresses(datagram)) return *fault;
  read_transport(datagram, octets);
  return datagram;
}

bool is_extension(std::uint8_t next) {
  return next == 0 || next == 43 || next == 44 || next == 60;
}

/// Reads past the hop-by-hop, routing, fragment and destination headers (RFC 8200, section 4).
std::optional<DatagramFault> read_extensions(Datagram& datagram, ByteSpan octets) {
  std::size_t at = kIpv6HeaderOctets;
  std::uint8_t next = octets[6];
  for (std::size_t count = 0; is_extension(next) && datagram.fragment_offset == 0; ++count) {
    if (count == kExtensionsMax || at + 8 > octets.size()) return DatagramFault::options;
    const bool fragment = next == 44;
    const std::size_t length = fragment ? 8 : (std::size_t{octets[at + 1]} + 1) * 8;
    if (at + length > octets.size()) return DatagramFault::options;
    if (fragment) {
      const std::uint16_t field = get_u16(octets, at + 2);
      datagram.fragment_offset = field & 0xFFF8u;
      datagram.more_fragments = (field & 1) != 0;
      datagram.id = get_u32(octets, at + 4);
    }
    next = octets[at];
    at += length;
  }
  datagram.protocol = next;
  datagram.header_octets = at;
  return std::nullopt;
}

std::variant<Datagram, DatagramFault> parse_v6(ByteSpan octets) {
  if (octets.size() < kIpv6HeaderOctets) return DatagramFault::truncated;
  Datagram datagram;
  datagram.v6 = true;
  datagram.dont_fragment = true;
  datagram.total_octets = kIpv6HeaderOctets + get_u16(octets, 4);
  if (datagram.total_octets > octets.size()) return DatagramFault::truncated;
  octets = octets.first(datagram.total_octets);
  datagram.traffic_class = static_cast<std::uint8_t>(get_u16(octets, 0) >> 4 & 0xFF);
  datagram.hops = octets[7];
  datagram.source = IpAddress::read(true, octets.subspan(8));
  datagram.destination = IpAddress::read(true, octets.subspan(24));
  if (const auto fault = read_extensions(datagram, octets)) return *fault;
  if (const auto fault = check_fragment(datagram)) return *fault;
  if (const auto fault = check_addresses(datagram)) return *fault;
  read_transport(datagram, octets);
  return datagram;
}

}  // namespace

std::variant<Datagram, DatagramFault> parse_datagram(ByteSpan octets) {
  if (octets.empty()) return DatagramFault::truncated;
  switch (octets[0] >> 4) {
    case 4:
      return parse_v4(octets);
    case 6:
      return parse_v6(octets);
    default:
      return DatagramFault::version;
  }
}

std::uint16_t internet_checksum(ByteSpan octets, std::uint32_t start) {
  std::uint64_t sum = start;
  std::size_t at = 0;
  for (; at + 1 < octets.size(); at += 2) sum += get_u16(octets, at);
  if (at < octets.size()) sum += std::uint64_t{octets[at]} << 8;
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

void set_ipv4_checksum(Bytes& datagram, std::size_t header_octets) {
  datagram[10] = datagram[11] = 0;
  const std::uint16_t sum = internet_checksum(ByteSpan(datagram).first(header_octets));
  datagram[10] = static_cast<std::uint8_t>(sum >> 8);
  datagram[11] = static_cast<std::uint8_t>(sum & 0xFF);
}

bool mark_congestion(Bytes& octets, const Datagram& datagram) {
  constexpr std::uint8_t kBothBits = 3;
  const std::uint8_t ecn = datagram.traffic_class & kBothBits;
  if (ecn == 0) return false;
  if (datagram.v6) {
    octets[1] = static_cast<std::uint8_t>(octets[1] | kBothBits << 4);
  } else {
    octets[1] |= kBothBits;
    set_ipv4_checksum(octets, datagram.header_octets);
  }
  return true;
}

FlowKey flow_of(const Datagram& datagram) {
  FlowKey key{.source = datagram.source,
              .destination = datagram.destination,
              .protocol = datagram.protocol};
  if (datagram.is_fragment()) return key;
  key.source_port = datagram.source_port.value_or(0);
  key.destination_port = datagram.destination_port.value_or(0);
  return key;
}

std::string to_string(const FlowKey& flow) {
  const auto end = [&](const IpAddress& address, std::uint16_t port) {
    if (port == 0) return to_string(address);
    const std::string host = address.v6 ? "[" + to_string(address) + "]" : to_string(address);
    return host + ":" + std::to_string(port);
  };
  const auto name = [&]() -> std::string {
    if (flow.protocol == kTcp) return "tcp";
    if (flow.protocol == kUdp) return "udp";
    if (flow.protocol == kIcmp || flow.protocol == kIcmpv6) return "icmp";
    return "protocol " + std::to_string(flow.protocol);
  };
  return name() + " " + end(flow.source, flow.source_port) + " > " +
         end(flow.destination, flow.destination_port);
}

}  // namespace s5066::ip_client
