// A node's state as JSON, by the messages of config/proto/control.proto.
#pragma once

#include <cstdint>
#include <string>

#include "modem/api/modem.h"
#include "s5066d/base/metrics.h"
#include "s5066d/node/node.h"

namespace s5066::config {

struct DaemonStatus {
  NodeStatus node;
  modem::ModemStats modem;
  Instant now{};
  bool lockstep = false;
  std::uint16_t sis_port = 0;
};

std::string to_json(const DaemonStatus& status);
std::string to_json(const Counters& counters);

}  // namespace s5066::config
