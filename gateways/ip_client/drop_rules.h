// SPDX-License-Identifier: Apache-2.0
// Rules for datagrams that are not sent on the air (F.12.8). They cover management datagrams that
// hosts send on every interface by themselves, here called chatter. The operator can add rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "gateways/ip_client/datagram.h"
#include "gateways/ip_client/ip_address.h"

namespace s5066::ip_client {

enum class Chatter : std::uint8_t {
  mdns,
  ssdp,
  llmnr,
  netbios,
  ipv6_discovery,  // router solicitation and advertisement, neighbour discovery, MLD
  igmp,
  dhcp,
  count
};
std::string_view to_string(Chatter chatter);
inline constexpr std::size_t kChatterKinds = static_cast<std::size_t>(Chatter::count);

/// Drops a datagram if all fields that are given fit it.
struct DropRule {
  std::optional<std::uint8_t> protocol;
  std::optional<std::uint16_t> port;  // source or destination port
  std::optional<IpPrefix> source;
  std::optional<IpPrefix> destination;
};

struct DropConfig {
  static constexpr std::size_t kRulesMax = 1000;
  std::set<Chatter> carried;  // kinds that are sent in spite of the rules
  std::vector<DropRule> rules;
};

/// Returns the kind of chatter, or nothing if the datagram is not chatter. `octets` is the whole
/// datagram. If an IPv4 datagram carries an IPv6 datagram, the IPv6 datagram decides.
std::optional<Chatter> chatter_of(const Datagram& datagram, ByteSpan octets);

bool fits(const DropRule& rule, const Datagram& datagram);

}  // namespace s5066::ip_client
