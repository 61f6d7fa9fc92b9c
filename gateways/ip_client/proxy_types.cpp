// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/proxy_types.h"

namespace s5066::ip_client {
namespace {

constexpr CounterTable<ProxyCounter> kTable({
    {ProxyCounter::socks_accepted, "proxy_socks_accepted", "connections",
     "connections of SOCKS5 clients"},
    {ProxyCounter::intercepted, "proxy_intercepted", "connections",
     "connections that were intercepted on their way to a station"},
    {ProxyCounter::refused_limit, "proxy_refused_limit", "connections",
     "connections closed at once because there are too many"},
    {ProxyCounter::socks_errors, "proxy_socks_errors", "connections",
     "connections that ended before a valid SOCKS5 request"},
    {ProxyCounter::no_station, "proxy_no_station", "connections",
     "connections closed because no station of the table with a proxy has the server"},
    {ProxyCounter::connected, "proxy_connected", "connections",
     "connections made to servers for a far end"},
    {ProxyCounter::connect_failed, "proxy_connect_failed", "connections",
     "servers that a far end wanted and that did not answer"},
    {ProxyCounter::not_allowed, "proxy_not_allowed", "connections",
     "servers that a far end wanted and that proxy.allow does not have"},
    {ProxyCounter::dns_served, "proxy_dns_served", "connections",
     "connections made to our resolver for a far end"},
    {ProxyCounter::dns_refused, "proxy_dns_refused", "connections",
     "connections to our resolver that a far end filled with other octets than DNS questions"},
    {ProxyCounter::connections, "proxy_connections", "connections", "TCP connections now",
     CounterKind::gauge},
});

}  // namespace

const CounterTable<ProxyCounter>& counter_table(ProxyCounter) {
  return kTable;
}

}  // namespace s5066::ip_client
