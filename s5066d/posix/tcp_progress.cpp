#include "s5066d/posix/tcp_progress.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

namespace s5066::posix {

std::optional<TcpProgress> tcp_progress(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  constexpr std::size_t kEnd = offsetof(tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked;
  if (size < kEnd) return std::nullopt;
  int outstanding = 0;
  if (::ioctl(socket, SIOCOUTQ, &outstanding) != 0 || outstanding < 0) return std::nullopt;
  return TcpProgress{.written = info.tcpi_bytes_acked + static_cast<std::uint64_t>(outstanding),
                     .acknowledged = info.tcpi_bytes_acked};
}

}  // namespace s5066::posix
