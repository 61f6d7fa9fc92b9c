// File descriptors with an owner, and socket calls that never wait longer than they were told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// "bind: Address already in use"
Error errno_error(const std::string& what);

/// std::chrono::steady_clock, as a time since its own beginning.
Duration monotonic_now();

/// All of these are non-blocking sockets, closed on exec.
Result<Fd> connect_unix(const std::string& path, Duration timeout);
Result<Fd> connect_loopback(std::uint16_t port, Duration timeout);
/// Only for the owner of the process; a socket file that nobody listens on is replaced.
Result<Fd> listen_unix(const std::string& path, int backlog);

/// All of them, or an error: timed_out, or link_down when the peer is gone.
Result<void> send_all(int socket, ByteSpan bytes, Duration timeout);
/// Waits for the first octets and takes what there is. timed_out, or link_down at the end.
Result<std::size_t> receive_some(int socket, std::span<std::uint8_t> bytes, Duration timeout);

}  // namespace s5066::modem
