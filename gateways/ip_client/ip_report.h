// SPDX-License-Identifier: Apache-2.0
// Answers of the IP client to an operator's requests (config/proto/control.proto).
#pragma once

#include <string>

#include "config/proto/control.pb.h"
#include "gateways/ip_client/ip_client_core.h"
#include "gateways/ip_client/tcp_proxy.h"

namespace s5066::ip_client {

/// Returns the state of the binding and the reasons for dropped datagrams. The caller adds the
/// program and the interface.
proto::IpStatus ip_status(const IpClientCore& core);
/// Returns the state of the proxy, and the stations with what is known of their proxies.
proto::IpProxy ip_proxy(const TcpProxy& proxy);
/// Adds the streams that the proxy carries.
void add_streams(const TcpProxy& proxy, proto::IpFlows& flows);
/// Returns the rows of the table.
proto::IpTable ip_table(const RouteTable& table);
/// Returns the conversations and the times that their datagrams wait.
proto::IpFlows ip_flows(const IpClientCore& core, Instant now);
/// Returns for each station the datagrams that wait and the datagrams with the node.
proto::IpQueue ip_queue(const IpClientCore& core, Instant now);

}  // namespace s5066::ip_client
