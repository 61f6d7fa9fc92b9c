// SPDX-License-Identifier: Apache-2.0
// In these tests the key comes late, or bursts follow each other without a pause.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "modem/ptt/rigctld.h"
#include "modem/worker/worker.h"
#include "tests/support/rigctld_stand_in.h"
#include "tests/unit/modem_worker/fakes.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Mode kMode{.rate_bps = 2400, .interleaver = Interleaver::short_};

/// Runs a worker on a scripted real-time device. The test sets its clock. `on_event` runs on the
/// worker's thread, before the worker takes commands.
struct Station {
  using OnEvent = std::function<void(Station&, const Event&)>;

  Station(std::unique_ptr<Ptt> ptt, OnEvent on_event_, Worker::Config config = {},
          Device::Info info = {})
      : on_event(std::move(on_event_)) {
    config.silence_max = seconds(1000);
    config.monotonic = [this] {
      if (std::this_thread::get_id() != workers_thread) ++looks;
      return Duration(clock.load());
    };
    worker = std::make_unique<Worker>(config, std::make_unique<FakeDevice>(device, info),
                                      std::move(ptt), [this] { notify(); });
  }
  void notify() {
    workers_thread = std::this_thread::get_id();
    while (auto event = worker->poll_event()) on_event(*this, *event);
  }
  void block() {
    const std::size_t answered = device->answered();
    clock += Duration(milliseconds(20)).count();
    device->give_blocks(1);
    ASSERT_TRUE(eventually([&] { return device->answered() > answered; }));
  }
  Result<void> send(std::uint64_t id) {
    return worker->request(TransmitBurst{.id = {id}, .mode = kMode, .bytes = Bytes(200)});
  }
  /// Waits until the watchdog has looked at the present clock.
  void await_watchdog() {
    const int before = looks;
    ASSERT_TRUE(eventually([&] { return looks > before + 1; }));
  }

