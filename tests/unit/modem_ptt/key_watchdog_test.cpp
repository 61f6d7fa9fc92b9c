// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/key_watchdog.h"

#include <atomic>
#include <condition_variable>

#include "modem/ptt/rigctld.h"
#include "tests/support/patience.h"
#include "tests/support/rigctld_stand_in.h"

namespace s5066::modem {
namespace {

using test::eventually;
using test::kPatience;
using test::RigctldStandIn;

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The test can make key() or release() hang, as a write to a broken adapter does.
struct Transmitter {
  std::mutex mutex;
  std::condition_variable moved;
  bool hangs = false;
  bool release_hangs = false;
  int release_failures = 0;
  std::atomic<bool> keyed{false};
  std::atomic<int> calls{0};
  std::atomic<int> release_calls{0};
  std::atomic<int> next_bursts{0};

  void let_go() {
    const std::lock_guard lock(mutex);
    hangs = release_hangs = false;
    moved.notify_all();
  }
};

class HangingPtt final : public Ptt {
 public:
  explicit HangingPtt(std::shared_ptr<Transmitter> transmitter) : to_(std::move(transmitter)) {}
  Result<void> key(bool on) override {
    ++to_->calls;
    if (on) to_->keyed = true;
    std::unique_lock lock(to_->mutex);
    to_->moved.wait(lock, [this] { return !to_->hangs; });
    to_->keyed = on;
    return {};
  }
  void on_next_burst() override { ++to_->next_bursts; }
  Result<void> release() override {
    ++to_->release_calls;
    std::unique_lock lock(to_->mutex);
    to_->moved.wait(lock, [this] { return !to_->release_hangs; });
    if (to_->release_failures-- > 0) return Error{ErrorCode::io, "as told"};
    to_->keyed = false;
    return {};
  }

