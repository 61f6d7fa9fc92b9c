// SPDX-License-Identifier: Apache-2.0
// Datagrams that are not worth their time on the air (F.12.8): the chatter that hosts send on every
// interface by themselves, and the operator's own rules.
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

/// Drops what all given fields fit.
struct DropRule {
  std::optional<std::uint8_t> protocol;
  std::optional<std::uint16_t> port;  // of source or destination
  std::optional<IpPrefix> source;
  std::optional<IpPrefix> destination;
};

struct DropConfig {
  static constexpr std::size_t kRulesMax = 1000;
  std::set<Chatter> carried;  // kinds that are sent all the same
  std::vector<DropRule> rules;
};

/// Returns the kind of chatter, if the datagram is of one. `octets` is the whole datagram; IPv6 in
/// IPv4 is judged by what is inside.
std::optional<Chatter> chatter_of(const Datagram& datagram, ByteSpan octets);

bool fits(const DropRule& rule, const Datagram& datagram);

}  // namespace s5066::ip_client
