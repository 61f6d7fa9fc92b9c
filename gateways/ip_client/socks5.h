// SPDX-License-Identifier: Apache-2.0
// The server's side of a SOCKS5 request (RFC 1928) without authentication. Only CONNECT is offered.
// A shell gives it the octets of the client and sends its replies.
#pragma once

#include <cstdint>
#include <optional>

#include "gateways/streams/stream_types.h"
#include "s5066d/base/bytes.h"

namespace s5066::ip_client {

class Socks5 {
 public:
  enum class Reply : std::uint8_t {
    succeeded = 0,
    general_failure = 1,
    not_allowed = 2,
    network_unreachable = 3,
    host_unreachable = 4,
    refused = 5,
    command_not_supported = 7,
    address_not_supported = 8,
  };
  enum class State : std::uint8_t { greeting, request, requested, failed };
  /// Limit for the octets of the greeting and the request together.
  static constexpr std::size_t kOctetsMax = 2 + 255 + 4 + 1 + 255 + 2;

  /// Takes octets of the client. Octets after the request stay in rest().
  void on_octets(ByteSpan octets);
  /// Returns the octets to send to the client, once. Returns nothing if there are none.
  std::optional<Bytes> poll_reply();
  State state() const { return state_; }
  /// Returns the server that the client wants. Valid from the state `requested` on.
  const streams::Target& target() const { return target_; }
  const Bytes& rest() const { return in_; }

  /// Returns the answer to the request.
  static Bytes answer(Reply reply);

 private:
  bool read_greeting();
  bool read_request();
  void fail(const Bytes& reply);

  State state_ = State::greeting;
  Bytes in_;
  Bytes out_;
  streams::Target target_;
};

}  // namespace s5066::ip_client