 private:
  std::shared_ptr<Transmitter> to_;
};

/// The test sets the clock of this watchdog.
struct Bench {
  std::shared_ptr<Transmitter> transmitter = std::make_shared<Transmitter>();
  std::atomic<std::int64_t> clock{1};
  KeyWatchdog watchdog{{.hang_max = seconds(3), .repeat = milliseconds(500)},
                       std::make_unique<HangingPtt>(transmitter),
                       [this] { return Duration(clock.load()); }};
  void advance(Duration duration) { clock += duration.count(); }
};

TEST(KeyWatchdog, tells_the_key_of_another_burst) {
  Bench bench;
  ASSERT_TRUE(bench.watchdog.key(seconds(100)).ok());
  EXPECT_EQ(bench.transmitter->next_bursts, 0);
  bench.watchdog.next_burst(seconds(100));
  EXPECT_EQ(bench.transmitter->next_bursts, 1);
}

TEST(KeyWatchdog, unkeys_when_the_owner_shows_no_life) {
  Bench bench;
  ASSERT_TRUE(bench.watchdog.key(seconds(100)).ok());
  bench.advance(seconds(3) - milliseconds(1));
  bench.watchdog.alive();
  EXPECT_EQ(bench.watchdog.next_deadline(), Duration(bench.clock) + seconds(3));
  bench.advance(seconds(3));
  EXPECT_TRUE(eventually([&] { return !bench.transmitter->keyed; }));
  EXPECT_EQ(bench.watchdog.tripped(), KeyTrip::owner_hangs);
}

TEST(KeyWatchdog, unkeys_an_owner_that_keys_for_ever) {
  Bench bench;
  ASSERT_TRUE(bench.watchdog.key(seconds(2)).ok());
  bench.advance(seconds(2));
  EXPECT_TRUE(eventually([&] { return !bench.transmitter->keyed; }));
  EXPECT_EQ(bench.watchdog.tripped(), KeyTrip::too_long);
  EXPECT_FALSE(bench.watchdog.key(seconds(2)).ok());  // refused until the owner has unkeyed
  EXPECT_FALSE(bench.transmitter->keyed);
  EXPECT_TRUE(bench.watchdog.unkey().ok());
  // Keying is also refused while the watchdog is still in its own call that unkeys.
  EXPECT_TRUE(eventually([&] { return bench.watchdog.key(seconds(2)).ok(); }));
}

TEST(KeyWatchdog, unkeys_while_the_call_that_keys_hangs_and_again_when_it_comes_through) {
  Bench bench;
  bench.transmitter->hangs = true;
  Result<void> keyed;
  std::thread owner([&] { keyed = bench.watchdog.key(seconds(100)); });
  ASSERT_TRUE(eventually([&] { return bench.transmitter->keyed.load(); }));
  bench.advance(seconds(3));
  EXPECT_TRUE(eventually([&] { return !bench.transmitter->keyed; }));
  bench.transmitter->let_go();
  owner.join();
  EXPECT_EQ(keyed.error().code, ErrorCode::timed_out);
  EXPECT_FALSE(bench.transmitter->keyed);
}

TEST(KeyWatchdog, unkeys_while_the_call_that_unkeys_hangs) {
  Bench bench;
  ASSERT_TRUE(bench.watchdog.key(seconds(100)).ok());
  bench.transmitter->hangs = true;
  std::thread owner([&] { static_cast<void>(bench.watchdog.unkey()); });
  ASSERT_TRUE(eventually([&] { return bench.transmitter->calls == 2; }));
  bench.advance(seconds(3));
  EXPECT_TRUE(eventually([&] { return !bench.transmitter->keyed; }));
  bench.transmitter->let_go();
  owner.join();
}

TEST(KeyWatchdog, does_not_key_while_it_is_unkeying) {
  Bench bench;
  ASSERT_TRUE(bench.watchdog.key(seconds(100)).ok());
  bench.transmitter->release_hangs = true;
  bench.advance(seconds(3));
  ASSERT_TRUE(eventually([&] { return bench.transmitter->release_calls == 1; }));
  ASSERT_TRUE(bench.watchdog.unkey().ok());
  EXPECT_FALSE(bench.watchdog.key(seconds(100)).ok());
  EXPECT_FALSE(bench.transmitter->keyed);
  bench.transmitter->let_go();
  EXPECT_TRUE(eventually([&] { return bench.watchdog.key(seconds(100)).ok(); }));
  EXPECT_TRUE(bench.transmitter->keyed);
}

TEST(KeyWatchdog, tries_again_where_unkeying_failed) {
  Bench bench;
  bench.transmitter->release_failures = 2;
  ASSERT_TRUE(bench.watchdog.key(seconds(100)).ok());
  for (const Duration wait : {Duration(seconds(3)), Duration(milliseconds(500))}) {
    const auto failures = bench.watchdog.release_failures();
    bench.advance(wait);
    ASSERT_TRUE(eventually([&] { return bench.watchdog.release_failures() == failures + 1; }));
    EXPECT_TRUE(bench.transmitter->keyed);
  }
  bench.advance(milliseconds(500));
  EXPECT_TRUE(eventually([&] { return !bench.transmitter->keyed; }));
}

TEST(KeyWatchdog, without_a_limit_no_time_unkeys) {
  Bench bench;
  ASSERT_TRUE(bench.watchdog.key(std::nullopt).ok());
  EXPECT_FALSE(bench.watchdog.next_deadline());
}

TEST(KeyWatchdog, unkeys_when_it_goes) {
  const auto transmitter = std::make_shared<Transmitter>();
  {
    KeyWatchdog watchdog({}, std::make_unique<HangingPtt>(transmitter), posix::monotonic_now);
    ASSERT_TRUE(watchdog.key(seconds(100)).ok());
  }
  EXPECT_FALSE(transmitter->keyed);
}

TEST(KeyWatchdog, unkeys_past_a_rigctld_that_does_not_answer) {
  RigctldStandIn rig("RPRT 0\n");
  std::atomic<std::int64_t> clock{1};
  KeyWatchdog watchdog(
      {},
      std::make_unique<RigctldPtt>(RigctldPtt::Config{.port = rig.port(), .timeout = kPatience}),
      [&] { return Duration(clock.load()); });
  ASSERT_TRUE(watchdog.key(seconds(100)).ok());
  rig.hang();
  std::thread owner([&] { static_cast<void>(watchdog.unkey()); });  // waits for rigctld's answer
  ASSERT_TRUE(eventually([&] { return rig.heard() == "T 0\nT 1\nT 0\n"; }));
  clock += Duration(seconds(3)).count();
  EXPECT_TRUE(eventually([&] { return watchdog.releases() == 1; }));
  EXPECT_EQ(watchdog.release_failures(), 0U);
  EXPECT_EQ(rig.heard(), "T 0\nT 1\nT 0\nT 0\n");
  rig.drop();
  owner.join();
}

}  // namespace
}  // namespace s5066::modem
