// SPDX-License-Identifier: Apache-2.0
// The receiver of s5066-traffic: a ReceiverCore, a clock, and a UDP socket or a TCP listener.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gateways/traffic/receiver_core.h"
#include "gateways/traffic/traffic_options.h"
#include "s5066d/base/result.h"

namespace s5066::traffic {

class TrafficReceiver {
 public:
  TrafficReceiver(const ReceiveOptions& options, std::uint16_t port, bool tcp);

  /// Returns when all runs are over, after the time of --for, or after SIGINT or SIGTERM.
  Result<void> receive();
  const ReceiverCore& core() const { return core_; }

 private:
  struct Connection {
    boost::asio::ip::tcp::socket socket;
    std::vector<std::uint8_t> octets = std::vector<std::uint8_t>(65'536);
  };

  Result<void> open();
  void read_datagrams();
  void accept();
  void read_stream(ReceiverCore::StreamId id);
  void close_stream(ReceiverCore::StreamId id);
  void end_if_over();
  void stop();
  ReceiverCore::Time now() const;

  ReceiveOptions options_;
  std::uint16_t port_;
  bool tcp_;
  ReceiverCore core_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_{io_, SIGINT, SIGTERM};
  boost::asio::steady_timer timer_{io_};
  boost::asio::steady_timer accept_timer_{io_};
  boost::asio::steady_timer length_timer_{io_};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  boost::asio::ip::udp::socket udp_{io_};
  boost::asio::ip::tcp::acceptor acceptor_{io_};
  std::array<std::uint8_t, 65'536> datagram_{};
  std::map<ReceiverCore::StreamId, Connection> connections_;
  ReceiverCore::StreamId last_stream_ = 0;
};

}  // namespace s5066::traffic
