// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "s5066d/posix/passed_file.h"

namespace s5066::posix {
namespace {

constexpr int kFullQueueWaitMs = 5;
constexpr std::size_t kAnswerPartOctets = 16 * 1024;
constexpr std::size_t kAnswerOctetsMax = 16 * 1024 * 1024;

Error closed_by_peer() {
  return {ErrorCode::link_down, "the peer closed the connection"};
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::bad_field, path + ": path is empty or too long"};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

struct IpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<IpAddress> ip_address(const std::string& text, std::uint16_t port) {
  IpAddress address;
  auto* const four = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.size = sizeof *four;
  } else if (::inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.size = sizeof *six;
  } else {
    return Error{ErrorCode::bad_field, text + ": not an IP address"};
  }
  return address;
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Waits until the socket is ready for `events`; returns false if the time is over.
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

/// Finishes a connect that did not finish at once.
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
    // A Unix socket returns EAGAIN if its listener has a full queue; nothing reports when there is
    // room.
    if (errno == ENOENT || errno == ECONNREFUSED) {  // no process listens there
      return Error{ErrorCode::link_down, errno_error("connect to " + name).detail};
    }
    if (errno == EACCES) {
      return Error{ErrorCode::refused, errno_error("connect to " + name).detail};
    }
    if (errno != EAGAIN) return errno_error("connect to " + name);
    if (monotonic_now() >= end) return Error{ErrorCode::timed_out, "connect to " + name};
    ::poll(nullptr, 0, kFullQueueWaitMs);
  }
  return socket;
}

// Only a refused connection proves that no process listens. The probe must not wait for a process
// that does not accept.
Result<void> remove_dead_socket(const std::string& path, const sockaddr_un& address) {
  struct stat existing {};
  // bind() reports what is wrong, if anything.
  if (::lstat(path.c_str(), &existing) != 0) return {};
  if (!S_ISSOCK(existing.st_mode)) {
    return Error{ErrorCode::already_exists, path + ": the path exists and is not a socket"};
  }
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return errno_error(path);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), generic, sizeof address) == 0 || errno == EAGAIN) {
    return Error{ErrorCode::already_exists, path + ": another process listens on it"};
  }
  if (errno != ECONNREFUSED) return errno_error(path + ": cannot tell whether it is in use");
  if (::unlink(path.c_str()) != 0) return errno_error(path);
  return {};
}

}  // namespace

Result<void> check_ip_address(const std::string& text) {
  const auto address = ip_address(text, 0);
  return address ? Result<void>{} : address.error();
}

std::string peer_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  const void* const digits =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* const told = ::inet_ntop(address.ss_family, digits, text.data(), text.size());
  return told == nullptr ? "?" : told;
}

Error errno_error(const std::string& what) {
  const std::error_code code(errno, std::generic_category());
  return Error{ErrorCode::io, what + ": " + code.message()};
}

Duration monotonic_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

Duration utc_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
}

