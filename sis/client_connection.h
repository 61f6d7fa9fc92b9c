// SPDX-License-Identifier: Apache-2.0
// One connection of a SIS client, by TCP, TLS or a local socket, or an attempt to connect.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "sis/client.h"

namespace s5066::sis {

/// After finish() or close() it calls no handler except that of finish(). Handlers keep it alive
/// meanwhile.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  using OnDone = std::function<void(const std::optional<Error>&)>;
  using OnBytes = std::function<void(const Result<ByteSpan>&)>;

  ClientConnection(boost::asio::io_context& io, const Client::Config& config);

  /// Resolves the name, connects, and does the TLS handshake.
  void open(OnDone on_done);
  /// Reads repeatedly until an error. The octets are valid until the handler returns.
  void read(OnBytes on_bytes);
  /// Writes octets; only one write at a time.
  void write(Bytes octets, OnDone on_done);
  /// Closes once the server has read what was written and has closed its side, or when
  /// `stop_timeout` is over. Closes at once if there is no connection yet or a write is under way.
  void finish(std::function<void()> on_closed);
  void close();

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Endpoints = std::vector<Socket::endpoint_type>;
  using TlsStream = boost::asio::ssl::stream<Socket>;

  class ReadsOn;
  void read_on();
  Socket& socket() { return tls_ ? tls_->next_layer() : plain_; }
  std::optional<Error> prepare_tls();
  std::optional<Error> connect_locally();
  void connect(const Endpoints& endpoints);
  void notice_dead_server();
  void shake_hands();
  void opened(const std::optional<Error>& error);
  void on_read(const boost::system::error_code& code, std::size_t size);
  void finished();

  const Client::Config config_;
  boost::asio::io_context& io_;
  boost::asio::ip::tcp::resolver resolver_;
  Socket plain_;
  std::optional<boost::asio::ssl::context> context_;  // outlives the stream
  std::optional<TlsStream> tls_;
  OnDone on_open_;
  OnBytes on_bytes_;
  std::function<void()> on_finished_;  // set while finishing
  boost::asio::steady_timer finish_by_;
  bool open_ = false;
  bool writing_ = false;
  bool closed_ = false;
  Bytes in_;
  Bytes out_;
};

}  // namespace s5066::sis
