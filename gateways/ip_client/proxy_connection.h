// SPDX-License-Identifier: Apache-2.0
// One TCP connection of the proxy and the stream that it belongs to. Memory is bounded by one read
// buffer here and by the limits of the stream. The socket is read only while the stream takes
// octets. The stream delivers only a limited number of octets that the application has not taken.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "gateways/ip_client/socks5.h"
#include "gateways/streams/stream_types.h"
#include "s5066d/base/bytes.h"

namespace s5066::ip_client {

class ProxyConnection : public std::enable_shared_from_this<ProxyConnection> {
 public:
  using Tcp = boost::asio::ip::tcp;
  using Self = std::shared_ptr<ProxyConnection>;
  /// Requests of a connection to the proxy. None is called after close().
  struct Hooks {
    /// A SOCKS5 client wants this server. The proxy answers by admit() or refuse().
    std::function<void(const Self&)> requested;
    /// The SOCKS5 client sent no valid request in time.
    std::function<void(const Self&)> nonsense;
    /// The proxy opens the stream now, because the first octets have come or have not come in time.
    std::function<void(const Self&)> ready;
    /// Passes octets to the stream. Returns how many octets the stream took.
    std::function<std::size_t(const Self&, ByteSpan)> read;
    std::function<void(const Self&)> read_end;
    std::function<void(const Self&, std::size_t)> written;
    /// The connection has ended. `failed` is false if both directions ended in order.
    std::function<void(const Self&, bool failed)> over;
  };

  ProxyConnection(Tcp::socket socket, const Hooks& hooks);

  // Our side of a stream that we open.
  void serve_socks();
  void admit();
  void refuse(Socks5::Reply reply);
  /// Sends the octets that are written, then closes.
  void end();
  /// Serves an intercepted connection. The server is the local address of the socket.
  void serve_intercepted(const streams::Target& target);

  // Our side of a stream that a far end opened.
  void serve_connected();

  /// Call when the stream takes octets again.
  void on_writable();
  /// Sends octets of the stream to the application.
  void write(Bytes octets);
  void write_end();
  /// Closes the socket and calls no hook. If `reset` is true, the application sees a reset (RST).
  void close(bool reset);

  const streams::Target& target() const { return target_; }
  Tcp::socket& socket() { return socket_; }
  std::optional<streams::StreamId> stream;

 private:
  void read_request();
  void become_ready();
  void wait_for_first_octets();
  void read();
  void give(std::size_t octets);
  void write_next();
  void end_if_over();
  void fail();

  Tcp::socket socket_;
  boost::asio::steady_timer timer_;
  const Hooks* hooks_;
  Socks5 socks_;
  streams::Target target_;
  std::array<std::uint8_t, 8192> buffer_{};
  Bytes untaken_;  // octets that the stream did not take
  std::deque<Bytes> out_;
  bool writing_ = false;
  bool reading_ = false;
  bool ready_ = false;
  bool read_ended_ = false;
  bool write_end_wanted_ = false;
  bool write_ended_ = false;
  bool closed_ = false;
};

}  // namespace s5066::ip_client
