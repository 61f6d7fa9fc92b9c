// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/crash_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "s5066d/posix/socket.h"

namespace s5066::modem {
namespace {

constexpr std::uint8_t kUp = 0;
constexpr std::uint8_t kDown = 1;

void sleep_for(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec time{.tv_sec = seconds.count(),
                      .tv_nsec = std::chrono::nanoseconds(duration - seconds).count()};
  ::nanosleep(&time, nullptr);
}

constexpr int kOwner = 3;

/// Keeps one descriptor, as kOwner, and closes the others, so that no process waits for their end.
bool keep_only(int descriptor) {
  // The descriptor is first copied above the standard ones, because it has the number of one of
  // these when the server was started without standard input.
  const int kept = ::fcntl(descriptor, F_DUPFD, kOwner);
  const int null = ::open("/dev/null", O_RDWR);
  if (kept < 0 || null < 0) return false;
  for (int standard = 0; standard < kOwner; ++standard) {
    if (::dup2(null, standard) < 0) return false;
  }
  return ::dup2(kept, kOwner) == kOwner && ::close_range(kOwner + 1, UINT_MAX, 0) == 0;
}

/// The process that unkeys this key after a crash holds the mark. It is the name of a socket, which
/// disappears when its process ends, however it ends.
Result<posix::Fd> mark(const std::string& key) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = "s5066-unkey " + key;
  name.resize(std::min(name.size(), sizeof address.sun_path - 1));
  // The 0 in front makes it an abstract name and no file.
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  posix::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return posix::errno_error("socket");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return socket;
  if (errno != EADDRINUSE) return posix::errno_error("bind");
  return Error{ErrorCode::already_exists,
               "the transmitter is still being unkeyed after a crash; this may take two minutes"};
}

}  // namespace

Result<void> CrashGuardedPtt::key(bool on) {
  Result<void> started;
  if (!guard_) started = start();
  if (!started && on) return started;
  if (on) {
    if (auto told = tell(true); !told) {
      guard_.reset();
      if (started = start(); !started) return started;
      if (told = tell(true); !told) return told;
    }
  }
  auto moved = ptt_->key(on);
  // The second process is told only after the unkeying was confirmed, because one more unkeying
  // after a crash does no harm.
  if (moved && !on && guard_) static_cast<void>(tell(false));
  if (moved && !started && started.error().code == ErrorCode::already_exists) return started;
  return moved;
}

Result<void> CrashGuardedPtt::tell(bool on) {
  const std::uint8_t word = on ? kDown : kUp;
  if (::send(guard_.get(), &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return {};
  return posix::errno_error("the process that unkeys after a crash");
}

/// The second process is a grandchild, so that no process has to wait for its end.
Result<void> CrashGuardedPtt::start() {
  if (auto marked = mark(config_.key);
      !marked && marked.error().code == ErrorCode::already_exists) {
    return marked.error();
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return posix::errno_error("socketpair");
  }
  posix::Fd ours(ends[0]);
  posix::Fd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return posix::errno_error("fork");
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) guard(theirs.get(), ours.get());
    ::_exit(grandchild > 0 ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  theirs.reset();  // the end of that process then ends the wait below
  std::array<std::uint8_t, 1> ready;
  if (status != 0 || !posix::receive_some(ours.get(), ready, config_.start_max)) {
    return Error{ErrorCode::io, "the process that unkeys after a crash could not be started"};
  }
  guard_ = std::move(ours);
  return {};
}

void CrashGuardedPtt::unkey_until_confirmed() const {
  const auto marked = mark(config_.key);  // unkeying goes on if this fails
  unsigned confirmed = 0;
  for (unsigned n = 0; n < config_.attempts_max; ++n) {
    const bool unkeyed = ptt_->release() && ptt_->confirm_unkeyed();
    confirmed = unkeyed ? confirmed + 1 : 0;
    if (confirmed == config_.confirmations) return;
    sleep_for(config_.retry);
  }
}

// A message or the end of the owner ends the wait; both are left to be read.
void CrashGuardedPtt::release_overdue() const {
  using std::chrono::milliseconds;
  for (Duration wait = config_.keyed_max;; wait = config_.retry) {
    pollfd owner{.fd = kOwner, .events = POLLIN, .revents = 0};
    const auto ms = std::chrono::ceil<milliseconds>(wait).count();
    if (::poll(&owner, 1, static_cast<int>(ms)) != 0) return;
    static_cast<void>(ptt_->release());
  }
}

void CrashGuardedPtt::guard(int owner, int owners_end) const {
  ::close(owners_end);  // otherwise its end would not be noticed
  ::setsid();
  ::prctl(PR_SET_NAME, "s5066-unkey");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  if (!keep_only(owner)) ::_exit(1);
  std::uint8_t state = kUp;
  if (::send(kOwner, &state, 1, MSG_NOSIGNAL) != 1) ::_exit(1);
  for (;;) {
    if (state == kDown) release_overdue();
    std::uint8_t word = 0;
    const auto got = ::read(kOwner, &word, 1);
    if (got == 1) {
      state = word;
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  if (state == kDown) unkey_until_confirmed();
  ::_exit(0);
}

}  // namespace s5066::modem