UtcSeconds to_utc_seconds(Duration since_1970) {
  return {std::chrono::duration_cast<std::chrono::seconds>(since_1970).count()};
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

Result<Fd> connect_tcp(const std::string& address, std::uint16_t port, Duration timeout) {
  const auto target = ip_address(address, port);
  if (!target) return target.error();
  auto socket = connect_to(target->storage.ss_family, target->generic(), target->size, timeout,
                           address + " port " + std::to_string(port));
  if (socket) send_at_once(socket->get());
  return socket;
}

Result<Fd> listen_tcp(const std::string& address, std::uint16_t port, int backlog) {
  const auto place = ip_address(address, port);
  if (!place) return place.error();
  const std::string name = address + " port " + std::to_string(port);
  Fd socket(::socket(place->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(name);
  const int on = 1;
  // Otherwise connections of a process that ended a moment ago keep the port.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), place->generic(), place->size) != 0) return errno_error(name);
  if (::listen(socket.get(), backlog) != 0) return errno_error(name);
  return socket;
}

Result<std::uint16_t> local_port(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return errno_error("getsockname");
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

Result<std::optional<Fd>> accept_tcp(int listener) {
  Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) {
    send_at_once(socket.get());
    return std::optional<Fd>(std::move(socket));
  }
  // The peer may have closed its connection again, which is no error of the listener.
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return std::optional<Fd>();
  return errno_error("accept");
}

Result<Fd> listen_unix(const std::string& path, int backlog, LocalAccess access) {
  const auto address = unix_address(path);
  if (!address) return address.error();
  if (auto removed = remove_dead_socket(path, *address); !removed) return removed.error();
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(path);
  // The mode of the descriptor becomes that of the file, so that it is never open to others, not
  // even for a moment.
  if (::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) return errno_error(path);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return errno_error(path);
  }
  // The mode is set after bind(), because the umask would reduce it before.
  constexpr mode_t kGroupToo = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;
  const bool open = access == LocalAccess::owner || ::chmod(path.c_str(), kGroupToo) == 0;
  if (!open || ::listen(socket.get(), backlog) != 0) {
    const Error failed = errno_error(path);
    ::unlink(path.c_str());
    return failed;
  }
  return socket;
}

void remove_socket(const std::string& path) {
  ::unlink(path.c_str());
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
    if (errno == EPIPE || errno == ECONNRESET) return closed_by_peer();
    if (errno != EAGAIN) return errno_error("send");
    const auto ready = wait_for(socket, POLLOUT, end - monotonic_now());
    if (!ready) return ready.error();
    if (!*ready) return Error{ErrorCode::timed_out, "the peer does not read"};
  }
  return {};
}

Result<std::size_t> send_some(int socket, ByteSpan bytes) {
  for (;;) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return std::size_t{0};
    if (errno == EPIPE || errno == ECONNRESET) return closed_by_peer();
    return errno_error("send");
  }
}

Result<std::size_t> receive_some(int socket, std::span<std::uint8_t> bytes, Duration timeout) {
  for (;;) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0 || errno == ECONNRESET) return closed_by_peer();
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return errno_error("receive");
    const auto ready = wait_for(socket, POLLIN, timeout);
    if (!ready) return ready.error();
    if (!*ready) return Error{ErrorCode::timed_out, "no data before the timeout"};
  }
}

void notice_dead_peer(int socket, Duration timeout) {
  constexpr int kProbes = 4;
  const auto ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
  const int seconds = ms / 1000;
  // If the system does not know an option, its own default applies.
  const auto set = [socket](int level, int option, int value) {
    static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::max(seconds / 2, 1));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(seconds / 2 / kProbes, 1));
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
}

Result<std::string> ask_control(const std::string& path, const std::string& request,
                                Duration timeout, int file) {
  const auto failed = [&path](const Error& error) {
    return Error{error.code, "control socket " + path + ": " + error.detail};
  };
  // A process that closes the connection runs, so link_down would be wrong.
  const auto broken = [&failed](const Error& error) {
    const bool closed = error.code == ErrorCode::link_down;
    return failed({closed ? ErrorCode::io : error.code, error.detail});
  };
  const auto socket = connect_unix(path, timeout);
  if (!socket && socket.error().code == ErrorCode::refused) {
    return failed({ErrorCode::refused, socket.error().detail +
                                           "; its user may ask and, with group_too: true, its "
                                           "group"});
  }
  if (!socket) return failed(socket.error());
  const std::string line = request + "\n";
  const Bytes sending(line.begin(), line.end());
  std::size_t with_file = 0;
  if (file >= 0) {
    const auto begun = send_with_file(socket->get(), sending, file);
    if (!begun) return broken(begun.error());
    with_file = *begun;
  }
  const auto sent = send_all(socket->get(), ByteSpan(sending).subspan(with_file), timeout);
  if (!sent) return broken(sent.error());
  std::string answer;
  Bytes part(kAnswerPartOctets);
  while (answer.size() < kAnswerOctetsMax) {
    const auto octets = receive_some(socket->get(), part, timeout);
    const bool at_end = !octets && octets.error().code == ErrorCode::link_down;
    if (at_end && answer.empty()) return failed({ErrorCode::io, "no answer"});
    if (at_end) return answer;
    if (!octets) return failed(octets.error());
    answer.append(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*octets));
  }
  return failed({ErrorCode::too_large, "answer"});
}

}  // namespace s5066::posix
