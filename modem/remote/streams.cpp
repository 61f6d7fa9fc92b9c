// SPDX-License-Identifier: Apache-2.0
#include "modem/remote/streams.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "s5066d/base/assert.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::remote {
namespace {

constexpr std::size_t kPart = 16 * 1024;
/// The limit lets the other connection proceed when one never pauses.
constexpr unsigned kPartsMax = 16;

template <typename Container>
Result<void> write_from(int socket, Container& octets) {
  if (octets.empty()) return {};
  const auto* const first = reinterpret_cast<const std::uint8_t*>(octets.data());
  const auto sent = posix::send_some(socket, ByteSpan(first, octets.size()));
  if (!sent) return sent.error();
  octets.erase(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(*sent));
  return {};
}

template <typename Container>
Result<void> write_watched(int socket, Container& octets, StallWatch& watch, Duration stalled_max) {
  const std::size_t before = octets.size();
  if (auto wrote = write_from(socket, octets); !wrote) return wrote;
  const bool moved = octets.size() < before;
  if (watch.look(!octets.empty(), moved, posix::monotonic_now()) <= stalled_max) return {};
  return Error{ErrorCode::timed_out, "the other end does not read"};
}

}  // namespace

Wakeup::Wakeup() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  S5066_ASSERT(event_);
}

// These calls fail only when the count is full or empty, and then the state is already the wanted
// one.
void Wakeup::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

void Wakeup::clear() {
  std::uint64_t count = 0;
  static_cast<void>(!::read(event_.get(), &count, sizeof count));
}

void wait_for_any(const std::vector<int>& to_read, const std::vector<int>& to_write,
                  Duration timeout) {
  std::vector<pollfd> polled;
  for (const int fd : to_read) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  for (const int fd : to_write) polled.push_back({.fd = fd, .events = POLLOUT, .revents = 0});
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(timeout, Duration{}));
  ::poll(polled.data(), polled.size(), static_cast<int>(wait.count()));
}

Result<void> read_all(int socket, const std::function<Result<void>(ByteSpan)>& take) {
  Bytes part(kPart);
  for (unsigned i = 0; i < kPartsMax; ++i) {
    const auto got = posix::receive_some(socket, part, Duration{});
    if (!got && got.error().code == ErrorCode::timed_out) return {};
    if (!got) return got.error();
    if (auto taken = take(ByteSpan(part).first(*got)); !taken) return taken;
  }
  return {};
}

Result<void> write_some(int socket, std::string& octets) {
  return write_from(socket, octets);
}
Result<void> write_some(int socket, Bytes& octets) {
  return write_from(socket, octets);
}

Result<void> write_some(int socket, std::string& octets, StallWatch& watch, Duration stalled_max) {
  return write_watched(socket, octets, watch, stalled_max);
}
Result<void> write_some(int socket, Bytes& octets, StallWatch& watch, Duration stalled_max) {
  return write_watched(socket, octets, watch, stalled_max);
}

std::string_view text_of(ByteSpan octets) {
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

}  // namespace s5066::modem::remote
