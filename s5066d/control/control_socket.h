// SPDX-License-Identifier: Apache-2.0
// The local socket on which a daemon answers operators, programs and a console: one request line
// in, one JSON object out, then the connection ends. A descriptor may come with the request,
// if the settings allow it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/control/socket_config.h"
#include "s5066d/posix/passed_file.h"

namespace s5066::control {

/// A client that sends no request, or does not read, is closed after the timeout, and delays no
/// other client. If all places are taken, a new client displaces the oldest one that has not sent
/// its request.
class ControlSocket {
 public:
  /// Returns the JSON object that answers a request line, or the error that is written as JSON. It
  /// runs on the io_context, and not after stop(). `file` came with the request.
  using Answer =
      std::function<Result<std::string>(std::string_view request, posix::PassedFile file)>;

  ControlSocket(boost::asio::io_context& io, const SocketConfig& config, Answer answer,
                LogSink& log);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// Replaces a socket file that a dead process left behind, but neither the socket of a running
  /// process nor any other file.
  Result<void> open();
  /// Closes all connections and removes the socket file.
  void stop();

 private:
  class Session;
  void accept();
  bool make_room();

  SocketConfig config_;
  Answer answer_;
  LogSink& log_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::vector<std::weak_ptr<Session>> sessions_;  // the oldest session comes first
  std::shared_ptr<int> open_;                     // handlers that outlive stop() find it gone
  bool bound_ = false;
};

}  // namespace s5066::control
