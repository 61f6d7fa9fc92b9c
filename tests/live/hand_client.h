// SPDX-License-Identifier: Apache-2.0
// A client that sends and awaits single primitives, over a tap of its own.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <vector>

#include "sis/codec.h"
#include "sis/framer.h"
#include "sis/text.h"
#include "tests/live/process.h"
#include "tests/live/sis_tap.h"

namespace s5066::live {

class HandClient {
 public:
  explicit HandClient(std::uint16_t server_port) : tap_(server_port), socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), tap_.port()});
    socket_.non_blocking(true);
  }

  void send(const sis::Primitive& primitive) {
    Bytes octets;
    encode(primitive, octets);
    boost::asio::write(socket_, boost::asio::buffer(octets));
  }

  /// Waits for the next primitive of this type; skips others before it.
  template <typename T>
  T next() {
    std::optional<T> found;
    live::await([&] {
      read();
      while (at_ < received_.size() && !found) {
        if (const T* p = std::get_if<T>(&received_[at_++])) found = *p;
      }
      return found.has_value();
    });
    EXPECT_TRUE(found) << to_string(sis::type_of(T{})) << " did not come";
    return found.value_or(T{});
  }
  /// Sends `request`, then works like next().
  template <typename T>
  T ask(const sis::Primitive& request) {
    send(request);
    return next<T>();
  }

  void bind(SapId sap, std::uint8_t rank = 3,
            sis::TransmissionMode mode = sis::TransmissionMode::arq) {
    const sis::BindRequest request{.sap = sap, .rank = rank, .service = {.mode = mode}};
    EXPECT_EQ(ask<sis::BindAccepted>(request), (sis::BindAccepted{.sap = sap, .mtu = sis::kMtu}));
  }

  const SisTap& tap() const { return tap_; }

 private:
  void read() {
    std::array<std::uint8_t, 4096> in;
    boost::system::error_code code;
    const std::size_t size = socket_.read_some(boost::asio::buffer(in), code);
    if (code) return;
    framer_.push(ByteSpan(in).first(size));
    while (const auto item = framer_.poll()) {
      auto primitive = sis::decode(std::get<sis::Framer::Frame>(*item).body);
      ASSERT_TRUE(primitive.ok());
      received_.push_back(*std::move(primitive));
    }
  }

  SisTap tap_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  sis::Framer framer_;
  std::vector<sis::Primitive> received_;
  std::size_t at_ = 0;
};

}  // namespace s5066::live
