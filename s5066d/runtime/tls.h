// TLS around the connections of SIS clients: certificates on both sides, TLS 1.2 or later, and no
// way back to plain TCP.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/runtime/settings.h"
#include "s5066d/runtime/sis_session.h"

namespace s5066::runtime {

/// Our certificate and key, and the authorities whose clients are let in. Each connection shows its
/// certificate: none is taken on from an earlier one.
Result<std::unique_ptr<boost::asio::ssl::context>> load_tls(const TlsConfig& config);

/// The common name and the alternative names (DNS, URI, mail) of the certificate of the peer.
std::vector<std::string> peer_names(const TlsStream& stream);

/// One handshake that is under way.
class TlsHandshake {
 public:
  /// Gets null and the reason when it has failed or taken too long.
  using Done = std::function<void(std::unique_ptr<TlsStream>, const std::string& failure)>;

  virtual ~TlsHandshake() = default;
  /// At once; no call follows.
  virtual void abandon() = 0;

  /// Keeps itself alive until `done` was called.
  static std::shared_ptr<TlsHandshake> start(boost::asio::ip::tcp::socket socket,
                                             boost::asio::ssl::context& context, Duration timeout,
                                             Done done);
};

}  // namespace s5066::runtime
