#include "modem/audio/posix_io.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace s5066::modem {
namespace {

constexpr int kFullQueueWaitMs = 5;

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::bad_field, "socket path is empty or too long: " + path};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Until the socket is ready for `events`; false at the end of the time.
Result<bool> wait_for(int socket, short events, Duration timeout) {
  const Duration end = monotonic_now() + timeout;
  for (;;) {
    const Duration left = std::max(Duration::zero(), end - monotonic_now());
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left);
    pollfd poller{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&poller, 1, static_cast<int>(left_ms.count()));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return errno_error("poll");
  }
}

/// The rest of a connect that did not finish at once.
Result<Fd> connected(Fd socket, Duration end, const std::string& name) {
  const auto ready = wait_for(socket.get(), POLLOUT, end - monotonic_now());
  if (!ready) return ready.error();
  if (!*ready) return Error{ErrorCode::timed_out, "connect to " + name};
  int error = 0;
  socklen_t error_size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_size) != 0) {
    return errno_error("connect to " + name);
  }
  errno = error;
  if (error != 0) return errno_error("connect to " + name);
  return socket;
}

Result<Fd> connect_to(int family, const sockaddr* address, socklen_t size, Duration timeout,
                      const std::string& name) {
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error("socket");
  const Duration end = monotonic_now() + timeout;
  while (::connect(socket.get(), address, size) != 0) {
    if (errno == EINPROGRESS) return connected(std::move(socket), end, name);
    // A Unix socket whose listener has a full queue; nothing tells when it has not.
    if (errno != EAGAIN) return errno_error("connect to " + name);
    if (monotonic_now() >= end) return Error{ErrorCode::timed_out, "connect to " + name};
    ::poll(nullptr, 0, kFullQueueWaitMs);
  }
  return socket;
}

bool somebody_listens(const sockaddr_un& address) {
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return true;
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(probe.get(), generic, sizeof address) == 0 || errno != ECONNREFUSED;
}

}  // namespace

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Error errno_error(const std::string& what) {
  const std::error_code code(errno, std::generic_category());
  return Error{ErrorCode::io, what + ": " + code.message()};
}

Duration monotonic_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

Result<Fd> connect_unix(const std::string& path, Duration timeout) {
  const auto address = unix_address(path);
  if (!address) return address.error();
  return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&*address), sizeof *address, timeout,
                    path);
}

Result<Fd> connect_loopback(std::uint16_t port, Duration timeout) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect_to(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address, timeout,
                    "127.0.0.1 port " + std::to_string(port));
}

Result<Fd> listen_unix(const std::string& path, int backlog) {
  const auto address = unix_address(path);
  if (!address) return address.error();
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) return Error{ErrorCode::already_exists, path + " is a file"};
    if (somebody_listens(*address)) return Error{ErrorCode::already_exists, path + " is in use"};
    if (::unlink(path.c_str()) != 0) return errno_error("remove " + path);
  }
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error("socket");
  // The mode of the descriptor becomes that of the file, so there is no moment when it is open to
  // others.
  if (::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) return errno_error("fchmod " + path);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return errno_error("bind " + path);
  }
  if (::listen(socket.get(), backlog) != 0) return errno_error("listen on " + path);
  return socket;
}

Result<void> send_all(int socket, ByteSpan bytes, Duration timeout) {
  const Duration end = monotonic_now() + timeout;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return Error{ErrorCode::link_down, "peer is gone"};
    if (errno != EAGAIN) return errno_error("send");
    const auto ready = wait_for(socket, POLLOUT, end - monotonic_now());
    if (!ready) return ready.error();
    if (!*ready) return Error{ErrorCode::timed_out, "peer does not read"};
  }
  return {};
}

Result<std::size_t> receive_some(int socket, std::span<std::uint8_t> bytes, Duration timeout) {
  for (;;) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0 || errno == ECONNRESET) return Error{ErrorCode::link_down, "peer is gone"};
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return errno_error("receive");
    const auto ready = wait_for(socket, POLLIN, timeout);
    if (!ready) return ready.error();
    if (!*ready) return Error{ErrorCode::timed_out, "nothing came"};
  }
}

}  // namespace s5066::modem
