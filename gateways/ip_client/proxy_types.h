// SPDX-License-Identifier: Apache-2.0
// Settings and counters of the TCP proxy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateways/ip_client/dns_types.h"
#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/ids.h"

namespace s5066::ip_client {

/// Servers that a far end may connect to.
struct ProxyAllow {
  IpPrefix prefix;
  std::optional<std::uint16_t> port;
};

struct ProxyConfig {
  bool enabled = true;
  std::string socks_address = "127.0.0.1";
  std::uint16_t socks_port = 1080;  // 0 if there is no SOCKS5
  bool transparent = false;
  Duration rules_retry = std::chrono::minutes(1);  // wait after nft failed
  std::vector<ProxyAllow> allow;        // servers that a far end may connect to, and no others
  std::optional<Address> name_station;  // station that resolves names for SOCKS5 and the DNS stub
  DnsConfig dns;
  bool compress = true;
  std::uint32_t streams_max = 512;
  Duration connect_time = std::chrono::minutes(1);  // limit for all addresses of a server
  std::uint8_t priority = 4;
  std::uint8_t interactive_priority = 6;
};

enum class ProxyCounter : std::uint8_t {
  socks_accepted,
  intercepted,
  refused_limit,
  socks_errors,
  no_station,
  connected,
  connect_failed,
  not_allowed,
  dns_served,
  dns_refused,
  connections,
  count
};
const CounterTable<ProxyCounter>& counter_table(ProxyCounter);

}  // namespace s5066::ip_client
