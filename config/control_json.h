// A node's state as JSON, by the messages of config/proto/control.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "modem/api/modem.h"
#include "s5066d/base/metrics.h"
#include "s5066d/base/result.h"
#include "s5066d/node/node.h"

namespace s5066::config {

struct DaemonStatus {
  NodeStatus node;
  modem::ModemStats modem;
  Instant now{};
  bool lockstep = false;
  std::uint16_t sis_port = 0;
};

/// Of a link, for what we send.
struct ModeAsked {
  Address peer;
  modem::Mode mode;
};

/// The request line `mode ADDRESS MODE`; none where it begins with another word.
std::optional<Result<ModeAsked>> read_mode_request(std::string_view request);

std::string to_json(const DaemonStatus& status);
std::string to_json(const ModeAsked& asked);
std::string to_json(const Counters& counters);

}  // namespace s5066::config
