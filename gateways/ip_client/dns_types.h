// SPDX-License-Identifier: Apache-2.0
// Settings and counters of DNS by the far end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

struct DnsConfig {
  std::string address;  // of the stub, which answers this host; empty: no stub
  std::uint16_t port = 1053;
  Duration timeout = std::chrono::minutes(5);  // of one question
  /// A TCP client without open questions is closed when it neither asks nor takes answers so long.
  Duration connection_idle = std::chrono::seconds(10);
  // For far ends.
  bool answer = false;                // their questions go to the resolver of this host
  std::optional<IpAddress> resolver;  // instead of those in /etc/resolv.conf
  std::uint16_t resolver_port = 53;
};

enum class DnsCounter : std::uint8_t {
  questions,
  questions_refused,
  refused_limit,
  from_cache,
  asked,
  answered,
  answers_refused,
  failed,
  cached,  // gauge
  count
};
const CounterTable<DnsCounter>& counter_table(DnsCounter);

}  // namespace s5066::ip_client
