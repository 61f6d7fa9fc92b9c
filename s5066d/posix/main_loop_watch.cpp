// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/main_loop_watch.h"

#include <algorithm>

#include "s5066d/posix/socket.h"

namespace s5066::posix {
namespace {

constexpr Duration kTickMax = std::chrono::seconds(1);

/// Returns the interval of the reports: several in the time that either watchdog waits, so that a
/// late one is harmless.
Duration tick_of(const MainLoopWatch::Config& config) {
  const Duration hang = config.hang.wait * config.hang.waits_max;
  return std::min({kTickMax, hang / 4, config.service.watchdog.value_or(4 * kTickMax) / 4});
}

}  // namespace

MainLoopWatch::MainLoopWatch(const Config& config, LogSink& log)
    : service_(config.service),
      log_(log),
      tick_(tick_of(config)),
      hang_watch_(
          std::make_unique<HangWatch>(config.hang, [this] { end_hung(log_, "main_loop"); })) {}

void MainLoopWatch::turned() {
  if (!hang_watch_) return;
  hang_watch_->alive();
  const Duration now = monotonic_now();
  if (!service_.config().watchdog || now - told_at_ < tick_) return;
  told_at_ = now;
  tell("WATCHDOG=1", ServiceManager::Full::leave_out);  // a full queue must not hold up the loop
}

void MainLoopWatch::stopping() {
  hang_watch_.reset();
  tell("STOPPING=1", ServiceManager::Full::wait);
}

// If the service manager does not read its socket, this report is left out and the next one
// follows.
void MainLoopWatch::tell(const char* state, ServiceManager::Full when_full) {
  const auto told = service_.tell(state, when_full);
  const bool skipped = when_full == ServiceManager::Full::leave_out && !told &&
                       told.error().code == ErrorCode::queue_full;
  if (told || skipped) return;
  LogLine(log_, LogLevel::warning, "service_manager_notify_failed")
      .kv("state", state)
      .kv("reason", to_string(told.error()));
}

}  // namespace s5066::posix
