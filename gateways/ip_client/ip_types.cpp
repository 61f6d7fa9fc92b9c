// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/ip_types.h"

#include "s5066d/base/assert.h"

namespace s5066::ip_client {
namespace {

constexpr std::string_view kDropPrefix = "ip_dropped_";

constexpr CounterTable<Drop> kDropTable({
    {Drop::truncated, "ip_dropped_truncated", "datagrams",
     "shorter than its header or its own length"},
    {Drop::version, "ip_dropped_version", "datagrams",
     "neither IPv4 nor IPv6, or IPv6 from a station without an IPv6 route"},
    {Drop::header_length, "ip_dropped_header_length", "datagrams", "header shorter than 20 octets"},
    {Drop::total_length, "ip_dropped_total_length", "datagrams", "shorter than its own header"},
    {Drop::checksum, "ip_dropped_checksum", "datagrams", "wrong header checksum"},
    {Drop::options, "ip_dropped_options", "datagrams", "options that do not fit into the header"},
    {Drop::fragment, "ip_dropped_fragment", "datagrams",
     "a fragment beyond 65535 octets or of an odd length"},
    {Drop::address, "ip_dropped_address", "datagrams", "an address that is never on a wire"},
    {Drop::hops_spent, "ip_dropped_hops_spent", "datagrams", "TTL or hop limit 0"},
    {Drop::mdns, "ip_dropped_mdns", "datagrams", "multicast DNS"},
    {Drop::ssdp, "ip_dropped_ssdp", "datagrams", "service discovery (SSDP)"},
    {Drop::llmnr, "ip_dropped_llmnr", "datagrams", "link-local name resolution"},
    {Drop::netbios, "ip_dropped_netbios", "datagrams", "NetBIOS"},
    {Drop::ipv6_discovery, "ip_dropped_ipv6_discovery", "datagrams",
     "IPv6 neighbour and multicast discovery"},
    {Drop::igmp, "ip_dropped_igmp", "datagrams", "multicast membership (IGMP)"},
    {Drop::dhcp, "ip_dropped_dhcp", "datagrams", "DHCP"},
    {Drop::rule, "ip_dropped_rule", "datagrams", "a drop rule of the configuration"},
    {Drop::no_route, "ip_dropped_no_route", "datagrams", "no row of the table fits"},
    {Drop::no_node, "ip_dropped_no_node", "datagrams", "no connection to the node"},
    {Drop::too_big, "ip_dropped_too_big", "datagrams",
     "larger than the MTU and not to be fragmented"},
    {Drop::loop, "ip_dropped_loop", "datagrams", "came from the station to which it would go"},
    {Drop::source_refused, "ip_dropped_source_refused", "datagrams",
     "a source that is not behind the sending station"},
    {Drop::station_silent, "ip_dropped_station_silent", "datagrams", "the station does not answer"},
    {Drop::segment_under_way, "ip_dropped_segment_under_way", "datagrams",
     "a TCP segment that the node still sends"},
    {Drop::ipv6_not_offered, "ip_dropped_ipv6_not_offered", "datagrams",
     "IPv6 to a station that has not said that it takes it"},
    {Drop::aged, "ip_dropped_aged", "datagrams", "waited longer than the limit"},
    {Drop::delayed, "ip_dropped_delayed", "datagrams",
     "dropped because its conversation waits too long"},
    {Drop::overflow, "ip_dropped_overflow", "datagrams", "the queue was full"},
    {Drop::ack_superseded, "ip_dropped_ack_superseded", "datagrams",
     "a TCP acknowledgement that a newer one replaced"},
    {Drop::segment_replaced, "ip_dropped_segment_replaced", "datagrams",
     "a TCP segment that its retransmission replaced"},
    {Drop::expired, "ip_dropped_expired", "datagrams", "its time ended at the node"},
    {Drop::not_answered, "ip_dropped_not_answered", "datagrams", "the station did not answer"},
    {Drop::not_bound_there, "ip_dropped_not_bound_there", "datagrams",
     "no IP client at the station"},
    {Drop::refused, "ip_dropped_refused", "datagrams", "the node refused it"},
    {Drop::unresolved, "ip_dropped_unresolved", "datagrams",
     "its end is unknown because the connection to the node was lost"},
});

constexpr CounterTable<IpCounter> kTable({
    {IpCounter::datagrams_sent, "ip_datagrams_sent", "datagrams", "handed to the node"},
    {IpCounter::octets_sent, "ip_octets_sent", "octets", "in these datagrams"},
    {IpCounter::datagrams_confirmed, "ip_datagrams_confirmed", "datagrams",
     "delivered with ARQ, as the node confirmed"},
    {IpCounter::datagrams_received, "ip_datagrams_received", "datagrams",
     "from the air, passed to the interface"},
    {IpCounter::octets_received, "ip_octets_received", "octets", "in these datagrams"},
    {IpCounter::fragments_made, "ip_fragments_made", "datagrams",
     "pieces of datagrams above the MTU"},
    {IpCounter::congestion_marked, "ip_congestion_marked", "datagrams",
     "marked instead of dropped (ECN)"},
    {IpCounter::icmp_sent, "ip_icmp_sent", "datagrams", "ICMP errors to hosts on our side"},
    {IpCounter::icmp_limited, "ip_icmp_limited", "datagrams",
     "ICMP errors that were not sent because of their rate"},
    {IpCounter::interface_refused, "ip_interface_refused", "datagrams",
     "that the interface did not take because it was down or full"},
});

}  // namespace

const CounterTable<Drop>& counter_table(Drop) {
  return kDropTable;
}

const CounterTable<IpCounter>& counter_table(IpCounter) {
  return kTable;
}

std::string_view reason_of(Drop drop) {
  S5066_ASSERT(drop < Drop::count);
  return (kDropTable.begin() + static_cast<std::ptrdiff_t>(drop))->name.substr(kDropPrefix.size());
}

std::string_view to_string(IpEvent::Kind kind) {
  // Names of log events; a test looks for each in docs/operate/log_events.md.
  static constexpr std::string_view kNames[] = {
      "bound", "lost", "mtu_too_small", "datagrams_dropped", "station_silent", "station_answering"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace s5066::ip_client
