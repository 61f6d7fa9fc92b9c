// The TCP side of the subnet interface service (F.16): accepts clients, plain or with TLS, and
// carries octets between their connections and the node.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
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

  /// Binds the port; clients are not accepted before accept().
  Result<void> open();
  void accept();
  /// After open(): the port asked for, or the free one that was found for 0.
  std::uint16_t port() const { return port_; }
  /// Accepts nobody any more. What was sent to clients still leaves, within a few seconds; `done`
  /// is called when the last of them has gone, and the node hears no more of any.
  void finish(std::function<void()> done);
  /// At once; what was not taken is lost.
  void stop();

  std::size_t send(ClientId client, const Bytes& bytes) override;
  void close(ClientId client, bool discard_unsent) override;
  void pause(ClientId client, bool paused) override;

 private:
  using Peer = boost::asio::ip::address;
  struct Entry {
    std::shared_ptr<SisSession> session;
    Peer peer;
    bool known_to_node = true;  // false: the node has closed it, and its last octets are leaving
  };

  void on_accepted(boost::asio::ip::tcp::socket socket);
  void on_accept_failed(boost::system::error_code failure);
  void shake_hands(boost::asio::ip::tcp::socket socket, const Peer& peer);
  void on_handshake_over(std::uint64_t number, const Peer& peer, std::unique_ptr<TlsStream> stream,
                         const std::string& failure);
  template <typename Stream>
  void serve(Stream stream, const Peer& peer, const std::vector<std::string>& names);
  void refuse(const Peer& peer, const std::string& reason);
  void accept_no_more();
  void on_session_bytes(ClientId client, ByteSpan bytes) override;
  void on_session_over(ClientId client) override;

  SisListenerConfig config_;
  AsioDriver& driver_;
  LogSink& log_;
  ConnectionGate gate_;
  std::unique_ptr<boost::asio::ssl::context> tls_;  // none: plain TCP
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::uint16_t port_ = 0;
  std::map<ClientId, Entry> sessions_;
  std::uint64_t handshakes_begun_ = 0;
  std::map<std::uint64_t, std::shared_ptr<TlsHandshake>> handshakes_;
  std::function<void()> on_finished_;
};

}  // namespace s5066::runtime
