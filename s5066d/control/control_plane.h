// SPDX-License-Identifier: Apache-2.0
// The control interface of one process: its control socket, and the requests that every daemon
// answers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string_view>

#include "s5066d/base/counter_set.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/control/control_socket.h"
#include "s5066d/control/event_ring.h"
#include "s5066d/control/verbs.h"

namespace s5066::proto {
class Program;
}

namespace s5066::control {

/// Add the daemon's own verbs first, then open().
class ControlPlane {
 public:
  /// `program` is the name of the program. All of these outlive the plane.
  ControlPlane(boost::asio::io_context& io, std::string_view program, const EventRing& events,
               LogSink& log)
      : io_(io), program_(program), events_(events), log_(log) {}
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  /// Requests that the daemon answers besides the common ones.
  VerbTable& verbs() { return verbs_; }
  /// Returns name, version and age of the process, for the answer to `status`.
  proto::Program program() const;
  Result<void> open(const SocketConfig& config, std::function<CounterRows()> counters);
  /// Closes all connections and removes the socket file.
  void stop();

 private:
  boost::asio::io_context& io_;
  std::string_view program_;
  const EventRing& events_;
  LogSink& log_;
  Duration started_ = posix::monotonic_now();
  VerbTable verbs_;
  std::optional<ControlSocket> socket_;
};

}  // namespace s5066::control
