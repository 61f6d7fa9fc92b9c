// SPDX-License-Identifier: Apache-2.0
// Turns valid configuration messages into the plain structs of each layer. A field that is absent
// from the file keeps the default of its struct.
#pragma once

#include <string>

#include "config/node_setup.h"
#include "config/proto/address_book.pb.h"
#include "config/proto/gateway.pb.h"
#include "config/proto/node.pb.h"
#include "gateways/acp142/mail/mail_config.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/ip_client/ip_config.h"
#include "s5066d/base/address_book.h"
#include "s5066d/base/log.h"

namespace s5066::config {

/// The result is useful only when the message has no problems; a message with problems does no
/// harm.
NodeSetup translate(const proto::Node& node);
AddressBook translate(const proto::AddressBook& from);
gateways::BackupSettings backup_of(const proto::SpoolBackup& from);
file_relay::RelayConfig translate(const proto::Relay& relay);
acp142::MailConfig translate(const proto::MailGateway& gateway);
ip_client::IpConfig translate(const proto::IpClient& client);

/// Returns the host for a gateway's SIS client. It is the path of the socket when one is
/// configured.
std::string sis_host_of(const proto::SisServer& server, const std::string& otherwise);

LogLevel log_level_of(proto::LogLevel level);

}  // namespace s5066::config
