// SPDX-License-Identifier: Apache-2.0
// Writes a node's state as JSON of the messages of config/proto/control.proto.
#pragma once

#include <cstdint>
#include <string>

#include "config/control_request.h"
#include "config/node_changes.h"
#include "modem/api/modem.h"
#include "s5066d/base/result.h"
#include "s5066d/node/node.h"

namespace s5066::config {

struct DaemonStatus {
  NodeStatus node;
  modem::ModemState modem;
  Instant now{};
  Duration running{};  // time by the clock of the machine
  bool lockstep = false;
  std::uint16_t sis_port = 0;
  double transmit_level_db = 0;
};

struct PurgeDone {
  std::size_t purged = 0;
  std::size_t in_transit = 0;
};

std::string to_json(const DaemonStatus& status);
std::string to_json(const ModeAsked& asked);
std::string to_json(const EmconAsked& asked);
std::string to_json(const BroadcastAsked& asked);
std::string to_json(const SapAsked& asked);
std::string to_json(const LevelAsked& asked);
std::string to_json(const DisconnectAsked& asked);
std::string to_json(const BreakAsked& asked);
std::string to_json(const sap::UpduList& list);
std::string to_json(const PurgeDone& done);
std::string to_json(const NodeChanges& changes, bool certificates);

}  // namespace s5066::config
