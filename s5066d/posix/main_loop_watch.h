// The watchdog of a program's main loop. A loop that no longer turns, because it spins or a call
// does not return, serves nobody and hears no signal: the program logs `hung part=main_loop` and
// ends, so that the service manager starts it again. It works without a service manager, too; one
// with a watchdog of its own is told for as long as the loop turns.
#pragma once

#include <functional>
#include <memory>

#include "s5066d/base/log.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/end_hung.h"
#include "s5066d/posix/hang_watch.h"
#include "s5066d/posix/service_manager.h"

namespace s5066::posix {

/// The loop may be silent for so many seconds. The longest legitimate work is a look into a large
/// spool on a slow card; WatchdogSec in config/systemd is longer, so that the log line is written.
inline constexpr unsigned kMainLoopSilentMax_s = 60;

/// Call order: construct in the thread of the loop, ready() when it serves, turned() as long as it
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
  /// May be called often. The service manager is told once a tick().
  void turned();
  /// The end may take longer than a turn; the service manager has a limit of its own for it.
  void stopping();

  /// Calls turned() at least this often are enough.
  Duration tick() const { return tick_; }
  /// Calls turned() in the loop that `timer` belongs to, an asio timer, until stopping().
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
  std::unique_ptr<HangWatch> hang_watch_;  // last: its thread uses what is above
};

}  // namespace s5066::posix
