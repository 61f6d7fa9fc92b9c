// SPDX-License-Identifier: Apache-2.0
// One s5066d: a node with its modem, its clients, its control socket and its clock, until a signal
// or the loss of the modem ends it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/control_request.h"
#include "config/node_setup.h"
#include "config/problem.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/log.h"
#include "s5066d/base/rng.h"
#include "s5066d/control/control_plane.h"
#include "s5066d/control/event_ring.h"
#include "s5066d/node/node.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/posix/main_loop_watch.h"
#include "s5066d/runtime/asio_driver.h"
#include "s5066d/runtime/modem_bridge.h"
#include "s5066d/runtime/sis_listener.h"
#include "s5066d/runtime/trace_writer.h"

namespace s5066::runtime {

/// Functions by which a running daemon reads its configuration again.
struct Reloading {
  std::function<config::Loaded<config::NodeSetup>()> load;
  std::function<void(LogLevel)> set_log_level;
};

class Daemon {
 public:
  Daemon(const config::NodeSetup& setup, std::uint64_t seed, LogSink& log, Reloading reloading);
  ~Daemon();

  /// Runs the daemon. SIGHUP makes it read its configuration again. It returns after SIGINT or
  /// SIGTERM with the transmitter unkeyed and everything closed, when clients have had a few
  /// seconds to take their output. An error names a failure of the environment.
  Result<void> run();
  /// Returns the counters of the node, which has those of SIS clients too, and of the modem.
  CounterRows counters() const;

 private:
  Result<void> start();
  void await_signal();
  void stop();
  void on_modem_progress();
  void tell_utc();
  Result<void> open_control();
  template <typename Asked, typename Change>
  Result<std::string> change(std::string_view verb, const Asked& asked, Change&& change);
  /// Carry out a request that has been parsed, one function for each type.
  Result<std::string> perform(const config::StatusAsked& asked);
  Result<std::string> perform(const config::ModeAsked& asked);
  Result<std::string> perform(const config::EmconAsked& asked);
  Result<std::string> perform(const config::BroadcastAsked& asked);
  Result<std::string> perform(const config::SapAsked& asked);
  Result<std::string> perform(const config::LevelAsked& asked);
  Result<std::string> perform(const config::DisconnectAsked& asked);
  Result<std::string> perform(const config::BreakAsked& asked);
  Result<std::string> perform(const config::QueueAsked& asked);
  Result<std::string> perform(const config::PurgeAsked& asked);
  Result<std::string> perform(const config::ReloadAsked& asked);

  config::NodeSetup setup_;
  Reloading reloading_;
  control::EventRing events_;
  posix::LogLimiter log_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer utc_timer_;
  boost::asio::steady_timer watch_timer_;
  std::optional<posix::MainLoopWatch> watch_;  // set while the daemon serves
  TraceWriter trace_;
  Rng rng_;
  Node node_;
  AsioDriver driver_;
  SisListener listener_;
  std::unique_ptr<ModemBridge> modem_;
  control::ControlPlane control_;
  Duration started_ = posix::monotonic_now();
  Result<void> outcome_;
  bool stopping_ = false;
};

}  // namespace s5066::runtime
