// SPDX-License-Identifier: Apache-2.0
// Loads configuration files in Protobuf text format: they are parsed, checked against the rules of
// the schema and for contradictions, and turned into the plain structs of each layer. A result
// lists all problems of the file.
#pragma once

#include <cstddef>
#include <string>

#include "config/node_setup.h"
#include "config/problem.h"
#include "gateways/acp142/mail/mail_config.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/ip_client/ip_config.h"

namespace s5066::config {

inline constexpr std::size_t kFileOctetsMax = 256 * 1024;

Loaded<NodeSetup> load_node(const std::string& path);
Loaded<file_relay::RelayConfig> load_relay(const std::string& path);
Loaded<acp142::MailConfig> load_mail(const std::string& path);
Loaded<ip_client::IpConfig> load_ip(const std::string& path);

/// These functions take the text itself; `file` is the name that problems give.
Loaded<NodeSetup> parse_node(const std::string& file, const std::string& text);
Loaded<file_relay::RelayConfig> parse_relay(const std::string& file, const std::string& text);
Loaded<acp142::MailConfig> parse_mail(const std::string& file, const std::string& text);
Loaded<ip_client::IpConfig> parse_ip(const std::string& file, const std::string& text);

}  // namespace s5066::config
