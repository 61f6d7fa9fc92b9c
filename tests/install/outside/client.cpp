// SPDX-License-Identifier: Apache-2.0
// Connects to a server of its own that closes at once, and handles the loss as documented.
#include <sis/client.h>

#include <boost/asio/ip/tcp.hpp>
#include <optional>

using namespace s5066;
using boost::asio::ip::tcp;

int main() {
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  acceptor.async_accept([](const auto&, tcp::socket) {});
  sis::Client::Config config;
  config.host = "127.0.0.1";
  config.port = acceptor.local_endpoint().port();
  bool lost = false;
  std::optional<sis::Client> client;
  client.emplace(io, config, 1, [&](const sis::Event& event) {
    lost = std::holds_alternative<sis::event::Lost>(event);
    client->stop();
  });
  client->start();
  io.run();
  return lost ? 0 : 1;
}
