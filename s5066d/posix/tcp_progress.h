// SPDX-License-Identifier: Apache-2.0
// Progress of the octets written to a TCP connection.
#pragma once

#include <cstdint>
#include <optional>

namespace s5066::posix {

struct TcpProgress {
  std::uint64_t written = 0;       // octets given to the connection since it was made
  std::uint64_t acknowledged = 0;  // the part of them that the other end's TCP has acknowledged
};

/// Returns nothing if the socket is no TCP connection, or if the system does not count.
std::optional<TcpProgress> tcp_progress(int socket);

}  // namespace s5066::posix
