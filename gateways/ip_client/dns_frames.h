// SPDX-License-Identifier: Apache-2.0
// Splits the octets of a stream into DNS messages. Each message follows its length of two octets
// (RFC 1035 section 4.2.2).
#pragma once

#include <cstddef>
#include <optional>

#include "s5066d/base/bytes.h"

namespace s5066::ip_client {

class DnsFrames {
 public:
  /// A message of more than `octets_max` octets is an error.
  explicit DnsFrames(std::size_t octets_max) : octets_max_(octets_max) {}

  void on_octets(ByteSpan octets);
  /// Returns the next complete message, or nothing if there is none.
  std::optional<Bytes> poll_message();
  /// True after a message was empty or too large. No further messages are returned.
  bool failed() const { return failed_; }

  /// Returns the message with its length before it.
  static Bytes framed(ByteSpan message);

 private:
  std::size_t octets_max_;
  Bytes in_;
  bool failed_ = false;
};

}  // namespace s5066::ip_client
