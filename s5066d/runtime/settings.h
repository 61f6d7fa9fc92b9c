// What the shell around a node can be told: plain values, so that the loader needs no Asio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "s5066d/base/time.h"
#include "sis/primitives.h"

namespace s5066::runtime {

struct SisListenerConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = sis::kDefaultPort;
  /// Peers that may connect; empty: every one that can reach the address.
  std::vector<std::string> allowed_peers;
  /// Of which the node serves as many as it likes; the others are on their way out.
  std::size_t connections_max = 64;
  std::size_t read_octets_max = 16 * 1024;  // taken from a socket at a time
};

struct ControlConfig {
  std::string socket_path;
  std::size_t clients_max = 8;
  std::size_t request_octets_max = 64;
  Duration request_timeout = std::chrono::seconds(5);
};

}  // namespace s5066::runtime
