#include "modem/ptt/crash_guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "modem/ptt/cm108.h"
#include "tests/unit/modem_ptt/fifo.h"

namespace s5066::modem {
namespace {

std::unique_ptr<Ptt> guarded(const std::string& path) {
  return std::make_unique<CrashGuardedPtt>(
      CrashGuardedPtt::Config{.retry = std::chrono::milliseconds(1)},
      std::make_unique<Cm108Ptt>(Cm108Ptt::Config{.path = path}));
}

/// A process that keys and waits to be killed, as it is, at the latest, when the test ends.
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

TEST(CrashGuardedPtt, unkeys_for_a_process_that_was_started_without_standard_files) {
  const Fifo chip;
  const pid_t child = keying_process(chip.path(), false);
  ASSERT_GT(child, 0);
  ASSERT_EQ(chip.read(), cm108_report(3, true));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(chip.read(), cm108_report(3, false));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(CrashGuardedPtt, leaves_no_process_to_wait_for) {
  const Fifo chip;
  const auto ptt = guarded(chip.path());
  EXPECT_TRUE(ptt->key(false).ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

/// The process that unkeys is a child of ours after all.
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
