// SPDX-License-Identifier: Apache-2.0
// A scripted SIS server for tests of clients: it binds whoever asks, and keeps what it is to send.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "sis/codec.h"
#include "sis/framer.h"

namespace s5066::test {

class SisServerStandIn {
 public:
  using error_code = boost::system::error_code;
  using tcp = boost::asio::ip::tcp;

  explicit SisServerStandIn(SapId sap)
      : acceptor_(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
        sap_(sap),
        socket_(io) {
    accept();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void say(const sis::Primitive& primitive) {
    Bytes octets;
    encode(primitive, octets);
    error_code gone;
    boost::asio::write(socket_, boost::asio::buffer(octets), gone);
  }
  void drop() { socket_.close(); }

  boost::asio::io_context io;
  std::optional<sis::SubnetAvailability> state;  // told with each bind
  std::vector<sis::UnidataRequest> sent;
  int bound = 0;

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& code, tcp::socket socket) {
      if (code) return;
      socket_ = std::move(socket);
      framer_ = {};
      read();
      accept();
    });
  }
  void read() {
    socket_.async_read_some(
        boost::asio::buffer(in_), [this](const error_code& code, std::size_t octets) {
          if (code) return;
          framer_.push(ByteSpan(in_.data(), octets));
          while (auto item = framer_.poll()) {
            const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
            if (frame == nullptr) continue;
            auto primitive = sis::decode(frame->body);
            if (!primitive) continue;
            if (std::holds_alternative<sis::BindRequest>(*primitive)) {
              say(sis::BindAccepted{.sap = sap_});
              if (state) say(*state);
              ++bound;
            } else if (auto* request = std::get_if<sis::UnidataRequest>(&*primitive)) {
              sent.push_back(std::move(*request));
            }
          }
          read();
        });
  }

  tcp::acceptor acceptor_;
  SapId sap_;
  tcp::socket socket_;
  sis::Framer framer_;
  std::array<std::uint8_t, 4096> in_{};
};

}  // namespace s5066::test
