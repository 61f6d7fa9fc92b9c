// SPDX-License-Identifier: Apache-2.0
// Settings of a control socket: plain values, so that the loader needs no Asio.
#pragma once

#include <cstddef>
#include <string>

#include "s5066d/base/time.h"

namespace s5066::control {

/// Every daemon uses these limits. The request limit fits a mail address or a Message-ID.
struct SocketConfig {
  std::string path;
  bool group_too = false;  // members of the process's group may connect, not only its user
  std::size_t clients_max = 8;
  std::size_t request_octets_max = 512;
  /// Longest time for a client to send its request, and then to read the answer.
  Duration timeout = std::chrono::seconds(5);
};

}  // namespace s5066::control
