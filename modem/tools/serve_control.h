// SPDX-License-Identifier: Apache-2.0
// The control interface of `hfmodem serve`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "modem/remote/modem_host.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/control/control_plane.h"
#include "s5066d/control/event_ring.h"

namespace s5066::modem::tools {

/// Answers on a control socket in the thread of the host's main loop.
class ServeControl {
 public:
  /// All arguments must outlive the object.
  ServeControl(const control::EventRing& events, LogSink& log);

  Result<void> open(const std::string& path, const ModemHost& host);
  /// Answers what has come. Call it from each turn of the host's loop.
  void turn();
  void stop() { plane_.stop(); }

 private:
  std::string status(const ModemHost& host) const;

  boost::asio::io_context io_;
  control::ControlPlane plane_;
};

/// Asks a running `hfmodem serve`, prints the answer and returns the exit status.
int ask_serve(const std::string& path, const std::vector<std::string>& words, bool json);

}  // namespace s5066::modem::tools
