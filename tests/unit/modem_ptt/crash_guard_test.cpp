// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/crash_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <optional>
#include <utility>

#include "modem/ptt/cm108.h"
#include "modem/ptt/rigctld.h"
#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_loop_watch.h"
#include "s5066d/posix/main_tail.h"
#include "tests/support/patience.h"
#include "tests/support/rigctld_stand_in.h"
#include "tests/unit/modem_ptt/fifo.h"

namespace s5066::modem {
namespace {

using test::eventually;
using test::RigctldStandIn;

std::unique_ptr<Ptt> guarded(const std::string& path) {
  return std::make_unique<CrashGuardedPtt>(
      CrashGuardedPtt::Config{.key = path, .retry = std::chrono::milliseconds(1)},
      std::make_unique<Cm108Ptt>(Cm108Ptt::Config{.path = path}));
}

/// Starts a process that keys and waits to be killed. The kernel kills it when the test ends.
pid_t keying_process(const std::string& path, bool has_standard_files = true) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int standard = 0; !has_standard_files && standard < 3; ++standard) ::close(standard);
  const auto ptt = guarded(path);
  if (!ptt->key(true)) ::_exit(1);
  for (;;) ::pause();
}

TEST(CrashGuardedPtt, unkeys_when_the_process_is_killed_with_the_key_down) {
  for (const int signal : {SIGKILL, SIGABRT, SIGTERM}) {
    const Fifo chip;
    const pid_t child = keying_process(chip.path());
    ASSERT_GT(child, 0);
    ASSERT_EQ(chip.read(), cm108_report(3, true));
    EXPECT_TRUE(chip.empty());
    ASSERT_EQ(::kill(child, signal), 0);
    EXPECT_EQ(chip.read(), cm108_report(3, false));
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
}

TEST(CrashGuardedPtt, unkeys_while_the_process_is_stopped_with_the_key_down) {
  const Fifo chip;
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    CrashGuardedPtt ptt({.key = chip.path(),
                         .retry = std::chrono::milliseconds(1),
                         .keyed_max = std::chrono::milliseconds(1)},
                        std::make_unique<Cm108Ptt>(Cm108Ptt::Config{.path = chip.path()}));
    if (ptt.key(true)) ::raise(SIGSTOP);
    static_cast<void>(ptt.key(true));  // the next burst, once the process goes on
    ::raise(SIGSTOP);
    ::_exit(1);
  }
  ASSERT_GT(child, 0);
  for (int burst = 0; burst < 2; ++burst) {
    ASSERT_EQ(::waitpid(child, nullptr, WUNTRACED), child);
    ASSERT_TRUE(eventually([&] { return chip.read() == cm108_report(3, true); }));
    ASSERT_TRUE(eventually([&] { return chip.read() == cm108_report(3, false); }));
    ASSERT_EQ(::kill(child, burst == 0 ? SIGCONT : SIGKILL), 0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(CrashGuardedPtt, unkeys_for_a_process_that_was_started_without_standard_files) {
  const Fifo chip;
  const pid_t child = keying_process(chip.path(), false);
  ASSERT_GT(child, 0);
  ASSERT_EQ(chip.read(), cm108_report(3, true));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(chip.read(), cm108_report(3, false));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

/// Names the key by the test and the port, because the guard of another process may still unkey at
/// the same port.
std::string key_at(pid_t test, std::uint16_t port) {
  return std::to_string(test) + " " + std::to_string(port);
}

/// Forks a process before the stand-in for rigctld has its threads. If another thread held a lock
/// of the sanitizer's allocator at the fork, the copy would wait for that lock for ever.
class OtherProcess {
 public:
  /// The process calls `body` with the pid of the test and the port once begin() has told it.
  explicit OtherProcess(const std::function<void(pid_t test, std::uint16_t port)>& body) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const posix::Fd reading(ends[0]);
    telling_ = posix::Fd(ends[1]);
    const pid_t test = ::getpid();
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    telling_.reset();
    std::uint16_t port = 0;
    if (::read(reading.get(), &port, sizeof port) != sizeof port) ::_exit(98);
    body(test, port);
    ::_exit(99);
  }
  ~OtherProcess() {
    if (pid_ > 0) static_cast<void>(kill());
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  bool begin(std::uint16_t port) {
    return pid_ > 0 && ::write(telling_.get(), &port, sizeof port) == sizeof port;
  }
  bool kill() {
    return ::kill(pid_, SIGKILL) == 0 && ::waitpid(std::exchange(pid_, 0), nullptr, 0) > 0;
  }
  /// Waits for the end of the process and returns how it ended; nothing if it does not end.
  std::optional<int> status() {
    int status = 0;
    if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) return std::nullopt;
    pid_ = 0;
    return status;
  }

 private:
  posix::Fd telling_;
  pid_t pid_ = 0;
};

/// The second process goes on for about 20 s after its test has ended.
constexpr unsigned kAttempts = 4'000;

/// Returns what a process does that keys through rigctld and waits to be killed. `confirmations`
/// goes into the guard's configuration.
std::function<void(pid_t, std::uint16_t)> keying_rigctld(unsigned confirmations) {
  return [confirmations](pid_t test, std::uint16_t port) {
    CrashGuardedPtt ptt(
        {.key = key_at(test, port),
         .confirmations = confirmations,
         .retry = std::chrono::milliseconds(5),
         .attempts_max = kAttempts,
         .start_max = test::kPatience},
        std::make_unique<RigctldPtt>(RigctldPtt::Config{.port = port, .timeout = test::kPatience}));
    if (!ptt.key(true)) ::_exit(1);
    for (;;) ::pause();
  };
}

std::size_t count_of(const std::string& words, const std::string& word) {
  std::size_t count = 0;
  for (auto at = words.find(word); at != std::string::npos; at = words.find(word, at + 1)) ++count;
  return count;
}

TEST(CrashGuardedPtt, unkeys_until_the_radio_itself_says_that_it_is_unkeyed) {
  OtherProcess other(keying_rigctld(1));
  RigctldStandIn rig;
  rig.tell_key();
  ASSERT_TRUE(other.begin(rig.port()));
  ASSERT_TRUE(eventually([&] { return rig.done().ends_with("T 1\n"); }));
  rig.ignore_unkeying(5);
  ASSERT_TRUE(other.kill());
  EXPECT_TRUE(eventually([&] { return count_of(rig.done(), "T 0\nt\n") == 6; })) << rig.done();
}

// The program ends itself without a destructor, see posix::end_hung().
TEST(CrashGuardedPtt, unkeys_for_a_program_that_ends_because_its_main_loop_hangs) {
  OtherProcess other([](pid_t test, std::uint16_t port) {
    CrashGuardedPtt ptt(
        {.key = key_at(test, port),
         .confirmations = 1,
         .retry = std::chrono::milliseconds(1),
         .start_max = test::kPatience},
        std::make_unique<RigctldPtt>(RigctldPtt::Config{.port = port, .timeout = test::kPatience}));
    if (!ptt.key(true)) return;
    posix::LogWriter log;
    posix::MainLoopWatch watch(
        {.service = {}, .hang = {.wait = std::chrono::milliseconds(1), .waits_max = 100}}, log);
    for (volatile bool spins = true; spins;) {
    }
  });
  RigctldStandIn rig;
  rig.tell_key();
  ASSERT_TRUE(other.begin(rig.port()));
  EXPECT_TRUE(eventually([&] { return rig.done().find("T 1\nT 0\n") != std::string::npos; }))
      << rig.done();
  const auto status = other.status();
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), posix::kExitEnvironment);
}

// rigctld handles the lines of two connections in any order, so a line that keys can come after the
// first one that unkeys.
TEST(CrashGuardedPtt, unkeys_again_what_keyed_behind_the_first_unkeying) {
  OtherProcess other(keying_rigctld(kAttempts));
  RigctldStandIn rig;
  ASSERT_TRUE(other.begin(rig.port()));
  ASSERT_TRUE(eventually([&] { return rig.done().ends_with("T 1\n"); }));
  ASSERT_TRUE(other.kill());
  ASSERT_TRUE(eventually([&] { return rig.done().find("T 1\nT 0\n") != std::string::npos; }));
  RigctldPtt late({.port = rig.port(), .timeout = test::kPatience});
  ASSERT_TRUE(late.key(true).ok());
  const std::size_t keyed_at = rig.done().rfind("T 1\n");
  EXPECT_TRUE(eventually([&] { return rig.done().find("T 0\n", keyed_at) != std::string::npos; }));
}

// A guard that still unkeys for a dead process would unkey our burst, too.
TEST(CrashGuardedPtt, does_not_key_while_that_of_a_dead_process_still_unkeys) {
  OtherProcess other(keying_rigctld(1));
  RigctldStandIn rig;
  rig.tell_key();
  rig.ignore_unkeying(1'000'000);
  ASSERT_TRUE(other.begin(rig.port()));
  ASSERT_TRUE(eventually([&] { return rig.done().ends_with("T 1\n"); }));
  ASSERT_TRUE(other.kill());
  const std::size_t keyed_at = rig.done().rfind("T 1\n");
  ASSERT_TRUE(eventually([&] { return rig.done().find("T 0\n", keyed_at) != std::string::npos; }));
  const Fifo chip;
  CrashGuardedPtt ours({.key = key_at(::getpid(), rig.port())},
                       std::make_unique<Cm108Ptt>(Cm108Ptt::Config{.path = chip.path()}));
  for (const bool on : {false, true}) {
    const auto keyed = ours.key(on);
    ASSERT_FALSE(keyed.ok()) << on;
    EXPECT_EQ(keyed.error().code, ErrorCode::already_exists);
  }
  EXPECT_EQ(chip.read(), cm108_report(3, false)) << "unkeyed all the same";
  EXPECT_TRUE(chip.empty());
  CrashGuardedPtt another({.key = "another key"},
                          std::make_unique<Cm108Ptt>(Cm108Ptt::Config{.path = chip.path()}));
  EXPECT_TRUE(another.key(false).ok());
  rig.ignore_unkeying(0);
  EXPECT_TRUE(eventually([&] { return ours.key(true).ok(); }));
}

TEST(CrashGuardedPtt, leaves_no_process_to_wait_for) {
  const Fifo chip;
  const auto ptt = guarded(chip.path());
  EXPECT_TRUE(ptt->key(false).ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

/// Makes the process that unkeys a child of this process, so that the test can wait for it.
class Adopting {
 public:
  Adopting() { EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  ~Adopting() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

TEST(CrashGuardedPtt, unkeys_once_when_all_is_well_and_shows_what_it_is_for_in_its_name) {
  const Adopting adopting;
  const Fifo chip;
  {
    const auto ptt = guarded(chip.path());
    EXPECT_TRUE(ptt->key(true).ok());
    EXPECT_TRUE(ptt->key(false).ok());
    EXPECT_EQ(chip.read(), cm108_report(3, true));
    EXPECT_EQ(chip.read(), cm108_report(3, false));
  }
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(chip.empty());
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(ended.si_pid) + "/comm"), name);
  EXPECT_EQ(name, "s5066-unkey");
  EXPECT_EQ(::waitpid(ended.si_pid, nullptr, 0), ended.si_pid);
}

}  // namespace
}  // namespace s5066::modem
