// SPDX-License-Identifier: Apache-2.0
// A local socket for operators: one request line in, one JSON object out, then the connection ends.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/runtime/settings.h"

namespace s5066::runtime {

class ControlEndpoint {
 public:
  /// Answers a request such as "status"; runs on the io_context.
  using Answer = std::function<Result<std::string>(std::string_view request)>;

  ControlEndpoint(boost::asio::io_context& io, const ControlConfig& config, Answer answer,
                  LogSink& log);
  ~ControlEndpoint();

  /// Replaces a socket file that a dead process left behind, but not one of a running process. Only
  /// the owner of the process may connect.
  Result<void> open();
  void stop();

 private:
  class Session;
  void accept();
  bool make_room();

  ControlConfig config_;
  Answer answer_;
  LogSink& log_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::vector<std::weak_ptr<Session>> sessions_;  // oldest first
  bool bound_ = false;
};

}  // namespace s5066::runtime
