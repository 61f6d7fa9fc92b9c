// Tells systemd, or whatever else started this program as a service of the type "notify", that it
// serves, that it is alive, and that it ends: the protocol of sd_notify(3), one datagram for each.
// It needs nothing of libsystemd, so that a program runs, and is built, where there is none.
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
    /// A path, or "@" and a name in the abstract namespace; empty: nobody wants to be told.
    std::string socket;
    /// How long the program may be silent before it is taken for hung; none: for ever.
    std::optional<Duration> watchdog;
  };
  /// As the environment of this process has it (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID).
  static Config from_environment();

  explicit ServiceManager(Config config) : config_(std::move(config)) {}

  const Config& config() const { return config_; }
  /// What to do when the socket is full: wait for a second at most, or leave the state out.
  enum class Full : std::uint8_t { wait, leave_out };
  /// One assignment, such as "READY=1". `queue_full` when the socket had no room.
  Result<void> tell(const std::string& state, Full when_full = Full::wait) const;

 private:
  Config config_;
};

}  // namespace s5066::posix
