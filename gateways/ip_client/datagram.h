// SPDX-License-Identifier: Apache-2.0
// The headers of an IP datagram as values (RFC 791, RFC 8200, RFC 9293). Each octet is checked
// against the length of the input before it is read.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/bytes.h"

namespace s5066::ip_client {

inline constexpr std::size_t kIpv4HeaderOctets = 20;
inline constexpr std::size_t kIpv6HeaderOctets = 40;
inline constexpr std::uint8_t kIcmp = 1;
inline constexpr std::uint8_t kIgmp = 2;
inline constexpr std::uint8_t kTcp = 6;
inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint8_t kIpv6InIpv4 = 41;
inline constexpr std::uint8_t kIcmpv6 = 58;

struct TcpSegment {
  static constexpr std::uint8_t kFin = 0x01;
  static constexpr std::uint8_t kSyn = 0x02;
  static constexpr std::uint8_t kAck = 0x10;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::uint16_t window = 0;
  std::uint8_t flags = 0;
  std::uint32_t data_octets = 0;
  bool plain_options = true;  // true if all options are timestamps or padding

  /// Returns the octets of sequence space that the segment takes.
  std::uint32_t sequence_octets() const {
    return data_octets + ((flags & kSyn) != 0 ? 1 : 0) + ((flags & kFin) != 0 ? 1 : 0);
  }
  /// True if the segment only acknowledges data.
  bool is_pure_ack() const { return data_octets == 0 && flags == kAck && plain_options; }
};

/// One valid datagram. All offsets count from its first octet.
struct Datagram {
  bool v6 = false;
  std::uint8_t traffic_class = 0;  // TOS octet of IPv4
  std::uint8_t hops = 0;           // TTL of IPv4
  std::uint8_t protocol = 0;       // for IPv6, the protocol after the extension headers
  bool dont_fragment = false;      // always true for IPv6
  bool more_fragments = false;
  std::uint32_t id = 0;
  std::size_t fragment_offset = 0;  // octets
  std::size_t header_octets = 0;    // includes options or extension headers
  std::size_t total_octets = 0;
  IpAddress source;
  IpAddress destination;
  // These fields are present only if the payload starts with the header of its protocol.
  std::optional<std::uint16_t> source_port;
  std::optional<std::uint16_t> destination_port;
  std::optional<std::uint8_t> icmp_type;  // of ICMP or ICMPv6
  std::optional<TcpSegment> tcp;

  bool is_fragment() const { return more_fragments || fragment_offset > 0; }
  bool to_many() const { return destination.is_multicast() || destination.is_broadcast(); }
};

enum class DatagramFault : std::uint8_t {
  truncated,      // shorter than its header or than the length that it states
  version,        // neither 4 nor 6
  header_length,  // IPv4: shorter than 20 octets
  total_length,   // shorter than its own header
  checksum,       // IPv4
  options,        // an option that does not fit into the header
  fragment,       // ends after 65535 octets, or is not a multiple of 8 octets
  address,        // a source or destination that may not be sent on a network
};

std::variant<Datagram, DatagramFault> parse_datagram(ByteSpan octets);

/// Returns the checksum of RFC 1071 over the octets. The result is 0 for a header that contains its
/// correct checksum.
std::uint16_t internet_checksum(ByteSpan octets, std::uint32_t start = 0);

/// Writes the checksum into the IPv4 header at the start of the datagram. The header has
/// `header_octets` octets.
void set_ipv4_checksum(Bytes& datagram, std::size_t header_octets);

/// Sets "congestion experienced" (RFC 3168). Returns false and changes nothing if the sender does
/// not support ECN.
bool mark_congestion(Bytes& octets, const Datagram& datagram);

/// Identifies one conversation. All fragments of a protocol from one host to another are one
/// conversation, because only the first fragment of a datagram carries ports.
struct FlowKey {
  IpAddress source;
  IpAddress destination;
  std::uint8_t protocol = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
};
FlowKey flow_of(const Datagram& datagram);
std::string to_string(const FlowKey& flow);

}  // namespace s5066::ip_client
