// SPDX-License-Identifier: Apache-2.0
// Tells systemd, or another supervisor that started this program as a service of the type "notify",
// that it serves, that it is alive, and that it ends. It uses the protocol of sd_notify(3), one
// datagram for each report. It does not need libsystemd, so that a program is built and runs
// without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::posix {

class ServiceManager {
 public:
  struct Config {
    /// A path, or "@" and a name in the abstract namespace; empty: nobody waits for reports.
    std::string socket;
    /// Longest silence before the program counts as hung; empty: no limit.
    std::optional<Duration> watchdog;
  };
  /// Reads the environment of this process (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID).
  static Config from_environment();

  explicit ServiceManager(Config config) : config_(std::move(config)) {}

  const Config& config() const { return config_; }
  /// Action if the socket is full: wait for a second at most, or leave the report out.
  enum class Full : std::uint8_t { wait, leave_out };
  /// Sends one assignment, such as "READY=1". Fails with `queue_full` if the socket had no room.
  Result<void> tell(const std::string& state, Full when_full = Full::wait) const;

 private:
  Config config_;
};

}  // namespace s5066::posix
