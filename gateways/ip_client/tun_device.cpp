// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/tun_device.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace s5066::ip_client {
namespace {

constexpr const char* kDevice = "/dev/net/tun";
constexpr std::size_t kReadOctetsMax = 65536;

}  // namespace

Result<TunDevice> TunDevice::open(const std::string& interface) {
  posix::Fd fd(::open(kDevice, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return posix::errno_error(kDevice);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(fd.get(), TUNSETIFF, &request) != 0) {
    if (errno == EPERM) {
      return Error{ErrorCode::refused,
                   "interface " + interface +
                       ": needs CAP_NET_ADMIN, or an interface made before by `ip tuntap add dev " +
                       interface + " mode tun user USER`"};
    }
    return posix::errno_error("interface " + interface);
  }
  return TunDevice(std::move(fd));
}

Result<std::optional<Bytes>> TunDevice::read() {
  std::array<std::uint8_t, kReadOctetsMax> buffer;
  const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
  if (got >= 0) return std::optional(Bytes(buffer.begin(), buffer.begin() + got));
  if (errno == EAGAIN || errno == EINTR) return std::optional<Bytes>();
  return posix::errno_error("read of the interface");
}

bool TunDevice::write(ByteSpan datagram) {
  return ::write(fd_.get(), datagram.data(), datagram.size()) ==
         static_cast<ssize_t>(datagram.size());
}

}  // namespace s5066::ip_client
