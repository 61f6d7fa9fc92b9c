// SPDX-License-Identifier: Apache-2.0
// Finds what in a configuration would prevent a start on this machine. The program that is about to
// serve and its command `check` both call these functions.
#pragma once

#include "config/node_setup.h"
#include "config/places.h"
#include "gateways/acp142/mail/mail_config.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/ip_client/ip_config.h"

namespace s5066::config {

/// `section` is the parsed message, `setup` is its translation with all defaults.
void find_obstacles(const Section& node, const NodeSetup& setup, Scope scope);
void find_obstacles(const Section& relay, const file_relay::RelayConfig& setup, Scope scope);
void find_obstacles(const Section& gateway, const acp142::MailConfig& setup, Scope scope);
void find_obstacles(const Section& client, const ip_client::IpConfig& setup, Scope scope);

}  // namespace s5066::config
