// SPDX-License-Identifier: Apache-2.0
// Runs a program that is a SIS client against a scripted server on a loopback port. This is header
// only, so that only the tests that include it need Boost.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/process.hpp>
#include <functional>
#include <string>
#include <vector>

#include "sis/codec.h"
#include "sis/framer.h"

namespace s5066::test {

class ProgramTest : public testing::Test {
 protected:
  static constexpr std::uint16_t kSmallMtu = 100;

  struct Outcome {
    int exit_code = -1;
    std::string out;
    std::string err;
  };

  ProgramTest()
      : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        socket_(io_),
        watchdog_(io_) {}

  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }

  void say(const sis::Primitive& primitive) {
    Bytes octets;
    encode(primitive, octets);
    boost::system::error_code gone;  // a client that has disconnected gets nothing
    boost::asio::write(socket_, boost::asio::buffer(octets), gone);
  }
  void confirm(const sis::UnidataRequest& request) {
    say(sis::UnidataRequestConfirm{.destination_sap = request.destination_sap,
                                   .destination = request.destination,
                                   .updu_part = request.updu});
  }

  /// Runs the program to its end with `input` on its standard input.
  Outcome run(const std::string& program, const std::vector<std::string>& arguments,
              const std::string& input = {}) {
    namespace bp = boost::process;
    acceptor_.async_accept([this](const auto& code, boost::asio::ip::tcp::socket socket) {
      if (code) return;
      socket_ = std::move(socket);
      read();
    });
    watchdog_.expires_after(std::chrono::seconds(60));
    Outcome outcome;
    std::future<std::string> out, err;
    bp::child child(program, bp::args(arguments),
                    bp::std_in<boost::asio::buffer(input), bp::std_out> out, bp::std_err > err, io_,
                    bp::on_exit([this](int, const std::error_code&) {
                      watchdog_.cancel();
                      acceptor_.close();  // data that the program left in the socket is still read
                    }));
    watchdog_.async_wait([&child](const auto& code) {
      if (code) return;
      ADD_FAILURE() << "the program does not end";
      child.terminate();
    });
    io_.run();
    child.wait();
    outcome.exit_code = child.exit_code();
    outcome.out = out.get();
    outcome.err = err.get();
    return outcome;
  }

  /// Accepts the bind, and confirms data if the client asks for it.
  std::function<void(const sis::Primitive&)> on_primitive = [this](const sis::Primitive& p) {
    if (const auto* bind = std::get_if<sis::BindRequest>(&p)) {
      say(sis::BindAccepted{.sap = bind->sap, .mtu = kSmallMtu});
    }
    if (const auto* request = std::get_if<sis::UnidataRequest>(&p)) {
      received.push_back(*request);
      if (request->delivery.confirmation != sis::Confirmation::none) confirm(*request);
    }
    seen.push_back(p);
  };
  std::vector<sis::UnidataRequest> received;
  std::vector<sis::Primitive> seen;

 private:
  void read() {
    socket_.async_read_some(boost::asio::buffer(in_), [this](const auto& code, std::size_t size) {
      if (code) return socket_.close();  // a client that has ended its side waits for the close
      framer_.push(ByteSpan(in_).first(size));
      while (const auto item = framer_.poll()) {
        on_primitive(*sis::decode(std::get<sis::Framer::Frame>(*item).body));
      }
      read();
    });
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer watchdog_;
  sis::Framer framer_;
  std::array<std::uint8_t, 4096> in_{};
};

}  // namespace s5066::test
