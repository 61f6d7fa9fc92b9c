// What a host gives its modem, seen by a modem that a test plays.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "modem/remote/modem_host.h"
#include "tests/unit/modem_remote/rude.h"

namespace s5066::modem {
namespace {

using test::eventually;
using test::kPatience;

/// What the test and the modem of the host have in common.
struct Script {
  Result<void> request(Command command) {
    const std::lock_guard lock(mutex);
    if (full || (full_for_modes && std::holds_alternative<SetReceiveModes>(command))) {
      ++refused;
      return Error{ErrorCode::queue_full, "commands"};
    }
    taken.push_back(std::move(command));
    return {};
  }
  void set_full(bool on) {
    const std::lock_guard lock(mutex);
    full = on;
  }
  void set_full_for_modes() {
    const std::lock_guard lock(mutex);
    full_for_modes = true;
  }
  bool was_refused_something() {
    return eventually([this] {
      const std::lock_guard lock(mutex);
      return refused > 0;
    });
  }
  bool listens_for(const std::vector<Mode>& modes) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      const SetReceiveModes* newest = nullptr;
      for (const Command& command : taken) {
        if (const auto* set = std::get_if<SetReceiveModes>(&command)) newest = set;
      }
      return newest != nullptr && newest->modes == modes;
    });
  }

  std::function<void()> notify;
  std::mutex mutex;
  bool full = false;
  bool full_for_modes = false;
  unsigned refused = 0;
  std::vector<Command> taken;
  std::deque<Event> events;
};

class PlayedModem final : public Modem {
 public:
  PlayedModem(std::shared_ptr<Script> script, std::function<void()> notify)
      : script_(std::move(script)) {
    script_->notify = std::move(notify);
  }
  Result<void> start() override { return {}; }
  void stop() override {}
  Result<void> request(Command command) override { return script_->request(std::move(command)); }
  std::optional<Event> poll_event() override {
    const std::lock_guard lock(script_->mutex);
    if (script_->events.empty()) return std::nullopt;
    std::optional<Event> event(std::move(script_->events.front()));
    script_->events.pop_front();
    return event;
  }
  Instant now() const override { return Instant{posix::monotonic_now()}; }
  bool finished() const override { return false; }
  ModemStats stats() const override { return {}; }
  bool lockstep() const override { return false; }
  void release(Instant) override {}
  Duration utc_began() const override { return {}; }

 private:
  std::shared_ptr<Script> script_;
};

class PlayedHost : public ::testing::Test {
 protected:
  struct NoLog final : LogSink {
    void write(LogLevel, std::string_view) override {}
  };

  PlayedHost()
      : host_(
            {.control_port = 0,
             .data_port = 0,
             .receive_modes = usual_,
             .silence_max = kPatience,
             .greeting_max = kPatience},
            [this](std::function<void()> notify) {
              return std::make_unique<PlayedModem>(modem_, std::move(notify));
            },
            log_) {}
  void SetUp() override {
    ASSERT_TRUE(host_.open().ok());
    thread_ = std::thread([this] { static_cast<void>(host_.run()); });
  }
  void TearDown() override {
    host_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Rude user() {
    Rude user(host_.control_port(), host_.data_port());
    user.become_ready();
    return user;
  }

  const std::vector<Mode> usual_ = {*parse_mode("110a-2400-short")};
  const std::vector<Mode> slow_ = {*parse_mode("110a-75-long")};
  std::shared_ptr<Script> modem_ = std::make_shared<Script>();
  NoLog log_;
  ModemHost host_;
  std::thread thread_;
};

TEST_F(PlayedHost, what_a_user_listened_for_goes_with_him_though_the_modem_was_busy) {
  {
    const Rude user = this->user();
    user.say("LISTEN 110a-75-long\n");
    ASSERT_TRUE(modem_->listens_for(slow_));
    modem_->set_full(true);
  }
  ASSERT_TRUE(modem_->was_refused_something());
  modem_->set_full(false);
  EXPECT_TRUE(modem_->listens_for(usual_));
}

TEST_F(PlayedHost, a_user_hears_what_he_asked_for_once_the_modem_has_room) {
  modem_->set_full(true);
  const Rude user = this->user();
  user.say("LISTEN 110a-2400-long\nLISTEN 110a-75-long\n");
  ASSERT_TRUE(modem_->was_refused_something());
  modem_->set_full(false);
  EXPECT_TRUE(modem_->listens_for(slow_));
}

TEST_F(PlayedHost, no_burst_overtakes_what_was_said_before_it) {
  modem_->set_full_for_modes();
  Rude user = this->user();
  user.say("LISTEN 110a-75-long\nSEND 5 110a-2400-short 0 0\n");
  EXPECT_TRUE(user.hears(" command_refused "));
  const std::lock_guard lock(modem_->mutex);
  EXPECT_TRUE(modem_->taken.empty());
}

}  // namespace
}  // namespace s5066::modem
