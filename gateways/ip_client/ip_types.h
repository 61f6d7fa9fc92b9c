// SPDX-License-Identifier: Apache-2.0
// Values that the IP client reports to its shell and to operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateways/ip_client/datagram.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::ip_client {

/// Reasons why a datagram is not passed on.
enum class Drop : std::uint8_t {
  truncated,  // the first eight have the order of DatagramFault
  version,
  header_length,
  total_length,
  checksum,
  options,
  fragment,
  address,
  hops_spent,
  mdns,  // the next seven have the order of Chatter
  ssdp,
  llmnr,
  netbios,
  ipv6_discovery,
  igmp,
  dhcp,
  rule,
  no_route,
  no_node,
  too_big,
  loop,
  source_refused,
  station_silent,
  segment_under_way,
  ipv6_not_offered,
  aged,
  delayed,
  overflow,
  ack_superseded,
  segment_replaced,
  expired,
  not_answered,
  not_bound_there,
  refused,
  unresolved,
  count
};
inline constexpr std::size_t kDrops = static_cast<std::size_t>(Drop::count);

const CounterTable<Drop>& counter_table(Drop);
/// Returns the name of the reason for operators, such as "no_route".
std::string_view reason_of(Drop drop);

enum class Direction : std::uint8_t { to_air, from_air };

struct IpEvent {
  enum class Kind : std::uint8_t {
    bound,
    lost,
    mtu_too_small,
    datagrams_dropped,
    station_silent,
    station_answering,
  };
  Kind kind{};
  Address station{};
  std::string detail;
};
std::string_view to_string(IpEvent::Kind kind);

enum class IpCounter : std::uint8_t {
  datagrams_sent,  // handed to the node
  octets_sent,
  datagrams_confirmed,
  datagrams_received,  // passed to the interface
  octets_received,
  fragments_made,
  congestion_marked,
  icmp_sent,
  icmp_limited,  // not sent because of the rate limit
  interface_refused,
  count
};
const CounterTable<IpCounter>& counter_table(IpCounter);

/// State of one station or group of the table.
struct StationState {
  Address station;
  bool silent = false;
  Duration tried_again_in{};  // while silent
  std::optional<Duration> turnaround;
  double rate_bps = 0;            // 0 until a rate is measured
  std::size_t with_node = 0;      // U_PDUs that are not confirmed
  std::size_t window_octets = 0;  // octets that may be with the node
  std::size_t waiting = 0;        // datagrams
  std::size_t waiting_octets = 0;
  Duration oldest{};
};

/// Traffic of one conversation.
struct FlowCount {
  FlowKey flow;
  std::uint64_t datagrams_sent = 0;
  std::uint64_t octets_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t octets_received = 0;
  std::size_t waiting = 0;
  Duration waited_mean{};  // from the interface to the node
  Duration last_seen{};    // before now
};

}  // namespace s5066::ip_client
