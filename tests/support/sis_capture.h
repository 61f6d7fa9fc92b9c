// SPDX-License-Identifier: Apache-2.0
// Writes a SIS connection as packets for tshark.
#pragma once

#include <cstdint>

#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::test {

/// A TCP connection between a client and the default port of a server, in raw IP packets.
class SisCapture {
 public:
  SisCapture();

  /// Starts another connection, from another port of the client, for the segments that follow.
  void new_connection();
  /// Adds one segment. `at` counts from 1970.
  void add(bool to_server, ByteSpan octets, Duration at);

  const Bytes& file() const { return file_; }

 private:
  Bytes file_;
  std::uint16_t client_port_ = 40000;
  std::uint32_t sent_[2] = {1, 1};
};

}  // namespace s5066::test
