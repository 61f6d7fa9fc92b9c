// SPDX-License-Identifier: Apache-2.0
// The settings of one s5066-ip, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateways/ip_client/drop_rules.h"
#include "gateways/ip_client/ip_address.h"
#include "gateways/ip_client/proxy_types.h"
#include "gateways/ip_client/route_table.h"
#include "gateways/ip_client/service_class.h"
#include "s5066d/base/address_book.h"
#include "s5066d/base/log.h"
#include "sis/primitives.h"

namespace s5066::ip_client {

struct IpConfig {
  // The subnet server.
  std::string sis_host = "127.0.0.1";
  std::uint16_t sis_port = sis::kDefaultPort;
  std::uint8_t rank = 0;

  std::string interface = "hf0";
  std::vector<IpPrefix> addresses;  // interface addresses; if empty, an administrator sets them
  std::uint16_t mtu = 1500;
  bool kernel_routes = true;   // set kernel routes for all rows except the default route
  bool default_route = false;  // set a kernel route for the default route, too
  std::string control_socket = "/run/s5066/ip-control";
  bool control_group_too = false;
  std::string node_control_socket;  // socket of s5066d, asked for its rate; empty if not asked

  std::vector<Route> routes;
  QosConfig qos;
  DropConfig drops;
  bool check_sources = true;
  bool fragment = true;
  bool report_not_bound = true;
  std::optional<IpAddress> icmp_from_v4;
  std::optional<IpAddress> icmp_from_v6;
  std::uint32_t line_rate_bps = 1200;
  std::uint32_t age_max_s = 300;

  AddressBook book;
  ProxyConfig proxy;

  LogLevel log_level = LogLevel::info;
};

}  // namespace s5066::ip_client
