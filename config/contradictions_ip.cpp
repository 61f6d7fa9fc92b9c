// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "config/contradictions.h"

namespace s5066::config {
namespace {

/// Names that the kernel takes for an interface, of characters that are plain text in any rule.
bool is_interface_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) == 0 && c != '.' && c != '_' && c != '-';
         });
}

void check_interface(const Section& interface, const ip_client::IpConfig& setup) {
  if (!is_interface_name(setup.interface)) {
    interface.complain("name", "is no name of an interface; it has 1 to 15 letters and digits");
  }
  for (std::size_t i = 0; i < setup.addresses.size(); ++i) {
    const ip_client::IpPrefix& address = setup.addresses[i];
    if (address.address.is_one_host() && address.bits <= 8 * address.address.size()) continue;
    interface.complain("addresses", "must be the address of one host, such as 10.1.0.1/24",
                       static_cast<int>(i));
  }
}

void check_routes(const Section& client, const ip_client::IpConfig& setup) {
  std::set<ip_client::IpPrefix> prefixes;
  for (std::size_t i = 0; i < setup.routes.size(); ++i) {
    const Section row = client.nested("routes", static_cast<int>(i));
    if (row.has("station") == row.has("group")) {
      row.complain_of_section("routes: needs either station or group");
      continue;
    }
    if (auto checked = check_route(setup.routes[i]); !checked) {
      row.complain("prefix", checked.error().detail);
    } else if (!prefixes.insert(setup.routes[i].prefix).second) {
      row.complain("prefix", "is given twice; each needs its own");
    }
  }
}

/// Interception of such a row takes connections that belong to this host or to other networks.
bool is_too_wide(const ip_client::IpPrefix& prefix) {
  if (prefix.bits == 0) return true;
  const ip_client::IpPrefix loopback{ip_client::IpAddress::v4(0x7F000000), 8};
  return prefix.contains(loopback.address) || loopback.contains(prefix.address);
}

/// Returns true for 0.0.0.0, :: and ::ffff:0.0.0.0, which stand for all addresses of the host.
bool is_wildcard(const std::string& text) {
  ip_client::IpAddress address{.v6 = text.find(':') != std::string::npos};
  const int family = address.v6 ? AF_INET6 : AF_INET;
  if (inet_pton(family, text.c_str(), address.octets.data()) != 1) return false;
  const auto& octets = address.octets;
  if (address.v6 && octets[10] == 0xFF && octets[11] == 0xFF) {
    return std::count(octets.begin(), octets.end(), 0) == 14;
  }
  return address.is_unspecified();
}

void check_proxy(const Section& proxy, const ip_client::IpConfig& setup) {
  if (setup.proxy.interactive_priority < setup.proxy.priority) {
    proxy.complain("interactive_priority", "must not be below priority");
  }
  if (setup.proxy.enabled && setup.proxy.transparent &&
      std::any_of(setup.routes.begin(), setup.routes.end(),
                  [](const ip_client::Route& route) { return is_too_wide(route.prefix); })) {
    proxy.complain("transparent", "cannot go with a default route or with one to 127.0.0.0/8");
  }
  if (setup.proxy.name_station &&
      std::none_of(setup.routes.begin(), setup.routes.end(), [&](const ip_client::Route& route) {
        return route.station == *setup.proxy.name_station;
      })) {
    proxy.complain("name_station", "is not in the table");
  }
  if (proxy.has("dns") && !setup.proxy.enabled) {
    proxy.complain("dns", "needs enabled: true");
  }
  const ip_client::DnsConfig& dns = setup.proxy.dns;
  // The answer to a host must come from the address that it has asked.
  if (is_wildcard(dns.address)) {
    proxy.nested("dns").complain("address", "must be one address of this host");
  }
  if (dns.resolver && !dns.answer) {
    proxy.nested("dns").complain("resolver", "is of no use without answer: true");
  }
}

}  // namespace

void find_contradictions(const Section& client, const ip_client::IpConfig& setup) {
  check_sis_server(client.nested("sis"));
  check_interface(client.nested("interface"), setup);
  check_routes(client, setup);
  check_proxy(client.nested("tcp_proxy"), setup);
  if (client.has("icmp_from") && setup.icmp_from_v4->v6) {
    client.complain("icmp_from", "must be an IPv4 address");
  }
  if (client.has("icmp_from_ipv6") && !setup.icmp_from_v6->v6) {
    client.complain("icmp_from_ipv6", "must be an IPv6 address");
  }
  if (setup.routes.empty()) client.warn("routes", "has no row, so nothing can be sent");
  if (setup.default_route && !setup.kernel_routes) {
    client.nested("interface").complain("default_route", "needs kernel_routes: true");
  }
}

}  // namespace s5066::config
