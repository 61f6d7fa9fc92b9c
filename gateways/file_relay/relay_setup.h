// SPDX-License-Identifier: Apache-2.0
// Hands a RelayConfig to the parts it is for.
#pragma once

#include <cstdint>
#include <string>

#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/file_relay/relay_core.h"
#include "s5066d/control/socket_config.h"
#include "sis/client.h"

namespace s5066::file_relay {

RelayCore::Config core_config(const RelayConfig& config);
/// Returns the configuration of operators' stores. Only the service stores received files and fills
/// the reserve.
gateways::SqliteStore::Config operator_store_config(const RelayConfig& config,
                                                    std::uint8_t first_updu_id);
gateways::SqliteStore::Config store_config(const RelayConfig& config, std::uint8_t first_updu_id);
sis::Client::Config client_config(const RelayConfig& config);
/// Returns the configuration of the client that is bound to SAP 7.
sis::Client::Config udop_client_config(const RelayConfig& config);
std::string control_socket_path(const RelayConfig& config);
control::SocketConfig control_socket(const RelayConfig& config);

}  // namespace s5066::file_relay
