// SPDX-License-Identifier: Apache-2.0
// Settings and counters of the DNS service that uses the resolver of the far end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gateways/ip_client/ip_address.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

struct DnsConfig {
  std::string address;  // address of the stub for this host; empty if there is no stub
  std::uint16_t port = 1053;
  Duration timeout = std::chrono::minutes(5);  // time for one question
  /// The stub closes a TCP client without open questions after this time without a question and
  /// without an answer taken.
  Duration connection_idle = std::chrono::seconds(10);
  // Settings for questions of far ends.
  bool answer = false;                // true if the resolver of this host answers them
  std::optional<IpAddress> resolver;  // replaces the resolvers in /etc/resolv.conf
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
