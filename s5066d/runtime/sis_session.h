// One client's TCP connection: reads when the node allows it, writes one primitive per operation.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"

namespace s5066::runtime {

class SisSession;

/// What the listener wants to hear. A session makes no call after on_session_over.
class SisSessionOwner {
 public:
  virtual void on_session_bytes(ClientId client, ByteSpan bytes) = 0;
  virtual void on_session_backlog(ClientId client, std::size_t unsent_octets) = 0;
  virtual void on_session_over(ClientId client) = 0;

 protected:
  ~SisSessionOwner() = default;
};

class SisSession : public std::enable_shared_from_this<SisSession> {
 public:
  SisSession(boost::asio::ip::tcp::socket socket, ClientId id, std::size_t read_octets_max,
             SisSessionOwner& owner);

  void start() { read(); }
  /// One primitive. Returns the octets that wait, these included.
  std::size_t send(Bytes bytes);
  void pause(bool paused);
  /// Sends what waits, says that this was all, and gives the client a moment to read it.
  void finish();
  /// At once; no call to the owner follows.
  void abandon();

 private:
  void read();
  void on_read(boost::system::error_code failure, std::size_t count);
  void write();
  void on_written(boost::system::error_code failure);
  void say_goodbye();
  void end();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer linger_;
  const ClientId id_;
  SisSessionOwner* owner_;  // null once it need not hear of us
  Bytes input_;
  std::deque<Bytes> unsent_;  // the front one is being written; bounded by the node, which is told
  std::size_t unsent_octets_ = 0;
  std::size_t unsent_reported_ = 0;
  bool paused_ = false;
  bool reading_ = false;
  bool finishing_ = false;
  bool input_over_ = false;
};

}  // namespace s5066::runtime
