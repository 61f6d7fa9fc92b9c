// SPDX-License-Identifier: Apache-2.0
// The table of the IP client (F.12.3.1, F.12.7). It assigns a station or group to each prefix. The
// longest prefix wins. A prefix of 0 bits is the default route.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"

namespace s5066::ip_client {

struct Route {
  IpPrefix prefix;
  Address station;          // the next hop; a group address for multicast
  std::optional<bool> arq;  // replaces the delivery mode of the class of service
  std::optional<std::uint8_t> priority_max;
  std::optional<std::uint16_t> mtu;
  std::optional<std::uint8_t> repeats;  // without ARQ, a U_PDU is sent 1 + this many times
  friend bool operator==(const Route&, const Route&) = default;
};

/// Returns an error if a value of the route is out of range, or if the route contradicts itself.
/// ARQ to a group is a contradiction. A group with a unicast prefix is a contradiction, too, unless
/// the prefix is one address.
Result<void> check_route(const Route& route);

class RouteTable {
 public:
  static constexpr std::size_t kRoutesMax = 10000;

  RouteTable() = default;
  /// Returns an error for the first route that is not valid or whose prefix is already in the
  /// table.
  static Result<RouteTable> make(std::vector<Route> routes);

  const Route* find(const IpAddress& destination) const;
  /// Returns prefixes that together hold exactly the addresses whose route by longest prefix is
  /// wanted. If a wanted prefix has an unwanted longer one inside, the rest of the wanted prefix is
  /// returned as several prefixes.
  std::vector<IpPrefix> prefixes_where(const std::function<bool(const Route&)>& wanted) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::map<IpPrefix, std::size_t> by_prefix_;
  std::set<std::uint8_t, std::greater<>> lengths_;  // lengths of prefixes in the table
};

}  // namespace s5066::ip_client
