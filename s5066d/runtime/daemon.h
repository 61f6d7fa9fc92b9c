// One s5066d: a node with its modem, its clients, its control socket and its clock, until a signal
// or the loss of the modem ends it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/node_setup.h"
#include "s5066d/base/log.h"
#include "s5066d/base/rng.h"
#include "s5066d/node/node.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/posix/main_loop_watch.h"
#include "s5066d/runtime/asio_driver.h"
#include "s5066d/runtime/control_endpoint.h"
#include "s5066d/runtime/modem_bridge.h"
#include "s5066d/runtime/sis_listener.h"
#include "s5066d/runtime/trace_writer.h"

namespace s5066::runtime {

class Daemon {
 public:
  Daemon(const config::NodeSetup& setup, std::uint64_t seed, LogSink& log);
  ~Daemon();

  /// Returns after SIGINT, SIGTERM or SIGHUP with the transmitter unkeyed and everything closed,
  /// when clients have had a few seconds to take what was theirs; an error is what the environment
  /// did to us.
  Result<void> run();

 private:
  Result<void> start();
  void await_signal();
  void stop();
  void on_modem_progress();
  void tell_utc();
  Result<std::string> answer(std::string_view request);

  config::NodeSetup setup_;
  posix::LogLimiter log_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer utc_timer_;
  boost::asio::steady_timer watch_timer_;
  std::optional<posix::MainLoopWatch> watch_;  // while it serves
  TraceWriter trace_;
  Rng rng_;
  Node node_;
  AsioDriver driver_;
  SisListener listener_;
  std::unique_ptr<ModemBridge> modem_;
  std::optional<ControlEndpoint> control_;
  Result<void> outcome_;
  bool stopping_ = false;
};

}  // namespace s5066::runtime
