// SPDX-License-Identifier: Apache-2.0
// The watchdog of a program's main loop. A loop that no longer turns, because it spins or a call
// does not return, serves nobody and handles no signal. The program then logs `hung part=main_loop`
// and ends, so that the service manager starts it again. It works without a service manager, too. A
// service manager with a watchdog of its own gets reports while the loop turns.
#pragma once

#include <functional>
#include <memory>

#include "s5066d/base/log.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/end_hung.h"
#include "s5066d/posix/hang_watch.h"
#include "s5066d/posix/service_manager.h"

namespace s5066::posix {

/// Longest silence of the loop in seconds. The longest legitimate work is a scan of a large spool
/// on a slow card. WatchdogSec in config/systemd is longer, so that the log line is written.
inline constexpr unsigned kMainLoopSilentMax_s = 60;

/// Call order: construct in the thread of the loop, ready() when it serves, turned() while it
/// turns, stopping() when it is about to end.
class MainLoopWatch {
 public:
  struct Config {
    ServiceManager::Config service = ServiceManager::from_environment();
    HangWatch::Config hang = {.wait = std::chrono::seconds(1), .waits_max = kMainLoopSilentMax_s};
  };

  MainLoopWatch(const Config& config, LogSink& log);
  explicit MainLoopWatch(LogSink& log) : MainLoopWatch(Config{}, log) {}

  void ready() { tell("READY=1", ServiceManager::Full::wait); }
  /// May be called often; the service manager gets one report in each tick().
  void turned();
  /// The end may take longer than a turn; the service manager has a limit of its own for it.
  void stopping();

  /// Returns the longest interval between calls of turned().
  Duration tick() const { return tick_; }
  /// Calls turned() in the loop that `timer`, an asio timer, belongs to, until stopping().
  template <typename Timer>
  void turn_with(Timer& timer) {
    if (!hang_watch_) return;
    turned();
    timer.expires_after(tick_);
    timer.async_wait([this, &timer](const auto& cancelled) {
      if (!cancelled) turn_with(timer);
    });
  }

 private:
  void tell(const char* state, ServiceManager::Full when_full);

  const ServiceManager service_;
  LogSink& log_;
  const Duration tick_;
  Duration told_at_{};
  /// The last member, because its thread uses all of the above.
  std::unique_ptr<HangWatch> hang_watch_;
};

}  // namespace s5066::posix
