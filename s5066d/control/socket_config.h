// SPDX-License-Identifier: Apache-2.0
// Settings of a control socket: plain values, so that the loader needs no Asio.
#pragma once

#include <cstddef>
#include <string>

#include "s5066d/base/time.h"

namespace s5066::control {

/// These limits are those of every daemon, except that the file relay takes longer requests. The
/// request limit fits a mail address or a Message-ID.
struct SocketConfig {
  std::string path;
  bool group_too = false;  // members of the process's group may connect, not only its user
  std::size_t clients_max = 8;
  std::size_t request_octets_max = 512;  // limit with the line feed
  /// True if a descriptor may come with a request. The descriptors that the daemon does not want
  /// are closed on its main loop, and a file system may let that wait, so whoever may connect is
  /// trusted not to pass such files. If false, the system drops the descriptors and the process has
  /// none.
  bool takes_files = false;
  /// Longest time for a client to send its request, and then to read the answer.
  Duration timeout = std::chrono::seconds(5);
};

}  // namespace s5066::control
