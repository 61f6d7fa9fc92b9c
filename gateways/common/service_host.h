// SPDX-License-Identifier: Apache-2.0
// The frame of a gateway's process: its event loop, log, signals, watchdog and control socket.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "s5066d/base/counter_set.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/control/control_plane.h"
#include "s5066d/control/event_ring.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/posix/main_loop_watch.h"

namespace s5066::proto {
class Program;
}

namespace s5066::gateways {

/// Call order: add the gateway's own verbs, open_control(), on_end(), ready() as soon as the
/// gateway serves, run(); stopping() when it begins to end. A test may run io() itself instead of
/// run(), and then has no watchdog.
class ServiceHost {
 public:
  /// `name` is the name of the program. Both must outlive the host.
  ServiceHost(std::string_view name, LogSink& log);
  ServiceHost(const ServiceHost&) = delete;
  ServiceHost& operator=(const ServiceHost&) = delete;

  boost::asio::io_context& io() { return io_; }
  /// Returns the log of the gateway. Warnings and errors that repeat are limited, so that nobody on
  /// the air can fill a disk; lines about each message all pass.
  LogSink& log() { return log_; }

  /// Returns the verbs of the control socket, to which a gateway adds its own.
  control::VerbTable& verbs() { return control_.verbs(); }
  /// Returns name, version and age of the process, for the answer to `status`.
  proto::Program program() const;
  Result<void> open_control(const control::SocketConfig& config,
                            std::function<CounterRows()> counters);

  /// Calls a function at the first signal that ends programs.
  void on_end(std::function<void()> end);
  /// Calls a function at each SIGHUP, which then does not end the program. Call it before on_end().
  void on_hangup(std::function<void()> hangup);
  /// Tells the service manager that the gateway serves.
  void ready();
  /// Runs the loop under a watchdog until it has nothing to do, or io() was stopped.
  void run();
  /// Closes the control socket, ends the watchdog and forgets the signals.
  void stopping();

 private:
  void wait_for_hangup();

  control::EventRing events_;
  posix::LogLimiter log_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_{io_};
  boost::asio::signal_set hangup_{io_};
  std::function<void()> hung_up_;  // set if SIGHUP does not end the program
  boost::asio::steady_timer watch_timer_{io_};
  std::optional<posix::MainLoopWatch> watch_;  // set while run() runs
  control::ControlPlane control_;
  bool ready_ = false;
};

}  // namespace s5066::gateways
