// SPDX-License-Identifier: Apache-2.0
// TLS around the connections of SIS clients: certificates on both sides, TLS 1.2 or later, and no
// fallback to plain TCP.
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

/// Loads our certificate and key, and the authorities whose clients are allowed. Each connection
/// must show its certificate; no session is resumed.
Result<std::unique_ptr<boost::asio::ssl::context>> load_tls(const TlsConfig& config);

/// Returns the common name and the alternative names (DNS, URI, mail) of the peer's certificate.
std::vector<std::string> peer_names(const TlsStream& stream);

/// One handshake in progress.
class TlsHandshake {
 public:
  /// Gets null and the reason if the handshake has failed or taken too long.
  using Done = std::function<void(std::unique_ptr<TlsStream>, const std::string& failure)>;

  virtual ~TlsHandshake() = default;
  /// Ends the handshake at once; no call follows.
  virtual void abandon() = 0;

  /// Starts a handshake, which keeps itself alive until `done` was called.
  static std::shared_ptr<TlsHandshake> start(boost::asio::ip::tcp::socket socket,
                                             boost::asio::ssl::context& context, Duration timeout,
                                             Done done);
};

}  // namespace s5066::runtime
