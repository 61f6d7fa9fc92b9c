// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/tcp_progress.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>
#include <utility>

namespace s5066::posix {

namespace {

/// Limit on readings until two in a row agree. They differ if an acknowledgement arrives between.
constexpr int kReadingsMax = 100;

std::optional<std::uint64_t> octets_acknowledged(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  constexpr std::size_t kEnd = offsetof(tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked;
  if (size < kEnd) return std::nullopt;
  return info.tcpi_bytes_acked;
}

}  // namespace

// The two numbers come from two system calls. If an acknowledgement arrives between them, the sum
// is too small, and octets would count as acknowledged that are not. At the limit of readings the
// sum may be too large; then octets count as acknowledged a little later.
std::optional<TcpProgress> tcp_progress(int socket) {
  auto acknowledged = octets_acknowledged(socket);
  for (int reading = 1; acknowledged; ++reading) {
    int outstanding = 0;
    if (::ioctl(socket, SIOCOUTQ, &outstanding) != 0 || outstanding < 0) return std::nullopt;
    const auto before = std::exchange(acknowledged, octets_acknowledged(socket));
    if (acknowledged && (acknowledged == before || reading == kReadingsMax)) {
      return TcpProgress{.written = *acknowledged + static_cast<std::uint64_t>(outstanding),
                         .acknowledged = *acknowledged};
    }
  }
  return std::nullopt;
}

}  // namespace s5066::posix
