// SPDX-License-Identifier: Apache-2.0
// One client's connection, over TCP, inside TLS or over a local socket. It reads when the node
// allows it, and writes in one call all output since its last write.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::runtime {

using PlainStream = boost::asio::ip::tcp::socket;
using LocalStream = boost::asio::local::stream_protocol::socket;
using TlsStream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;

/// Events for the listener. A session makes no call after on_session_over.
class SisSessionOwner {
 public:
  virtual void on_session_bytes(ClientId client, ByteSpan bytes) = 0;
  /// The client's TCP has acknowledged `octets` more, in the order of send().
  virtual void on_session_taken(ClientId client, std::size_t octets) = 0;
  /// `why` is the system's reason for the end; success if we ended it. The last `unwritten` octets
  /// of send() were never given to the connection.
  virtual void on_session_over(ClientId client, boost::system::error_code why,
                               std::size_t unwritten) = 0;

 protected:
  ~SisSessionOwner() = default;
};

/// A session keeps itself alive while an operation of its own is under way.
class SisSession {
 public:
  virtual ~SisSession() = default;

  virtual void start() = 0;
  /// Sends one primitive. Returns the octets that wait, these included.
  virtual std::size_t send(const Bytes& bytes) = 0;
  virtual void pause(bool paused) = 0;
  /// Sends what waits, announces the end of output, and gives the client time to read it.
  virtual void finish() = 0;
  /// Closes at once; waiting output is lost and the client's side is reset. No call to the owner
  /// follows.
  virtual void abandon() = 0;
};

struct SisSessionSetup {
  ClientId id;
  std::size_t read_octets_max = 0;  // octets read from the socket at a time
  Duration linger{};  // time after finish(); output that the client has not taken by then is lost
  SisSessionOwner& owner;
};

std::shared_ptr<SisSession> make_session(PlainStream stream, const SisSessionSetup& setup);
std::shared_ptr<SisSession> make_session(LocalStream stream, const SisSessionSetup& setup);
/// Call after the stream's handshake.
std::shared_ptr<SisSession> make_session(std::unique_ptr<TlsStream> stream,
                                         const SisSessionSetup& setup);

}  // namespace s5066::runtime
