// SPDX-License-Identifier: Apache-2.0
// ICMP and ICMPv6 errors (RFC 792, RFC 1191, RFC 1812, RFC 4443), and the rules for when an error
// may be sent (RFC 1122, section 3.2.2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gateways/ip_client/datagram.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

enum class IcmpError : std::uint8_t {
  no_route,              // 3/0
  host_unreachable,      // 3/1
  protocol_unreachable,  // 3/2
  too_big,               // 3/4, and "packet too big" of ICMPv6
  prohibited,            // 3/13
};

/// Limit for the octets of a datagram that an error quotes, because an ICMP error has at most 576
/// octets.
inline constexpr std::size_t kIcmpQuoteOctetsMax = 548;

/// Returns true if an error about the datagram may be sent. No error is sent about a later
/// fragment, an ICMP error, a multicast or broadcast datagram, or a datagram whose source is not
/// one host.
bool may_report(const Datagram& datagram);

struct IcmpReport {
  IcmpError error = IcmpError::no_route;
  std::size_t mtu = 0;  // MTU of the next hop, for too_big only
  IpAddress from;       // has the same IP version as the datagram
};
/// Returns the error about the datagram, whose octets may be cut after its headers.
Bytes icmp_error(const IcmpReport& report, ByteSpan octets, const Datagram& datagram);

/// Limits a rate. It allows `burst` events at once, then one event in each `interval`.
class RateLimit {
 public:
  RateLimit(std::uint32_t burst, Duration interval) : burst_(burst), interval_(interval) {}
  bool take(Instant now);

 private:
  std::uint32_t burst_;
  Duration interval_;
  Instant empty_at_{};  // time at which the whole burst is available again
};

}  // namespace s5066::ip_client
