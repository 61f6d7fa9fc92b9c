// SPDX-License-Identifier: Apache-2.0
// The sender of s5066-traffic: a LoadSchedule, a clock and one socket. Probes that are late because
// the socket took none are sent as soon as it does, so that the run keeps its length in probes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "gateways/traffic/load_schedule.h"
#include "gateways/traffic/traffic_options.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::traffic {

/// The result of one run at its sender.
struct SendFigures {
  std::uint32_t run = 0;
  std::uint32_t sent = 0;
  std::uint64_t octets = 0;
  std::uint64_t refused = 0;  // datagrams that the kernel did not take
  std::string last_refusal;
  Duration connected{};  // TCP: time that the handshake took
  Duration took{};       // TCP: until the receiver had everything and closed
  bool complete = false;
};

class TrafficSender {
 public:
  /// `run` tells the run from others.
  TrafficSender(const SendOptions& options, std::uint16_t port, bool tcp, std::uint32_t run);

  /// Returns after the last probe, or after SIGINT or SIGTERM.
  Result<SendFigures> send();

 private:
  Result<void> open_udp();
  void connect_tcp();
  Result<void> set_options(int socket) const;
  void fail(const std::string& what, const boost::system::error_code& error);
  void start_run();
  void next();
  void send_probe();
  void finish();
  void stop();
  Duration since(std::chrono::steady_clock::time_point begin) const;

  SendOptions options_;
  std::uint16_t port_;
  bool tcp_;
  SendFigures figures_;
  std::optional<Error> failed_;
  LoadSchedule schedule_;
  std::uint32_t planned_ = 0;
  std::optional<LoadSchedule::Item> item_;
  Bytes probe_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_{io_, SIGINT, SIGTERM};
  boost::asio::steady_timer timer_{io_};
  boost::asio::steady_timer give_up_{io_};
  boost::asio::ip::udp::socket udp_{io_};
  boost::asio::ip::tcp::socket tcp_socket_{io_};
  std::chrono::steady_clock::time_point opened_{};
  std::chrono::steady_clock::time_point started_{};
  std::uint8_t answer_ = 0;
};

}  // namespace s5066::traffic
