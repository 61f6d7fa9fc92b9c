// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>

#include <charconv>
#include <string>

#include "config/translate.h"

namespace s5066::config {
namespace {

using ip_client::IpAddress;
using ip_client::IpPrefix;
using proto::IpClient;

IpAddress address_of(const std::string& text) {
  IpAddress address{.v6 = text.find(':') != std::string::npos};
  inet_pton(address.v6 ? AF_INET6 : AF_INET, text.c_str(), address.octets.data());
  return address;
}

/// Reads an address with or without the length of a prefix.
IpPrefix prefix_of(const std::string& text) {
  const auto slash = text.find('/');
  IpPrefix prefix{.address = address_of(text.substr(0, slash))};
  prefix.bits = prefix.address.v6 ? 128 : 32;
  if (slash != std::string::npos) {
    std::from_chars(text.data() + slash + 1, text.data() + text.size(), prefix.bits);
  }
  return prefix;
}

ip_client::Chatter chatter_of(IpClient::Chatter kind) {
  switch (kind) {
    case IpClient::MDNS:
      return ip_client::Chatter::mdns;
    case IpClient::SSDP:
      return ip_client::Chatter::ssdp;
    case IpClient::LLMNR:
      return ip_client::Chatter::llmnr;
    case IpClient::NETBIOS:
      return ip_client::Chatter::netbios;
    case IpClient::IPV6_DISCOVERY:
      return ip_client::Chatter::ipv6_discovery;
    case IpClient::IGMP:
      return ip_client::Chatter::igmp;
    case IpClient::DHCP:
      return ip_client::Chatter::dhcp;
  }
  return ip_client::Chatter::mdns;
}

ip_client::Route route_of(const proto::IpRoute& from) {
  ip_client::Route to;
  to.prefix = prefix_of(from.prefix());
  const auto station = parse_address(from.has_group() ? from.group() : from.station());
  if (station) to.station = *station;
  if (from.has_arq()) to.arq = from.arq();
  if (from.has_priority_max()) to.priority_max = static_cast<std::uint8_t>(from.priority_max());
  if (from.has_mtu()) to.mtu = static_cast<std::uint16_t>(from.mtu());
  if (from.has_repeats()) to.repeats = static_cast<std::uint8_t>(from.repeats());
  return to;
}

void translate_qos(const proto::IpQos& from, ip_client::QosConfig& to) {
  if (from.has_mode()) {
    to.mode = from.mode() == proto::IpQos::OFF        ? ip_client::QosMode::off
              : from.mode() == proto::IpQos::DIFFSERV ? ip_client::QosMode::diffserv
                                                      : ip_client::QosMode::tos;
  }
  for (const proto::DscpClass& one : from.classes()) {
    auto& of_dscp = to.by_dscp[one.dscp() % to.by_dscp.size()];
    of_dscp.priority = static_cast<std::uint8_t>(one.priority());
    of_dscp.arq = one.has_arq() ? std::optional(one.arq()) : std::nullopt;
  }
  if (from.has_group_repeats()) to.repeats = static_cast<std::uint8_t>(from.group_repeats());
}

ip_client::DropRule drop_rule_of(const proto::IpDropRule& from) {
  ip_client::DropRule to;
  if (from.has_protocol()) to.protocol = static_cast<std::uint8_t>(from.protocol());
  if (from.has_port()) to.port = static_cast<std::uint16_t>(from.port());
  if (from.has_source()) to.source = prefix_of(from.source());
  if (from.has_destination()) to.destination = prefix_of(from.destination());
  return to;
}

void translate_interface(const proto::IpInterface& from, ip_client::IpConfig& to) {
  if (from.has_name()) to.interface = from.name();
  for (const std::string& address : from.addresses()) to.addresses.push_back(prefix_of(address));
  if (from.has_mtu()) to.mtu = static_cast<std::uint16_t>(from.mtu());
  if (from.has_kernel_routes()) to.kernel_routes = from.kernel_routes();
  if (from.has_default_route()) to.default_route = from.default_route();
}

void translate_dns(const proto::ProxyDns& from, ip_client::DnsConfig& to) {
  to.address = from.address();
  if (from.has_port()) to.port = static_cast<std::uint16_t>(from.port());
  if (from.has_timeout_s()) to.timeout = std::chrono::seconds(from.timeout_s());
  to.answer = from.answer();
  if (from.has_resolver()) to.resolver = address_of(from.resolver());
  if (from.has_resolver_port()) {
    to.resolver_port = static_cast<std::uint16_t>(from.resolver_port());
  }
}

void translate_proxy(const proto::TcpProxy& from, ip_client::ProxyConfig& to) {
  if (from.has_enabled()) to.enabled = from.enabled();
  if (from.has_socks_address()) to.socks_address = from.socks_address();
  if (from.has_socks_port()) to.socks_port = static_cast<std::uint16_t>(from.socks_port());
  if (from.has_transparent()) to.transparent = from.transparent();
  for (const proto::ProxyServers& one : from.allow()) {
    auto& rule = to.allow.emplace_back();
    rule.prefix = prefix_of(one.prefix());
    if (one.has_port()) rule.port = static_cast<std::uint16_t>(one.port());
  }
  if (from.has_name_station()) {
    if (const auto station = parse_address(from.name_station())) to.name_station = *station;
  }
  if (from.has_compress()) to.compress = from.compress();
  if (from.has_streams_max()) to.streams_max = from.streams_max();
  if (from.has_priority()) to.priority = static_cast<std::uint8_t>(from.priority());
  if (from.has_interactive_priority()) {
    to.interactive_priority = static_cast<std::uint8_t>(from.interactive_priority());
  }
  translate_dns(from.dns(), to.dns);
}

}  // namespace

ip_client::IpConfig translate(const proto::IpClient& from) {
  ip_client::IpConfig to;
  to.sis_host = sis_host_of(from.sis(), to.sis_host);
  if (from.sis().has_port()) to.sis_port = static_cast<std::uint16_t>(from.sis().port());
  if (from.sis().has_rank()) to.rank = static_cast<std::uint8_t>(from.sis().rank());
  if (from.sis().has_priority()) {
    to.qos.priority = static_cast<std::uint8_t>(from.sis().priority());
  }
  if (from.has_control()) {
    to.control_socket = from.control().socket();
    to.control_group_too = from.control().group_too();
  }
  to.node_control_socket = from.node_control().socket();
  translate_interface(from.interface(), to);
  for (const proto::IpRoute& one : from.routes()) to.routes.push_back(route_of(one));
  translate_qos(from.qos(), to.qos);
  for (const int kind : from.carry()) {
    to.drops.carried.insert(chatter_of(static_cast<IpClient::Chatter>(kind)));
  }
  for (const proto::IpDropRule& one : from.drop()) to.drops.rules.push_back(drop_rule_of(one));
  if (from.has_check_sources()) to.check_sources = from.check_sources();
  if (from.has_fragment()) to.fragment = from.fragment();
  if (from.has_report_not_bound()) to.report_not_bound = from.report_not_bound();
  if (from.has_icmp_from()) to.icmp_from_v4 = address_of(from.icmp_from());
  if (from.has_icmp_from_ipv6()) to.icmp_from_v6 = address_of(from.icmp_from_ipv6());
  if (from.has_line_rate_bps()) to.line_rate_bps = from.line_rate_bps();
  if (from.has_age_max_s()) to.age_max_s = from.age_max_s();
  translate_proxy(from.tcp_proxy(), to.proxy);
  if (from.has_log_level()) to.log_level = log_level_of(from.log_level());
  return to;
}

}  // namespace s5066::config
