// SPDX-License-Identifier: Apache-2.0
// Answers of the IP client to an operator's requests (config/proto/control.proto).
#pragma once

#include <string>

#include "config/proto/control.pb.h"
#include "gateways/ip_client/ip_client_core.h"

namespace s5066::ip_client {

/// Binding, and why datagrams were dropped. The caller adds program and interface.
proto::IpStatus ip_status(const IpClientCore& core);
/// The rows of the table.
proto::IpTable ip_table(const RouteTable& table);
/// The conversations, and how long their datagrams wait.
proto::IpFlows ip_flows(const IpClientCore& core, Instant now);
/// The datagrams that wait for each station, and those that the node has.
proto::IpQueue ip_queue(const IpClientCore& core, Instant now);

}  // namespace s5066::ip_client
