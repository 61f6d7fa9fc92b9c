// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/route_table.h"

#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "gateways/ip_client/fragment.h"

namespace s5066::ip_client {
namespace {

constexpr std::uint16_t kIpv6MtuMin = 1280;  // RFC 8200, section 5

Error bad(const Route& route, const std::string& what) {
  return Error{ErrorCode::bad_field, to_string(route.prefix) + ": " + what};
}

/// Appends the prefixes that cover `prefix` without the holes inside it. The holes must be sorted.
void cut(const IpPrefix& prefix, std::span<const IpPrefix> holes, std::vector<IpPrefix>& out) {
  if (holes.empty()) {
    out.push_back(prefix);
    return;
  }
  if (holes.front().bits <= prefix.bits) return;
  IpPrefix lower{prefix.address, static_cast<std::uint8_t>(prefix.bits + 1)};
  IpPrefix upper = lower;
  upper.address.octets[prefix.bits / 8] |= static_cast<std::uint8_t>(0x80 >> prefix.bits % 8);
  std::size_t of_lower = 0;
  while (of_lower < holes.size() && lower.contains(holes[of_lower].address)) ++of_lower;
  cut(lower, holes.first(of_lower), out);
  cut(upper, holes.subspan(of_lower), out);
}

}  // namespace

Result<void> check_route(const Route& route) {
  const IpPrefix& prefix = route.prefix;
  if (prefix.bits > 8 * prefix.address.size()) return bad(route, "has more bits than an address");
  if (masked(prefix.address, prefix.bits) != prefix.address) {
    return bad(route, "has bits behind its prefix");
  }
  const bool to_many = prefix.address.is_multicast() || prefix.address.is_broadcast();
  if (route.station.group && !to_many && prefix.bits != 8 * prefix.address.size()) {
    return bad(route, "a group carries multicast and broadcast addresses only");
  }
  if (route.station.group && route.arq.value_or(false)) return bad(route, "ARQ needs one station");
  if (route.priority_max.value_or(0) > 15) return bad(route, "priority_max is 0 to 15");
  if (route.repeats.value_or(0) > 15) return bad(route, "repeats is 0 to 15");
  const std::size_t mtu_min = prefix.address.v6 ? kIpv6MtuMin : kIpv4MtuMin;
  if (route.mtu && (*route.mtu < mtu_min || *route.mtu > 2048)) {
    return bad(route, "mtu is " + std::to_string(mtu_min) + " to 2048");
  }
  return {};
}

Result<RouteTable> RouteTable::make(std::vector<Route> routes) {
  if (routes.size() > kRoutesMax) return Error{ErrorCode::too_large, "too many routes"};
  RouteTable table;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (auto checked = check_route(routes[i]); !checked) return checked.error();
    if (!table.by_prefix_.emplace(routes[i].prefix, i).second) {
      return bad(routes[i], "is there twice");
    }
    table.lengths_.insert(routes[i].prefix.bits);
  }
  table.routes_ = std::move(routes);
  return table;
}

const Route* RouteTable::find(const IpAddress& destination) const {
  for (const std::uint8_t bits : lengths_) {
    if (bits > 8 * destination.size()) continue;
    const auto found = by_prefix_.find(IpPrefix{masked(destination, bits), bits});
    if (found != by_prefix_.end()) return &routes_[found->second];
  }
  return nullptr;
}

std::vector<IpPrefix> RouteTable::prefixes_where(
    const std::function<bool(const Route&)>& wanted) const {
  std::vector<bool> is_wanted;
  is_wanted.reserve(routes_.size());
  for (const Route& route : routes_) is_wanted.push_back(wanted(route));
  std::vector<IpPrefix> found;
  // The map sorts longer prefixes inside a prefix right after it.
  for (auto outer = by_prefix_.begin(); outer != by_prefix_.end(); ++outer) {
    if (!is_wanted[outer->second]) continue;
    std::vector<IpPrefix> holes;
    for (auto inner = std::next(outer); inner != by_prefix_.end(); ++inner) {
      if (!outer->first.contains(inner->first.address)) break;
      if (!is_wanted[inner->second]) holes.push_back(inner->first);
    }
    cut(outer->first, holes, found);
  }
  return found;
}

}  // namespace s5066::ip_client
