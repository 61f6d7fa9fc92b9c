// SPDX-License-Identifier: Apache-2.0
// The subnet interface service (F.16) at its sockets: accepts clients over TCP, plain or with TLS,
// and over a local socket, and carries octets between their connections and the node.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s5066d/base/log.h"
#include "s5066d/runtime/asio_driver.h"
#include "s5066d/runtime/connection_gate.h"
#include "s5066d/runtime/settings.h"
#include "s5066d/runtime/sis_session.h"
#include "s5066d/runtime/tls.h"

namespace s5066::runtime {

class SisListener final : public ClientPort, private SisSessionOwner {
 public:
  SisListener(boost::asio::io_context& io, const SisListenerConfig& config, AsioDriver& driver,
              LogSink& log);
  ~SisListener();

  /// Binds the port and the local socket; clients are accepted only after accept().
  Result<void> open();
  void accept();
  /// Returns, after open(), the configured port, or the free one that was found for 0.
  std::uint16_t port() const { return port_; }
  /// Stops accepting. Output for clients still leaves, within a few seconds. `done` is called when
  /// the last client has gone; the node gets no more calls for any of them.
  void finish(std::function<void()> done);
  /// Takes over the allow list and the limits and times of connections, and reads the certificates
  /// again. Clients that are no longer allowed are disconnected. Changed bind rights apply from a
  /// client's next connection on. After an error everything is as before.
  Result<void> change(const SisListenerConfig& config);
  /// Stops at once; output that was not taken is lost.
  void stop();

  std::size_t send(ClientId client, const Bytes& bytes) override;
  void close(ClientId client, bool discard_unsent) override;
  void pause(ClientId client, bool paused) override;

 private:
  /// The other end of a connection, and the names of its certificate if it has one.
  struct Caller {
    Peer peer;
    std::string origin;  // origin as operators see it
    std::vector<std::string> names{};
  };
  struct Entry {
    std::shared_ptr<SisSession> session;
    Caller caller;
    bool known_to_node = true;  // false: the node has closed it, and its last octets are leaving
  };

  template <typename Acceptor>
  void accept_at(Acceptor& acceptor, boost::asio::steady_timer& retry);
  void on_accepted(boost::asio::ip::tcp::socket socket);
  void on_accepted(LocalStream socket);
  Result<void> open_local();
  bool admit(const Caller& caller);
  void shake_hands(boost::asio::ip::tcp::socket socket, const Caller& caller);
  void on_handshake_over(std::uint64_t number, Caller caller, std::unique_ptr<TlsStream> stream,
                         const std::string& failure);
  template <typename Stream>
  void serve(Stream stream, const Caller& caller);
  void refuse(const Caller& caller, const std::string& reason);
  void accept_no_more();
  void on_session_bytes(ClientId client, ByteSpan bytes) override;
  void on_session_taken(ClientId client, std::size_t octets) override;
  void on_session_over(ClientId client, boost::system::error_code why,
                       std::size_t unwritten) override;

  SisListenerConfig config_;
  AsioDriver& driver_;
  LogSink& log_;
  ConnectionGate gate_;
  std::unique_ptr<boost::asio::ssl::context> tls_;  // empty: plain TCP
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::local::stream_protocol::acceptor local_acceptor_;
  boost::asio::steady_timer retry_;
  boost::asio::steady_timer local_retry_;
  bool local_bound_ = false;
  std::uint16_t port_ = 0;
  std::map<ClientId, Entry> sessions_;
  std::uint64_t handshakes_begun_ = 0;
  std::map<std::uint64_t, std::shared_ptr<TlsHandshake>> handshakes_;
  std::function<void()> on_finished_;
};

}  // namespace s5066::runtime
