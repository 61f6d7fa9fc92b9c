// SPDX-License-Identifier: Apache-2.0
// Finds fields that are legal by themselves and contradict each other, defaults included.
#pragma once

#include "config/node_setup.h"
#include "config/validate.h"
#include "gateways/acp142/mail/mail_config.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/ip_client/ip_config.h"

namespace s5066::config {

/// Checks the section `sis` of a gateway.
void check_sis_server(const Section& sis);

/// `section` is the parsed message, `setup` is its translation with all defaults.
void find_contradictions(const Section& node, const NodeSetup& setup);
void find_contradictions(const Section& relay, const file_relay::RelayConfig& setup);
void find_contradictions(const Section& gateway, const acp142::MailConfig& setup);
void find_contradictions(const Section& client, const ip_client::IpConfig& setup);
void find_contradictions(const Section& book, const AddressBook& setup);

}  // namespace s5066::config
