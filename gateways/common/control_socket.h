// SPDX-License-Identifier: Apache-2.0
// A local socket for operators: one request line in, an answer out, then the connection ends.
// s5066d's control endpoint speaks the same way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "s5066d/base/result.h"

namespace s5066::gateways {

class ControlSocket {
 public:
  /// Runs on the io_context.
  using Answer = std::function<std::string(std::string_view request)>;

  static constexpr std::size_t kRequestOctetsMax = 1024;
  static constexpr std::size_t kClientsMax = 8;
  static constexpr std::chrono::seconds kRequestTimeout{5};
  static constexpr std::chrono::seconds kAcceptRetry{1};

  ControlSocket(boost::asio::io_context& io, std::string path, Answer answer);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// Takes over a socket that a dead process left behind; not one of a living process, and no
  /// other file. Only the owner of this process may connect.
  Result<void> open();

 private:
  class Session;
  void accept();

  std::string path_;
  Answer answer_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::shared_ptr<std::size_t> sessions_ = std::make_shared<std::size_t>(0);
  bool bound_ = false;
};

/// Returns the state of the link to a station in s5066d's answer to `status`: "idle", "made" …
/// Empty if the answer does not name the station.
std::string link_state(std::string_view status_json, std::string_view peer);

}  // namespace s5066::gateways
