// Turns valid configuration messages into the plain structs of each layer. A field that the file
// leaves out keeps the default of its struct.
#pragma once

#include <string>

#include "config/node_setup.h"
#include "config/proto/gateway.pb.h"
#include "config/proto/node.pb.h"
#include "gateways/acp142/mail_config.h"
#include "gateways/file_relay/relay_config.h"
#include "s5066d/base/log.h"

namespace s5066::config {

/// Of use only for messages without problems, harmless for any.
NodeSetup translate(const proto::Node& node);
file_relay::RelayConfig translate(const proto::Relay& relay);
acp142::MailConfig translate(const proto::MailGateway& gateway);

/// Returns the host for a gateway's SIS client: the path of the socket if there is one.
std::string sis_host_of(const proto::SisServer& server, const std::string& otherwise);

LogLevel log_level_of(proto::LogLevel level);

}  // namespace s5066::config
