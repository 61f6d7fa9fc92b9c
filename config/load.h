// SPDX-License-Identifier: Apache-2.0
// Loads configuration files in Protobuf text format: they are parsed, checked against the rules of
// the schema, for contradictions and, if asked, for what would prevent a start on this machine, and
// turned into the plain structs of each layer. A result lists all problems of the file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/address_book.h"
#include "config/node_setup.h"
#include "config/problem.h"
#include "config/scope.h"
#include "gateways/acp142/mail/mail_config.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/ip_client/ip_config.h"

namespace s5066::config {

inline constexpr std::size_t kFileOctetsMax = 256 * 1024;

/// Reads up to one octet more than a file may have, or adds the problem that prevents it.
std::optional<std::string> read_file(const std::string& path, Problems& problems);

/// The address book of a configuration is read with it.
Loaded<NodeSetup> load_node(const std::string& path, Scope scope = Scope::text);
Loaded<file_relay::RelayConfig> load_relay(const std::string& path, Scope scope = Scope::text);
Loaded<acp142::MailConfig> load_mail(const std::string& path, Scope scope = Scope::text);
Loaded<ip_client::IpConfig> load_ip(const std::string& path, Scope scope = Scope::text);

/// These functions take the text itself; `file` is the name that problems give. They do not read
/// the address book, so it is an argument.
Loaded<NodeSetup> parse_node(const std::string& file, const std::string& text,
                             const AddressBook& book = {}, Scope scope = Scope::text);
Loaded<file_relay::RelayConfig> parse_relay(const std::string& file, const std::string& text,
                                            const AddressBook& book = {},
                                            Scope scope = Scope::text);
Loaded<acp142::MailConfig> parse_mail(const std::string& file, const std::string& text,
                                      const AddressBook& book = {}, Scope scope = Scope::text);
Loaded<ip_client::IpConfig> parse_ip(const std::string& file, const std::string& text,
                                     const AddressBook& book = {}, Scope scope = Scope::text);

}  // namespace s5066::config
