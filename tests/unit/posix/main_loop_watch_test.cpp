// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/main_loop_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "s5066d/posix/log_writer.h"
#include "tests/support/fake_service_manager.h"

namespace s5066::posix {
namespace {

using std::chrono::milliseconds;

class Lines final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    text_ += std::string(line) + "\n";
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

/// A loop with this timer makes one turn each time the test calls next().
struct FakeTimer {
  void expires_after(Duration wait) { waits.push_back(wait); }
  template <typename Handler>
  void async_wait(Handler handler) {
    next = [handler] { handler(false); };
  }
  std::vector<Duration> waits;
  std::function<void()> next;
};

constexpr HangWatch::Config kPatient{.wait = std::chrono::seconds(10), .waits_max = 1000};

TEST(MainLoopWatch, tells_the_service_manager_when_it_serves_turns_and_ends) {
  for (const bool abstract : {false, true}) {
    test::FakeServiceManager manager("test", abstract);
    Lines log;
    MainLoopWatch watch({.service = {.socket = manager.socket_name(), .watchdog = milliseconds(4)},
                         .hang = kPatient},
                        log);
    EXPECT_TRUE(manager.heard().empty());
    watch.ready();
    EXPECT_EQ(manager.heard(), std::vector<std::string>{"READY=1"});
    EXPECT_EQ(watch.tick(), milliseconds(1));
    watch.turned();
    EXPECT_EQ(manager.heard().back(), "WATCHDOG=1");
    watch.stopping();
    const std::size_t said = manager.heard().size();
    EXPECT_EQ(manager.heard().back(), "STOPPING=1");
    watch.turned();
    EXPECT_EQ(manager.heard().size(), said) << "alive no more";
    EXPECT_EQ(log.text(), "");
  }
}

TEST(MainLoopWatch, says_nothing_where_nobody_wants_to_hear_it_and_logs_where_it_is_not_heard) {
  Lines log;
  MainLoopWatch alone({.service = {}, .hang = kPatient}, log);
  alone.ready();
  alone.turned();
  alone.stopping();
  EXPECT_EQ(log.text(), "");
  MainLoopWatch unheard(
      {.service = {.socket = "/nowhere/notify", .watchdog = {}}, .hang = kPatient}, log);
  unheard.ready();
  EXPECT_NE(log.text().find("service_manager_notify_failed"), std::string::npos) << log.text();
}

TEST(MainLoopWatch, turns_with_a_timer_of_the_loop_until_it_is_stopping) {
  test::FakeServiceManager manager("test", true);
  Lines log;
  MainLoopWatch watch(
      {.service = {.socket = manager.socket_name(), .watchdog = std::chrono::seconds(120)},
       .hang = kPatient},
      log);
  FakeTimer timer;
  watch.turn_with(timer);
  timer.next();
  EXPECT_EQ(timer.waits.size(), 2u);
  EXPECT_EQ(timer.waits.back(), watch.tick());
  EXPECT_EQ(manager.heard(), std::vector<std::string>{"WATCHDOG=1"}) << "once a tick";
  watch.stopping();
  timer.next();
  EXPECT_EQ(timer.waits.size(), 2u);
}

TEST(ServiceManager, one_that_does_not_read_holds_up_no_loop) {
  test::FakeServiceManager manager("test", true);
  const ServiceManager service({.socket = manager.socket_name(), .watchdog = {}});
  Result<void> told;
  std::size_t taken = 0;
  for (; told && taken < 100'000; ++taken) {
    told = service.tell("WATCHDOG=1", ServiceManager::Full::leave_out);
  }
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, ErrorCode::queue_full);
  EXPECT_EQ(manager.count("WATCHDOG=1"), taken - 1);
  EXPECT_TRUE(service.tell("WATCHDOG=1", ServiceManager::Full::leave_out).ok());
}

TEST(MainLoopWatchDeathTest, a_loop_that_no_longer_turns_is_logged_and_ends_the_process) {
  const auto hang = [] {
    LogWriter log;
    MainLoopWatch watch({.service = {}, .hang = {.wait = milliseconds(1), .waits_max = 20}}, log);
    watch.turned();
    for (volatile bool spins = true; spins;) {
    }
  };
  EXPECT_EXIT(hang(), ::testing::ExitedWithCode(kExitEnvironment), "hung part=main_loop");
}

TEST(MainLoopWatchDeathTest, it_ends_even_if_the_log_is_what_hangs) {
  struct StuckLog final : LogSink {
    void write(LogLevel, std::string_view) override {
      for (;;) ::pause();
    }
  };
  const auto hang = [] {
    StuckLog log;
    MainLoopWatch watch({.service = {}, .hang = {.wait = milliseconds(1), .waits_max = 20}}, log);
    for (;;) ::pause();
  };
  EXPECT_EXIT(hang(), ::testing::KilledBySignal(SIGALRM), "");
}

TEST(ServiceManager, is_read_from_the_environment_of_this_process_alone) {
  ::setenv("NOTIFY_SOCKET", "/run/notify", 1);
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  auto config = ServiceManager::from_environment();
  EXPECT_EQ(config.socket, "/run/notify");
  EXPECT_EQ(config.watchdog, std::chrono::seconds(30));
  ::setenv("WATCHDOG_PID", std::to_string(::getpid() + 1).c_str(), 1);
  EXPECT_FALSE(ServiceManager::from_environment().watchdog.has_value());
  ::setenv("WATCHDOG_USEC", "30s", 1);
  ::unsetenv("WATCHDOG_PID");
  EXPECT_FALSE(ServiceManager::from_environment().watchdog.has_value());
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC"}) ::unsetenv(name);
  config = ServiceManager::from_environment();
  EXPECT_EQ(config.socket, "");
  EXPECT_FALSE(config.watchdog.has_value());
}

}  // namespace
}  // namespace s5066::posix
