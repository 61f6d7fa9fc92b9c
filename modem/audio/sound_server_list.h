// SPDX-License-Identifier: Apache-2.0
// The sources and sinks of a PulseAudio or PipeWire server. Their names stay the same as long as a
// card keeps its socket, so a configuration names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

struct ServerDevice {
  std::string name;         // name as `pactl list short sources` prints it
  std::string description;  // name for people
  bool input = false;       // a source, else a sink
};

/// A configured name with this prefix is the name of a source or sink of the sound server.
inline constexpr std::string_view kServerPrefix = "pulse:";

/// The result is an error if no server answers within `patience`.
Result<std::vector<ServerDevice>> list_server_devices(Duration patience = std::chrono::seconds(2));

/// True if the text behind the prefix can be the name of a source or sink: up to 200 letters,
/// digits, '.', '-', '_', ':' and '+'. ALSA gives other characters a meaning.
bool is_server_device_name(std::string_view name);

}  // namespace s5066::modem
