#include "modem/ptt/crash_guard.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modem/ptt/cm108.h"
#include "tests/unit/modem_ptt/fifo.h"

namespace s5066::modem {
namespace {

std::unique_ptr<Ptt> guarded(const std::string& path) {
  return std::make_unique<CrashGuardedPtt>(
      CrashGuardedPtt::Config{.retry = std::chrono::milliseconds(1)},
      std::make_unique<Cm108Ptt>(Cm108Ptt::Config{.path = path}));
}

/// A process that keys and waits to be killed.
pid_t keying_process(const std::string& path) {
  const pid_t child = ::fork();
  if (child != 0) return child;
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

TEST(CrashGuardedPtt, unkeys_once_and_leaves_no_process_to_wait_for_when_all_is_well) {
  const Fifo chip;
  {
    const auto ptt = guarded(chip.path());
    EXPECT_TRUE(ptt->key(true).ok());
    EXPECT_TRUE(ptt->key(false).ok());
    EXPECT_EQ(chip.read(), cm108_report(3, true));
    EXPECT_EQ(chip.read(), cm108_report(3, false));
  }
  EXPECT_TRUE(chip.empty());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace s5066::modem