  OnEvent on_event;
  std::shared_ptr<DeviceScript> device = std::make_shared<DeviceScript>();
  std::atomic<std::int64_t> clock{1'000'000'000};
  std::atomic<std::thread::id> workers_thread;
  std::atomic<int> looks{0};
  std::unique_ptr<Worker> worker;
};

// Each burst has a time limit of its own. Otherwise the third burst would be cut as too long for
// the first.
TEST(Worker, bursts_without_a_pause_between_them_are_each_kept_to_a_limit_of_their_own) {
  auto key = std::make_shared<KeyScript>();
  std::atomic<std::uint64_t> finished{0};
  std::atomic<int> faults{0};
  Station station(std::make_unique<FakePtt>(key), [&](Station& self, const Event& event) {
    if (std::holds_alternative<Fault>(event)) ++faults;
    if (!std::holds_alternative<TransmitFinished>(event)) return;
    EXPECT_TRUE(self.send(++finished + 1).ok());
  });
  ASSERT_TRUE(station.worker->start().ok());
  ASSERT_TRUE(station.send(1).ok());
  station.block();
  const int calls = key->calls;
  EXPECT_TRUE(key->down);
  while (finished < 5 && faults == 0) station.block();
  station.await_watchdog();
  station.block();
  EXPECT_EQ(key->calls, calls) << "the key was not down all the time";
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(station.worker->state().counters[ModemCounter::watchdog_trips], 0U);
  EXPECT_TRUE(key->down);
  // The limit still applies: the sample clock stands still, but the watchdog's clock goes on.
  station.clock += Duration(seconds(2)).count();
  station.await_watchdog();
  EXPECT_EQ(key->releases, 0);
  station.clock += Duration(seconds(2)).count();
  EXPECT_TRUE(eventually([&] { return key->releases > 0; }));
}

TEST(Worker, a_key_that_is_not_there_yet_is_told_of_and_no_burst_is_taken_until_it_is) {
  std::mutex mutex;
  std::vector<FaultKind> faults;
  std::atomic<bool> started{false};
  auto key = std::make_shared<KeyScript>();
  key->failures = 3;
  Station station(std::make_unique<FakePtt>(key),
                  [&](Station&, const Event& event) {
                    const std::lock_guard lock(mutex);
                    if (const auto* fault = std::get_if<Fault>(&event))
                      faults.push_back(fault->kind);
                    if (std::holds_alternative<TransmitStarted>(event)) started = true;
                  },
                  {.key_retry = seconds(1)});
  ASSERT_TRUE(station.worker->start().ok());
  const auto told = [&] {
    const std::lock_guard lock(mutex);
    return faults;
  };
  using enum FaultKind;
  station.block();
  EXPECT_EQ(told(), (std::vector{ptt_failed}));
  ASSERT_TRUE(station.send(1).ok());
  for (int n = 0; n < 2; ++n) station.block();
  EXPECT_EQ(told(), (std::vector{ptt_failed, command_refused}));
  EXPECT_EQ(key->calls, 1);
  for (int n = 0; n < 120; ++n) station.block();  // 2.46 s since the start: two more attempts
  EXPECT_EQ(key->calls, 3);
  EXPECT_EQ(station.worker->state().counters[ModemCounter::ptt_failures], 3U);
  EXPECT_EQ(told().size(), 2U);
  for (int n = 0; n < 50; ++n) station.block();
  EXPECT_EQ(key->calls, 4);
  EXPECT_EQ(told(), (std::vector{ptt_failed, command_refused, ptt_back}));
  ASSERT_TRUE(station.send(2).ok());
  for (int n = 0; n < 3; ++n) station.block();
  EXPECT_TRUE(key->down);
  EXPECT_TRUE(started);
}

TEST(Worker, starts_before_rigctld_does) {
  std::uint16_t port = 0;
  {
    const test::RigctldStandIn gone;
    port = gone.port();
  }
  std::atomic<int> failed{0}, back{0};
  Station station(
      std::make_unique<RigctldPtt>(RigctldPtt::Config{.port = port, .timeout = kPatience}),
      [&](Station&, const Event& event) {
        const auto* fault = std::get_if<Fault>(&event);
        if (fault != nullptr) (fault->kind == FaultKind::ptt_back ? back : failed) += 1;
      },
      {.key_retry = milliseconds(20)});
  ASSERT_TRUE(station.worker->start().ok());
  for (int n = 0; n < 5; ++n) station.block();
  EXPECT_EQ(failed, 1);
  const test::RigctldStandIn rig("RPRT 0\n", port);
  for (int n = 0; n < 2; ++n) station.block();
  EXPECT_EQ(back, 1);
  EXPECT_EQ(rig.done(), "T 0\nt\n");
  ASSERT_TRUE(station.send(1).ok());
  station.block();
  EXPECT_EQ(rig.done(), "T 0\nt\nT 1\n");
}

// The sample clock stands still in that time.
TEST(Worker, looks_for_a_missing_key_also_while_the_sound_card_is_away) {
  auto key = std::make_shared<KeyScript>();
  key->failures = 1;
  std::atomic<int> back{0};
  Station station(std::make_unique<FakePtt>(key),
                  [&](Station&, const Event& event) {
                    const auto* fault = std::get_if<Fault>(&event);
                    if (fault != nullptr && fault->kind == FaultKind::ptt_back) ++back;
                  },
                  {.key_retry = seconds(1), .reopen_delay = seconds(1000)});
  ASSERT_TRUE(station.worker->start().ok());
  station.block();
  station.device->fail(ErrorCode::io);
  ASSERT_TRUE(eventually(
      [&] { return station.worker->state().counters[ModemCounter::device_losses] == 1; }));
  EXPECT_EQ(back, 0);
  station.clock += Duration(seconds(1)).count();
  EXPECT_TRUE(eventually([&] { return back == 1; }));
  EXPECT_EQ(key->calls, 2);
}

/// A key that does not come up any more and takes time to report that.
class StuckPtt final : public Ptt {
 public:
  explicit StuckPtt(std::function<void()> pass_time) : pass_time_(std::move(pass_time)) {}
  Result<void> key(bool on) override {
    if (on || !stuck) {
      stuck = on;
      return {};
    }
    ++attempts;
    pass_time_();
    return Error{ErrorCode::timed_out, "as told"};
  }
  Result<void> release() override { return {}; }

