#include "modem/ptt/crash_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

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

/// Keeps one descriptor, as number 3, and lets nobody wait for the others to be closed.
void keep_only(int descriptor) {
  const int null = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard) ::dup2(null, standard);
  ::dup2(descriptor, 3);
  ::close_range(4, UINT_MAX, 0);
}

}  // namespace

Result<void> CrashGuardedPtt::key(bool on) {
  if (!guard_) {
    if (auto started = start(); !started && on) return started;
  }
  if (on) {
    if (auto told = tell(true); !told) {
      guard_.reset();
      if (auto started = start(); !started) return started;
      if (told = tell(true); !told) return told;
    }
  }
  auto moved = ptt_->key(on);
  // Only what was confirmed: if we die now, it does no harm to unkey once more.
  if (moved && !on && guard_) static_cast<void>(tell(false));
  return moved;
}

Result<void> CrashGuardedPtt::tell(bool on) {
  const std::uint8_t word = on ? kDown : kUp;
  if (::send(guard_.get(), &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return {};
  return posix::errno_error("the process that unkeys after a crash");
}

/// The second process is a grandchild, so that it is nobody's to wait for.
Result<void> CrashGuardedPtt::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return posix::errno_error("socketpair");
  }
  posix::Fd ours(ends[0]);
  const posix::Fd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return posix::errno_error("fork");
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) guard(theirs.get());
    ::_exit(grandchild > 0 ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return Error{ErrorCode::io, "no process to unkey after a crash"};
  guard_ = std::move(ours);
  return {};
}

void CrashGuardedPtt::guard(int owner) const {
  ::setsid();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  keep_only(owner);
  std::uint8_t state = kUp;
  for (;;) {
    std::uint8_t word = 0;
    const auto got = ::read(3, &word, 1);
    if (got == 1) {
      state = word;
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  for (unsigned n = 0; state == kDown && n < config_.attempts_max; ++n) {
    if (ptt_->release()) break;
    sleep_for(config_.retry);
  }
  ::_exit(0);
}

}  // namespace s5066::modem
