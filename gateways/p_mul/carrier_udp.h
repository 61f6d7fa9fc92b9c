// SPDX-License-Identifier: Apache-2.0
// The sockets of the UDP carrier: one for each port of P_MUL, joined to the multicast groups.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gateways/p_mul/carrier_udp_core.h"
#include "s5066d/base/result.h"

namespace s5066::p_mul {

class CarrierUdp {
 public:
  struct Config {
    CarrierUdpCore::Config core{};
    std::uint32_t interface = 0;  // our IPv4 address for multicast; 0: the system chooses
    std::uint32_t listen = 0;     // our IPv4 address for unicast; 0: any
    std::uint8_t hops = 1;        // hop limit of multicast datagrams
  };
  using OnDatagram = std::function<void(ByteSpan)>;

  /// The carrier runs on the thread of `io`. It calls `on_datagram` for each datagram that the core
  /// accepts.
  static Result<std::unique_ptr<CarrierUdp>> open(boost::asio::io_context& io, const Config& config,
                                                  OnDatagram on_datagram);

  /// Joins or leaves the group of one message.
  Result<void> request_membership(std::uint32_t group, bool joined);
  /// Sends the PDUs that the core has. Call after request_send.
  void flush();
  CarrierUdpCore& core() { return core_; }

 private:
  using Socket = boost::asio::ip::udp::socket;
  struct Port {
    explicit Port(boost::asio::io_context& io) : socket(io) {}
    Socket socket;
    boost::asio::ip::udp::endpoint from;
    std::array<std::uint8_t, 65536> buffer{};
  };

  CarrierUdp(boost::asio::io_context& io, const Config& config, OnDatagram on_datagram);
  Result<void> open_port(boost::asio::io_context& io, std::uint16_t port, std::uint32_t address);
  void receive(Port& port);

  Config config_;
  CarrierUdpCore core_;
  OnDatagram on_datagram_;
  Socket out_;
  std::vector<std::unique_ptr<Port>> ports_;
  Socket* data_ = nullptr;  // the socket of `ports_` that joins dynamic groups
};

}  // namespace s5066::p_mul
