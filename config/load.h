// Configuration files in Protobuf text format: read, held against the schema's rules and against
// each other's fields, and turned into the plain structs of each layer. All problems come at once.
#pragma once

#include <cstddef>
#include <string>

#include "config/node_setup.h"
#include "config/problem.h"
#include "gateways/acp142/mail_config.h"
#include "gateways/file_relay/relay_config.h"

namespace s5066::config {

inline constexpr std::size_t kFileOctetsMax = 256 * 1024;

Loaded<NodeSetup> load_node(const std::string& path);
Loaded<file_relay::RelayConfig> load_relay(const std::string& path);
Loaded<acp142::MailConfig> load_mail(const std::string& path);

/// The same from text at hand; `file` is what problems call it.
Loaded<NodeSetup> parse_node(const std::string& file, const std::string& text);
Loaded<file_relay::RelayConfig> parse_relay(const std::string& file, const std::string& text);
Loaded<acp142::MailConfig> parse_mail(const std::string& file, const std::string& text);

}  // namespace s5066::config
