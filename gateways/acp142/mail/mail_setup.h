// SPDX-License-Identifier: Apache-2.0
// Translates the configuration of a mail gateway into those of its parts.
#pragma once

#include <string>
#include <vector>

#include "gateways/acp142/mail/mail_config.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/peers/cftp_core.h"
#include "gateways/acp142/peers/hmtp_core.h"
#include "gateways/p_mul/carrier_udop_core.h"
#include "gateways/p_mul/carrier_udp.h"
#include "gateways/p_mul/p_mul_core.h"

namespace s5066::acp142 {

std::vector<NodeId> members_of(const MailConfig::Group& group, const MailConfig& config);
Result<AddressTable> address_table(const MailConfig& config);
MailCore::Config mail_config(const MailConfig& config);
p_mul::PMulCore::Config p_mul_config(const MailConfig& config);
/// Call only if `udp` is configured.
p_mul::CarrierUdp::Config udp_config(const MailConfig& config);
/// Call only if `udp` is not configured.
p_mul::CarrierUdopCore::Config carrier_config(const MailConfig& config);

/// True if mail goes or comes by CFTP or HMTP.
bool takes_mail_by(MailWay way, const MailConfig& config);
CftpCore::Config cftp_config(const MailConfig& config);
HmtpCore::Config hmtp_config(const MailConfig& config);
/// Returns the routes that mail of other stations may take: to our mail server, or relayed.
Result<AddressTable> table_for_peers(const MailConfig& config);

/// Returns the configured name of a station, or its number as an address.
std::string station_name(const MailConfig& config, NodeId node);
/// Returns the configured name of a group, or "dynamic".
std::string group_name(const MailConfig& config, GroupId group);

}  // namespace s5066::acp142
