// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/carrier_udp.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/multicast.hpp>
#include <string>
#include <utility>

namespace s5066::p_mul {
namespace {

namespace asio = boost::asio;
using asio::ip::address_v4;
using asio::ip::udp;
namespace multicast = asio::ip::multicast;

Error failed(const std::string& what, const boost::system::error_code& error) {
  return Error{ErrorCode::io, what + ": " + error.message()};
}

}  // namespace

CarrierUdp::CarrierUdp(asio::io_context& io, const Config& config, OnDatagram on_datagram)
    : config_(config), core_(config.core), on_datagram_(std::move(on_datagram)), out_(io) {}

Result<std::unique_ptr<CarrierUdp>> CarrierUdp::open(asio::io_context& io, const Config& config,
                                                     OnDatagram on_datagram) {
  std::unique_ptr<CarrierUdp> carrier(new CarrierUdp(io, config, std::move(on_datagram)));
  boost::system::error_code error;
  udp::socket& out = carrier->out_;
  out.open(udp::v4(), error);
  if (!error && config.listen != 0) {
    out.bind(udp::endpoint(address_v4(config.listen), 0), error);
  }
  if (!error) out.set_option(multicast::hops(config.hops), error);
  if (!error && config.interface != 0) {
    out.set_option(multicast::outbound_interface(address_v4(config.interface)), error);
  }
  if (error) return failed("UDP socket", error);
  const CarrierUdpCore::Ports& ports = config.core.ports;
  for (const std::uint16_t port : {ports.group_control, ports.announce, ports.data, ports.ack}) {
    const bool unicast_only = port == ports.ack && config.listen != 0;
    if (!unicast_only) {
      if (auto opened = carrier->open_port(io, port, 0); !opened) return opened.error();
    }
    if (config.listen == 0) continue;
    if (auto opened = carrier->open_port(io, port, config.listen); !opened) return opened.error();
  }
  return carrier;
}

// A socket that is bound to one address gets no datagrams to a group. If several sockets are bound
// to any address, only one of them gets a datagram to our address. Therefore, if `listen` is set,
// open() makes sockets of both kinds.
Result<void> CarrierUdp::open_port(asio::io_context& io, std::uint16_t number,
                                   std::uint32_t address) {
  auto port = std::make_unique<Port>(io);
  boost::system::error_code error;
  port->socket.open(udp::v4(), error);
  if (!error) port->socket.set_option(udp::socket::reuse_address(true), error);
  if (!error) port->socket.bind(udp::endpoint(address_v4(address), number), error);
  for (const std::uint32_t group : core_.groups()) {
    if (error || address != 0) break;
    port->socket.set_option(multicast::join_group(address_v4(group), address_v4(config_.interface)),
                            error);
  }
  if (error) return failed("UDP port " + std::to_string(number), error);
  if (address == 0 && number == config_.core.ports.data) data_ = &port->socket;
  ports_.push_back(std::move(port));
  receive(*ports_.back());
  return {};
}

Result<void> CarrierUdp::request_membership(std::uint32_t group, bool joined) {
  boost::system::error_code error;
  const address_v4 address(group), interface(config_.interface);
  if (joined) {
    data_->set_option(multicast::join_group(address, interface), error);
  } else {
    data_->set_option(multicast::leave_group(address, interface), error);
  }
  if (error) return failed("group " + address.to_string(), error);
  return {};
}

void CarrierUdp::receive(Port& port) {
  port.socket.async_receive_from(
      asio::buffer(port.buffer), port.from,
      [this, &port](const boost::system::error_code& error, std::size_t octets) {
        if (error == asio::error::operation_aborted) return;  // the carrier may be gone
        if (error) {
          core_.count(CarrierCounter::receive_errors);
        } else {
          const ByteSpan datagram(port.buffer.data(), octets);
          const auto from = port.from.address().to_v4().to_uint();
          if (core_.on_datagram(from, datagram)) on_datagram_(datagram);
        }
        receive(port);
      });
}

void CarrierUdp::flush() {
  while (const auto datagram = core_.poll_datagram()) {
    boost::system::error_code error;
    out_.send_to(asio::buffer(datagram->octets),
                 udp::endpoint(address_v4(datagram->to.address), datagram->to.port), 0, error);
    if (error) core_.count(CarrierCounter::send_errors);
  }
}

}  // namespace s5066::p_mul
