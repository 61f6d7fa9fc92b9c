// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/ip_report.h"

namespace s5066::ip_client {
namespace {

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

std::uint32_t small_number(std::size_t value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace

proto::IpStatus ip_status(const IpClientCore& core) {
  proto::IpStatus status;
  status.set_bound(core.bound());
  status.set_flow_on(core.flow_on());
  status.set_mtu_octets(small_number(core.mtu()));
  status.set_waiting(small_number(core.queue().packets()));
  status.set_with_node(small_number(core.outstanding()));
  for (const Direction direction : {Direction::to_air, Direction::from_air}) {
    for (const CounterInfo<Drop>& info : counter_table(Drop{})) {
      const std::uint64_t count = core.drops(direction, info.counter);
      if (count == 0) continue;
      proto::IpDrop& drop = *status.add_dropped();
      drop.set_direction(direction == Direction::to_air ? "to_air" : "from_air");
      drop.set_reason(std::string(reason_of(info.counter)));
      drop.set_datagrams(number(count));
      drop.set_meaning(std::string(info.help));
    }
  }
  return status;
}

proto::IpProxy ip_proxy(const TcpProxy& proxy) {
  proto::IpProxy answer;
  answer.set_socks_open(proxy.socks_open());
  answer.set_interception(proxy.transparent_state());
  answer.set_connections(small_number(proxy.connections()));
  for (const auto& from : proxy.core().peers(proxy.now())) {
    proto::IpProxyStation& station = *answer.add_stations();
    station.set_station(to_string(from.station));
    station.set_proxy(from.capability == streams::Capability::capable     ? "capable"
                      : from.capability == streams::Capability::incapable ? "incapable"
                                                                          : "unknown");
    station.set_silent(from.silent);
    station.set_streams(small_number(from.streams));
    station.set_with_node(small_number(from.with_node));
    station.set_rate_bps(from.rate_bps);
  }
  return answer;
}

void add_streams(const TcpProxy& proxy, proto::IpFlows& flows) {
  for (const streams::StreamState& from : proxy.core().streams(proxy.now())) {
    proto::IpStream& stream = *flows.add_streams();
    stream.set_station(to_string(from.station));
    stream.set_server(from.target.host + ":" + std::to_string(from.target.port));
    stream.set_opened_here(from.ours);
    stream.set_interactive(from.interactive);
    stream.set_compressed(from.compressed);
    stream.set_octets_sent(number(from.octets_sent));
    stream.set_octets_received(number(from.octets_received));
    stream.set_waiting_octets(number(from.waiting));
    stream.set_with_node_octets(number(from.with_node));
    stream.set_age_s(to_seconds(from.age));
  }
}

proto::IpTable ip_table(const RouteTable& table) {
  proto::IpTable answer;
  for (const Route& route : table.routes()) {
    proto::IpTableRow& row = *answer.add_routes();
    row.set_prefix(to_string(route.prefix));
    row.set_station(to_string(route.station));
    if (route.arq) row.set_arq(*route.arq);
    if (route.priority_max) row.set_priority_max(*route.priority_max);
    if (route.mtu) row.set_mtu_octets(*route.mtu);
    if (route.repeats) row.set_repeats(*route.repeats);
  }
  return answer;
}

proto::IpFlows ip_flows(const IpClientCore& core, Instant now) {
  proto::IpFlows answer;
  for (const FlowCount& from : core.flows(now)) {
    proto::IpFlow& flow = *answer.add_flows();
    flow.set_flow(to_string(from.flow));
    flow.set_datagrams_sent(number(from.datagrams_sent));
    flow.set_octets_sent(number(from.octets_sent));
    flow.set_datagrams_received(number(from.datagrams_received));
    flow.set_octets_received(number(from.octets_received));
    flow.set_waiting(small_number(from.waiting));
    flow.set_waited_s(to_seconds(from.waited_mean));
    flow.set_last_seen_s(to_seconds(from.last_seen));
  }
  return answer;
}

proto::IpQueue ip_queue(const IpClientCore& core, Instant now) {
  proto::IpQueue answer;
  for (const StationState& from : core.stations(now)) {
    proto::IpStation& station = *answer.add_stations();
    station.set_station(to_string(from.station));
    station.set_waiting(small_number(from.waiting));
    station.set_waiting_octets(number(from.waiting_octets));
    station.set_oldest_s(to_seconds(from.oldest));
    station.set_with_node(small_number(from.with_node));
    station.set_window_octets(number(from.window_octets));
    station.set_rate_bps(from.rate_bps);
    if (from.turnaround) station.set_turnaround_s(to_seconds(*from.turnaround));
    station.set_silent(from.silent);
    if (from.silent) station.set_tried_again_in_s(to_seconds(from.tried_again_in));
  }
  return answer;
}

}  // namespace s5066::ip_client
