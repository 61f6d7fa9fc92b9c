// SPDX-License-Identifier: Apache-2.0
// A test plays the modem and sees what the host gives to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "modem/remote/modem_host.h"
#include "tests/unit/modem_remote/rude.h"

namespace s5066::modem {
namespace {

using test::eventually;
using test::kPatience;

/// Holds the data that the test shares with the modem of the host.
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
  void tell(Event event) {
    {
      const std::lock_guard lock(mutex);
      events.push_back(std::move(event));
    }
    notify();
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
  bool was_given_burst(std::uint64_t id) {
    return was_given<TransmitBurst>([id](const auto& burst) { return burst.id.value == id; });
  }
  bool was_told_to_abort(std::uint64_t id) {
    return was_given<AbortTransmit>([id](const auto& abort) { return abort.id.value == id; });
  }
  template <typename C, typename Test>
  bool was_given(Test test) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return std::any_of(taken.begin(), taken.end(), [&](const Command& command) {
        const auto* given = std::get_if<C>(&command);
        return given != nullptr && test(*given);
      });
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
  ModemState state() const override { return {}; }
  bool lockstep() const override { return false; }
  void release(Instant) override {}
  Duration utc_began() const override { return {}; }

 private:
  std::shared_ptr<Script> script_;
};

class PlayedHost : public ::testing::Test {
 protected:
  struct Lines final : LogSink {
    void write(LogLevel, std::string_view line) override {
      const std::lock_guard lock(mutex);
      lines.emplace_back(line);
    }
    bool come_to_have(std::string_view text) {
      return eventually([&] {
        const std::lock_guard lock(mutex);
        return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
          return line.find(text) != std::string::npos;
        });
      });
    }
    std::mutex mutex;
    std::vector<std::string> lines;
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
  /// Connects the next user, after the host has noticed that the user before is gone.
  Rude next_user() {
    for (;;) {
      Rude user(host_.control_port(), host_.data_port());
      user.say("HELLO 1\n");
      if (!user.hears("\n")) return user;
      if (user.heard.find("WELCOME") == std::string::npos) continue;
      user.open_data();
      return user;
    }
  }

  const std::vector<Mode> usual_ = {*parse_mode("110a-2400-short")};
  const std::vector<Mode> slow_ = {*parse_mode("110a-75-long")};
  std::shared_ptr<Script> modem_ = std::make_shared<Script>();
  Lines log_;
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

// The modem does not report which burst it refused. The refusal here is about burst 1 of the user
// before, but the host cannot tell and also aborts burst 2 of this user.
TEST_F(PlayedHost, a_burst_that_is_told_to_be_refused_is_not_sent) {
  {
    const Rude gone = user();
    gone.say("SEND 7 110a-2400-short 0 0\n");
    ASSERT_TRUE(modem_->was_given_burst(1));
  }
  Rude user = next_user();
  user.say("SEND 7 110a-2400-short 0 0\n");
  ASSERT_TRUE(modem_->was_given_burst(2));
  modem_->tell(Fault{.at = Instant{posix::monotonic_now()},
                     .kind = FaultKind::command_refused,
                     .detail = "burst 1: it is too late to send it"});
  EXPECT_TRUE(user.hears(" command_refused "));
  EXPECT_TRUE(modem_->was_told_to_abort(2));
}

TEST_F(PlayedHost, who_comes_and_goes_is_logged_with_his_address) {
  {
    const Rude first = user();
    EXPECT_TRUE(log_.come_to_have("modem_user_connected peer=127.0.0.1 version=1"));
    Rude second(host_.control_port(), host_.data_port());
    EXPECT_TRUE(second.is_thrown_out());
    EXPECT_TRUE(log_.come_to_have("modem_user_refused peer=127.0.0.1 reason="));
  }
  EXPECT_TRUE(log_.come_to_have("modem_user_gone peer=127.0.0.1 reason="));
}

}  // namespace
}  // namespace s5066::modem
