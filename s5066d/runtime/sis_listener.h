// The TCP side of the subnet interface service (F.16): accepts clients and carries octets between
// their connections and the node.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "s5066d/base/log.h"
#include "s5066d/runtime/asio_driver.h"
#include "s5066d/runtime/settings.h"
#include "s5066d/runtime/sis_session.h"

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
  /// Accepts nobody any more and closes every connection.
  void stop();

  std::size_t send(ClientId client, Bytes bytes) override;
  void close(ClientId client) override;
  void pause(ClientId client, bool paused) override;

 private:
  void on_accepted(boost::asio::ip::tcp::socket socket);
  void on_accept_failed(boost::system::error_code failure);
  bool is_allowed(const boost::asio::ip::address& peer) const;
  void on_session_bytes(ClientId client, ByteSpan bytes) override;
  void on_session_backlog(ClientId client, std::size_t unsent_octets) override;
  void on_session_over(ClientId client) override;

  SisListenerConfig config_;
  AsioDriver& driver_;
  LogSink& log_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::uint16_t port_ = 0;
  std::vector<boost::asio::ip::address> allowed_;
  struct Entry {
    std::shared_ptr<SisSession> session;
    bool known_to_node = true;  // false: the node has closed it, and its last octets are leaving
  };
  std::map<ClientId, Entry> sessions_;
};

}  // namespace s5066::runtime