  std::atomic<bool> stuck{false};
  std::atomic<int> attempts{0};

 private:
  std::function<void()> pass_time_;
};

// A rigctld that does not answer behaves like this. Received samples wait for at most 0.7 s
// meanwhile and are then lost.
TEST(Worker, a_key_that_does_not_come_up_takes_no_more_than_half_of_the_time_to_hear) {
  for (const auto& [takes, attempts] : {std::pair{20, 100}, {21, 50}, {500, 4}}) {
    SCOPED_TRACE(takes);
    Station* at = nullptr;
    auto stuck = std::make_unique<StuckPtt>(
        [&, length = takes] { at->clock += Duration(milliseconds(length)).count(); });
    StuckPtt& key = *stuck;
    Station station(std::move(stuck), [](Station&, const Event&) {});
    at = &station;
    ASSERT_TRUE(station.worker->start().ok());
    ASSERT_TRUE(station.send(1).ok());
    for (int n = 0; n < 5; ++n) station.block();
    ASSERT_TRUE(station.worker->request(AbortTransmit{{1}}).ok());
    for (int n = 0; n < 100; ++n) station.block();
    EXPECT_GE(key.attempts, attempts);
    if (takes > 20) {  // otherwise also after a vain wait for a block
      EXPECT_EQ(key.attempts, attempts);
    }
    key.stuck = false;
    station.worker->stop();
  }
}

// This order lets the node give the next burst in time to keep the key down.
TEST(Worker, tells_that_a_burst_is_over_before_it_unkeys_and_that_this_failed_behind_it) {
  auto key = std::make_shared<KeyScript>();
  std::atomic<int> finished{0}, failed{0};
  Station station(std::make_unique<FakePtt>(key), [&](Station&, const Event& event) {
    if (const auto* end = std::get_if<TransmitFinished>(&event)) {
      EXPECT_EQ(end->outcome, TransmitOutcome::sent);
      EXPECT_TRUE(key->down);
      key->failures = 1;
      ++finished;
    }
    const auto* fault = std::get_if<Fault>(&event);
    if (fault == nullptr || fault->kind != FaultKind::ptt_failed) return;
    EXPECT_EQ(finished, 1);
    ++failed;
  });
  ASSERT_TRUE(station.worker->start().ok());
  ASSERT_TRUE(station.send(1).ok());
  while (finished == 0) station.block();
  for (int n = 0; n < 2; ++n) station.block();
  EXPECT_EQ(failed, 1);
  EXPECT_FALSE(key->down);
}

/// Runs a burst behind which the radio reports transmit for this many blocks of 20 ms. Returns the
/// number of ptt_failed faults once the key is up.
int faults_of_a_late_key(int blocks) {
  auto key = std::make_shared<KeyScript>();
  key->failure = ErrorCode::refused;
  std::atomic<int> finished{0}, failed{0};
  Station station(std::make_unique<FakePtt>(key), [&](Station&, const Event& event) {
    if (std::holds_alternative<TransmitFinished>(event)) {
      key->failures = 100'000;  // the worker also tries while it waits for a block
      ++finished;
    }
    const auto* fault = std::get_if<Fault>(&event);
    if (fault != nullptr && fault->kind == FaultKind::ptt_failed) ++failed;
  });
  EXPECT_TRUE(station.worker->start().ok());
  EXPECT_TRUE(station.send(1).ok());
  while (finished == 0) station.block();
  for (int n = 0; n < blocks; ++n) station.block();
  key->failures = 0;
  while (key->down) station.block();
  for (int n = 0; n < 2; ++n) station.block();  // publishes what the worker reports
  return failed;
}

TEST(Worker, a_radio_that_reports_receive_late_is_a_fault_after_a_second_and_not_before) {
  EXPECT_EQ(faults_of_a_late_key(30), 0);  // the key is 0.6 s late
  EXPECT_EQ(faults_of_a_late_key(49), 0);
  EXPECT_EQ(faults_of_a_late_key(51), 1);
}

TEST(Worker, a_burst_that_follows_while_the_radio_still_reports_transmit_is_keyed_again) {
  auto key = std::make_shared<KeyScript>();
  key->failure = ErrorCode::refused;
  key->only_unkeying_fails = true;
  std::atomic<int> finished{0};
  Station station(std::make_unique<FakePtt>(key), [&](Station&, const Event& event) {
    if (const auto* fault = std::get_if<Fault>(&event)) ADD_FAILURE() << fault->detail;
    if (std::holds_alternative<TransmitFinished>(event)) key->failures = ++finished == 1 ? 1000 : 0;
  });
  ASSERT_TRUE(station.worker->start().ok());
  ASSERT_TRUE(station.send(1).ok());
  while (finished == 0) station.block();
  for (int n = 0; n < 3; ++n) station.block();
  EXPECT_LT(key->failures, 1000);
  ASSERT_TRUE(station.send(2).ok());
  while (finished == 1) station.block();
  EXPECT_EQ(key->keyings, 2);
  station.block();
  EXPECT_FALSE(key->down);
}

/// Runs bursts with gaps of this many blocks of 20 ms, in none of which the radio reports receive.
/// Returns the number of gaps up to the one with the fault; 0 if 20 gaps have none.
int gaps_up_to_the_fault(int blocks) {
  auto key = std::make_shared<KeyScript>();
  key->failure = ErrorCode::refused;
  key->only_unkeying_fails = true;
  std::atomic<int> finished{0}, failed{0};
  Station station(std::make_unique<FakePtt>(key), [&](Station&, const Event& event) {
    if (std::holds_alternative<TransmitFinished>(event)) {
      ++finished;
      key->failures = 100'000;
    }
    const auto* fault = std::get_if<Fault>(&event);
    if (fault != nullptr && fault->kind == FaultKind::ptt_failed) ++failed;
  });
  EXPECT_TRUE(station.worker->start().ok());
  for (int gap = 1; gap <= 20; ++gap) {
    EXPECT_TRUE(station.send(static_cast<std::uint64_t>(gap)).ok());
    while (finished < gap) station.block();
    for (int n = 0; n < blocks; ++n) station.block();
    if (failed > 0) return gap;
  }
  return 0;
}

TEST(Worker, a_radio_that_reports_receive_in_no_gap_is_a_fault_when_the_gaps_add_up_to_5_seconds) {
  EXPECT_EQ(gaps_up_to_the_fault(40), 7);
  EXPECT_EQ(gaps_up_to_the_fault(5), 0);
}

// --- Late bursts and late samples ---

TEST(Worker, a_burst_told_of_long_ago_is_refused_by_the_clock_that_the_node_goes_by) {
  for (const bool late : {false, true}) {
    std::atomic<int> started{0}, refused{0};
    auto key = std::make_shared<KeyScript>();
    Station station(std::make_unique<FakePtt>(key), [&](Station&, const Event& event) {
      if (std::holds_alternative<TransmitStarted>(event)) ++started;
      const auto* fault = std::get_if<Fault>(&event);
      if (fault != nullptr && fault->kind == FaultKind::command_refused) ++refused;
    });
    ASSERT_TRUE(station.worker->start().ok());
    for (int n = 0; n < 5; ++n) station.block();
    ASSERT_TRUE(
        station.worker
            ->request(TransmitBurst{
                .id = {1}, .mode = kMode, .bytes = Bytes(200), .not_before = station.worker->now()})
            .ok());
    // The whole process stood still, and the samples do not show it.
    station.clock += Duration(milliseconds(late ? 600 : 400)).count();
    for (int n = 0; n < 5; ++n) station.block();
    EXPECT_EQ(refused, late ? 1 : 0);
    EXPECT_EQ(started, late ? 0 : 1);
    EXPECT_EQ(key->down, !late);
  }
}

TEST(Worker, a_burst_waits_for_samples_that_can_still_be_played) {
  std::atomic<std::int64_t> started{0};
  Station station(std::make_unique<NoPtt>(), [&](Station&, const Event& event) {
    if (const auto* e = std::get_if<TransmitStarted>(&event)) {
      started = e->at.time_since_epoch().count();
    }
  });
  ASSERT_TRUE(station.worker->start().ok());
  for (int n = 0; n < 5; ++n) station.block();
  ASSERT_TRUE(station.send(1).ok());
  const std::size_t answered = station.device->answered();
  station.clock += Duration(milliseconds(20)).count();
  station.device->give_blocks(1, {.unplayable = 960});  // 960 samples are 100 ms
  ASSERT_TRUE(eventually([&] { return station.device->answered() > answered; }));
  for (int n = 0; n < 10; ++n) station.block();
  EXPECT_EQ(Duration(started), milliseconds(6 * 20 + 100));
}

// PulseAudio stands still after its first blocks and then goes on at the same sample.
TEST(Worker, a_burst_on_its_way_when_a_device_pauses_that_has_just_begun_is_sent_whole) {
  std::atomic<int> faults{0}, sent{0};
  Station station(std::make_unique<NoPtt>(), [&](Station&, const Event& event) {
    if (std::holds_alternative<Fault>(event)) ++faults;
    const auto* end = std::get_if<TransmitFinished>(&event);
    if (end != nullptr && end->outcome == TransmitOutcome::sent) ++sent;
  });
  ASSERT_TRUE(station.worker->start().ok());
  station.block();
  ASSERT_TRUE(station.send(1).ok());
  for (int n = 0; n < 2; ++n) station.block();
  station.clock += Duration(milliseconds(800)).count();
  for (int n = 0; n < 300; ++n) station.block();
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(faults, 0);
  EXPECT_GT(station.worker->now(), Instant(milliseconds(303 * 20 + 790)));
}

// --- Level of the received sound ---

TEST(Worker, a_bad_level_is_told_and_shown_where_the_device_has_one) {
  for (const bool has_level : {false, true}) {
    std::atomic<int> told{0};
    Station station(std::make_unique<NoPtt>(),
                    [&](Station&, const Event& event) {
                      const auto* fault = std::get_if<Fault>(&event);
                      if (fault == nullptr || fault->kind != FaultKind::level_bad) return;
                      ++told;
                      EXPECT_NE(fault->detail.find("silent"), std::string::npos) << fault->detail;
                    },
                    {}, {.has_level = has_level});
    ASSERT_TRUE(station.worker->start().ok());
    for (int n = 0; n < 499; ++n) station.block();
    EXPECT_EQ(told, 0);
    EXPECT_EQ(station.worker->state().sound_level, SoundLevel::unknown);
    for (int n = 0; n < 1000; ++n) station.block();  // 30 s in total
    EXPECT_EQ(told, has_level ? 1 : 0);
    const SoundLevel level = station.worker->state().sound_level;
    EXPECT_EQ(level, has_level ? SoundLevel::silent : SoundLevel::unknown);
  }
}

TEST(Worker, what_comes_back_of_ones_own_transmission_is_no_level) {
  std::atomic<bool> finished{false};
  Station station(std::make_unique<NoPtt>(),
                  [&](Station&, const Event& event) {
                    if (std::holds_alternative<TransmitFinished>(event)) finished = true;
                  },
                  {}, {.has_level = true});
  ASSERT_TRUE(station.worker->start().ok());
  ASSERT_TRUE(
      station.worker->request(TransmitBurst{.id = {1}, .mode = kMode, .bytes = Bytes(5000)}).ok());
  for (int n = 0; n < 600; ++n) station.block();
  ASSERT_FALSE(finished);
  EXPECT_EQ(station.worker->state().sound_level, SoundLevel::unknown);
  while (!finished) station.block();
  // The block in which we unkey does not count for the level either.
  for (int n = 0; n < 498; ++n) station.block();
  EXPECT_EQ(station.worker->state().sound_level, SoundLevel::unknown);
  station.block();
  EXPECT_EQ(station.worker->state().sound_level, SoundLevel::silent);
}

}  // namespace
}  // namespace s5066::modem
