// SPDX-License-Identifier: Apache-2.0
// Answers of the IP client to an operator's requests (config/proto/control.proto).
#pragma once

#include <string>

#include "config/proto/control.pb.h"
#include "gateways/ip_client/ip_client_core.h"
#include "gateways/ip_client/tcp_proxy.h"

namespace s5066::ip_client {

/// Binding, and why datagrams were dropped. The caller adds program and interface.
proto::IpStatus ip_status(const IpClientCore& core);
/// The doors of the proxy, and the stations that have one.
proto::IpProxy ip_proxy(const TcpProxy& proxy);
/// The connections that the proxy carries.
void add_streams(const TcpProxy& proxy, proto::IpFlows& flows);
/// The rows of the table.
proto::IpTable ip_table(const RouteTable& table);
/// The conversations, and how long their datagrams wait.
proto::IpFlows ip_flows(const IpClientCore& core, Instant now);
/// The datagrams that wait for each station, and those that the node has.
proto::IpQueue ip_queue(const IpClientCore& core, Instant now);

}  // namespace s5066::ip_client
