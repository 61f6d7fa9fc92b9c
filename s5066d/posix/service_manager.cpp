// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "s5066d/posix/fd.h"

namespace s5066::posix {
namespace {

constexpr timeval kFullSocketWait{.tv_sec = 1, .tv_usec = 0};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value > 0;
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

ServiceManager::Config ServiceManager::from_environment() {
  Config config{.socket = variable("NOTIFY_SOCKET"), .watchdog = std::nullopt};
  const std::string for_process = variable("WATCHDOG_PID");
  const bool for_us = for_process.empty() || number(for_process) == ::getpid();
  const auto microseconds = number(variable("WATCHDOG_USEC"));
  if (for_us && microseconds) config.watchdog = std::chrono::microseconds(*microseconds);
  return config;
}

Result<void> ServiceManager::tell(const std::string& state, Full when_full) const {
  if (config_.socket.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (config_.socket.size() >= sizeof(address.sun_path)) {
    return Error{ErrorCode::too_large, "NOTIFY_SOCKET"};
  }
  std::memcpy(address.sun_path, config_.socket.data(), config_.socket.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto octets =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + config_.socket.size());
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("socket");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kFullSocketWait, sizeof(kFullSocketWait));
  const int flags = MSG_NOSIGNAL | (when_full == Full::leave_out ? MSG_DONTWAIT : 0);
  const auto sent = ::sendto(socket.get(), state.data(), state.size(), flags,
                             reinterpret_cast<const sockaddr*>(&address), octets);
  if (sent < 0 && errno == EAGAIN) return Error{ErrorCode::queue_full, "NOTIFY_SOCKET"};
  if (sent < 0) return errno_error("NOTIFY_SOCKET");
  return {};
}

}  // namespace s5066::posix
