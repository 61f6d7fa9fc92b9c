// SPDX-License-Identifier: Apache-2.0
#include "modem/worker/worker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "modem/waveforms/burst_transmitter.h"
#include "tests/unit/modem_worker/worker_bench.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Bench = WorkerBench;

std::vector<FaultKind> faults_of(const std::vector<Event>& events) {
  std::vector<FaultKind> kinds;
  for (const Event& event : events) {
    if (const auto* fault = std::get_if<Fault>(&event)) kinds.push_back(fault->kind);
  }
  return kinds;
}

TEST(Worker, in_lockstep_time_is_the_sample_count_and_waits_for_the_node) {
  Bench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  EXPECT_TRUE(bench.worker->lockstep());
  EXPECT_EQ(bench.worker->now(), Instant{});
  bench.device->give_blocks(5);
  ASSERT_TRUE(eventually([&] { return bench.worker->now() == Instant(milliseconds(20)); }));
  EXPECT_TRUE(eventually([&] { return bench.notified == 1; }));
  bench.worker->release(Instant(milliseconds(19)));  // before the end of the block
  EXPECT_EQ(bench.device->answered(), 0U);
  EXPECT_EQ(bench.worker->now(), Instant(milliseconds(20)));
  bench.worker->release(Instant(milliseconds(40)));  // releases two blocks at once
  ASSERT_TRUE(eventually([&] { return bench.worker->now() == Instant(milliseconds(60)); }));
  EXPECT_EQ(bench.device->answered(), 2U);
}

TEST(Worker, a_command_given_at_a_boundary_takes_effect_in_that_very_block) {
  Bench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  bench.tick(3);
  bench.device->give_blocks(1);
  ASSERT_TRUE(eventually([&] { return bench.worker->now() == Instant(milliseconds(80)); }));
  ASSERT_TRUE(bench.send(1).ok());
  bench.release();
  EXPECT_TRUE(bench.device->keyed());
  EXPECT_TRUE(bench.key->down);
  EXPECT_TRUE(bench.events().empty());  // the first sample is not yet in the past
  bench.tick();
  const auto events = bench.events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<TransmitStarted>(events[0]).at, Instant(milliseconds(80)));
}

// MIL-STD-188-110D D.5.2: the sender chooses the constraint length.
TEST(Worker, bursts_of_110d_are_sent_as_configured) {
  const Mode mode{
      .waveform = Waveform::ms110d, .rate_bps = 2400, .interleaver = Interleaver::short_};
  const Bytes octets(50, 0x5A);
  const auto samples_with = [&](unsigned constraint) {
    BurstTransmitter transmitter(mode, octets, {.constraint = constraint});
    std::vector<float> samples(transmitter.total_samples());
    transmitter.read(samples);
    return samples;
  };
  const auto played_by = [&](const Worker::Config& config) {
    Bench bench({.lockstep = true}, config);
    EXPECT_TRUE(bench.worker->start().ok());
    EXPECT_TRUE(
        bench.worker->request(TransmitBurst{.id = {1}, .mode = mode, .bytes = octets}).ok());
    bench.tick(samples_with(7).size() / 192 + 2);
    return bench.device->played();
  };
  const auto holds = [](const std::vector<float>& all, const std::vector<float>& part) {
    return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
  };
  const auto seven = played_by({.ms110d = {.constraint = 7}});
  EXPECT_TRUE(holds(seven, samples_with(7)));
  EXPECT_FALSE(holds(seven, samples_with(9)));
  EXPECT_TRUE(holds(played_by({}), samples_with(9)));
}

TEST(Worker, the_last_command_that_fits_is_taken_and_the_next_refused) {
  Bench bench({.lockstep = true}, {.command_queue_max = 4});
  ASSERT_TRUE(bench.worker->start().ok());
  for (int n = 0; n < 4; ++n) EXPECT_TRUE(bench.worker->request(AbortTransmit{}).ok());
  const auto refused = bench.worker->request(AbortTransmit{});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::queue_full);
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::commands_refused], 1U);
  bench.tick();
  EXPECT_TRUE(bench.worker->request(AbortTransmit{}).ok());
}

TEST(Worker, ends_of_bursts_are_reported_even_when_nobody_reads_events) {
  Bench bench({.lockstep = true}, {.event_queue_max = 12});
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(1);
  // Refused commands fill the queue up to the part that is kept free.
  for (std::uint64_t n = 2; n < 12; ++n) {
    ASSERT_TRUE(bench.worker->request(TransmitBurst{.id = {n}, .mode = kMode}).ok());
  }
  bench.tick(100);
  EXPECT_GT(bench.worker->state().counters[ModemCounter::events_lost], 0U);
  const auto refused = bench.send(20);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::queue_full);
  const auto events = bench.events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(std::get<TransmitFinished>(events.back()).id.value, 1U);
  // The worker reports the loss of events once the queue has room.
  ASSERT_TRUE(bench.send(21).ok());
  bench.tick(1);
  bench.tick(1);
  EXPECT_TRUE(bench.await<Fault>().has_value());
}

TEST(Worker, stopping_in_mid_burst_unkeys) {
  Bench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  EXPECT_TRUE(bench.key->down);
  bench.worker->stop();
  EXPECT_FALSE(bench.key->down);
  EXPECT_TRUE(bench.worker->finished());
  EXPECT_FALSE(bench.send(2).ok());
}

TEST(Worker, destroying_it_in_mid_burst_unkeys) {
  Bench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  bench.worker.reset();
  EXPECT_FALSE(bench.key->down);
}

TEST(Worker, a_device_that_will_not_open_is_an_error_of_start) {
  Bench bench;
  bench.device->refuse_open(1, ErrorCode::io);
  EXPECT_FALSE(bench.worker->start().ok());
  EXPECT_TRUE(bench.worker->start().ok());
}

TEST(Worker, blocks_that_do_not_fit_the_modem_rate_are_refused) {
  EXPECT_TRUE(Bench({.rate_hz = 48000, .block_samples = 960}).worker->start().ok());
  EXPECT_FALSE(Bench({.rate_hz = 48000, .block_samples = 961}).worker->start().ok());
  EXPECT_TRUE(Bench({.rate_hz = 44100, .block_samples = 882}).worker->start().ok());
}

TEST(Worker, another_sample_rate_changes_no_time) {
  Bench bench({.rate_hz = 48000, .block_samples = 960, .lockstep = true});
  ASSERT_TRUE(bench.worker->start().ok());
  bench.tick(50);
  EXPECT_EQ(bench.worker->now(), Instant(seconds(1)));
}

// --- Loss of the device ---

Worker::Config quick_to_reopen() {
  return {.reopen_attempts_max = 3, .reopen_delay = milliseconds(1)};
}

TEST(Worker, a_device_that_comes_back_is_used_again) {
  Bench bench({.lockstep = true}, quick_to_reopen());
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  EXPECT_TRUE(bench.key->down);
  bench.device->refuse_open(2, ErrorCode::io);
  bench.device->fail(ErrorCode::io);
  const auto finished = bench.await<TransmitFinished>();
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->outcome, TransmitOutcome::aborted);
  const auto fault = bench.await<Fault>();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, FaultKind::device_lost);
  ASSERT_TRUE(eventually([&] { return bench.device->opened() == 4; }));
  EXPECT_TRUE(eventually([&] { return !bench.key->down; }));
  bench.tick(2);
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::device_losses], 1U);
  ASSERT_TRUE(bench.send(2).ok());
  bench.tick(100);
  EXPECT_EQ(bench.await<TransmitFinished>()->outcome, TransmitOutcome::sent);
}

TEST(Worker, in_lockstep_the_time_of_day_is_the_devices_and_another_one_when_it_came_back) {
  Bench bench({.lockstep = true}, quick_to_reopen());
  bench.device->set_utc(seconds(1000));
  ASSERT_TRUE(bench.worker->start().ok());
  EXPECT_EQ(bench.worker->utc_began(), seconds(1000));
  bench.tick(50);
  EXPECT_EQ(bench.worker->utc_began(), seconds(1000));
  bench.device->set_utc(seconds(7000));
  bench.device->fail(ErrorCode::io);
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_lost);
  bench.tick();
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_back);
  EXPECT_EQ(bench.worker->utc_began(), seconds(7000 - 1));  // one second had passed
}

TEST(Worker, a_device_lost_in_mid_burst_is_closed_only_after_the_node_was_told_and_unkeyed) {
  Bench bench({.lockstep = true}, quick_to_reopen());
  std::atomic<int> closed{0};
  std::atomic<int> closed_with_key_down{0};
  std::atomic<std::size_t> notified_at_close{0};
  bench.device->on_close = [&] {
    if (closed++ == 0) notified_at_close = bench.notified.load();
    if (bench.key->down) ++closed_with_key_down;
  };
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  ASSERT_TRUE(bench.key->down);
  const std::size_t notified = bench.notified;
  bench.device->fail(ErrorCode::io);
  ASSERT_TRUE(eventually([&] { return closed == 1; }));
  bench.worker->stop();
  EXPECT_EQ(closed_with_key_down, 0);
  EXPECT_GT(notified_at_close, notified);
}

TEST(Worker, a_device_that_does_not_come_back_ends_the_worker) {
  Bench bench({.lockstep = true}, quick_to_reopen());
  ASSERT_TRUE(bench.worker->start().ok());
  bench.tick(1);
  bench.device->refuse_open(3, ErrorCode::io);
  bench.device->fail(ErrorCode::io);
  EXPECT_TRUE(eventually([&] { return bench.worker->finished(); }));
  EXPECT_EQ(bench.device->opened(), 4U);
  EXPECT_FALSE(bench.send(1).ok());
}

TEST(Worker, a_device_is_waited_for_as_long_as_it_takes_unless_there_is_a_limit) {
  Bench bench({.lockstep = true}, {.reopen_delay = Duration(1), .reopen_delay_max = Duration(1)});
  ASSERT_TRUE(bench.worker->start().ok());
  bench.device->refuse_open(2000, ErrorCode::io);
  bench.device->fail(ErrorCode::io);
  EXPECT_TRUE(eventually([&] { return bench.device->opened() == 2002; }));
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_lost);
  bench.tick(2);
  EXPECT_EQ(faults_of(bench.events()), (std::vector{FaultKind::device_back}));
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::device_losses], 1U);
}

TEST(Worker, a_device_that_comes_back_with_another_delay_is_used_with_that) {
  Bench bench({.lockstep = true}, quick_to_reopen());
  ASSERT_TRUE(bench.worker->start().ok());
  bench.device->set_transmit_delay(960);
  bench.device->fail(ErrorCode::io);
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_lost);
  bench.device->give_blocks(1);
  ASSERT_TRUE(eventually([&] { return bench.worker->now() == Instant(milliseconds(20)); }));
  ASSERT_TRUE(bench.send(1).ok());
  bench.release();
  bench.tick(10);
  // The samples made at 20 ms leave 100 ms later.
  EXPECT_EQ(bench.await<TransmitStarted>()->at, Instant(milliseconds(20 + 100)));
}

TEST(Worker, a_device_that_comes_back_with_other_blocks_is_refused) {
  Bench bench({.lockstep = true}, {.reopen_delay = milliseconds(1)});
  ASSERT_TRUE(bench.worker->start().ok());
  bench.device->set_block_samples(96);
  bench.device->fail(ErrorCode::io);
  EXPECT_TRUE(eventually([&] { return bench.worker->finished(); }));
}

TEST(Worker, a_device_that_says_never_again_is_not_asked_again) {
  Bench bench({.lockstep = true}, quick_to_reopen());
  ASSERT_TRUE(bench.worker->start().ok());
  bench.device->refuse_open(1, ErrorCode::refused);
  bench.device->fail(ErrorCode::io);
  EXPECT_TRUE(eventually([&] { return bench.worker->finished(); }));
  EXPECT_EQ(bench.device->opened(), 2U);
}

TEST(Worker, a_burst_asked_for_while_the_device_is_away_gets_an_answer) {
  Worker::Config config{.reopen_attempts_max = 1, .reopen_delay = seconds(3600)};
  Bench bench({.lockstep = true}, config);
  ASSERT_TRUE(bench.worker->start().ok());
  bench.device->fail(ErrorCode::io);
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_lost);
  ASSERT_TRUE(bench.send(1).ok());
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::command_refused);
  bench.worker->stop();  // stop() does not wait for the hour
}

// --- Keying ---

TEST(Worker, a_key_that_does_not_work_is_a_fault_and_ends_the_burst) {
  Bench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  bench.key->failures = 1;
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::ptt_failed);
  EXPECT_EQ(bench.await<TransmitFinished>()->outcome, TransmitOutcome::aborted);
  EXPECT_FALSE(bench.device->keyed());
}

TEST(Worker, a_transmitter_that_does_not_unkey_is_told_until_it_does) {
  Bench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  bench.key->failures = 5;
  ASSERT_TRUE(bench.worker->request(AbortTransmit{{1}}).ok());
  bench.tick(5);
  EXPECT_TRUE(bench.key->down);
  bench.tick(1);
  EXPECT_FALSE(bench.key->down);
  const int calls = bench.key->calls;
  bench.tick(5);
  EXPECT_EQ(bench.key->calls, calls);
  EXPECT_EQ(faults_of(bench.events()), (std::vector{FaultKind::ptt_failed, FaultKind::ptt_back}));
}

TEST(Worker, while_a_transmitter_does_not_unkey_it_is_told_so_and_no_burst_is_taken) {
  Bench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  bench.key->failures = 1000;
  ASSERT_TRUE(bench.worker->request(AbortTransmit{{1}}).ok());
  bench.tick(1);
  ASSERT_TRUE(bench.send(2).ok());
  bench.tick(2);  // events come with the next block
  EXPECT_EQ(faults_of(bench.events()),
            (std::vector{FaultKind::ptt_failed, FaultKind::command_refused}));
  const int calls = bench.key->calls;
  bench.tick(5);
  EXPECT_EQ(bench.key->calls, calls + 5);
  bench.key->failures = 0;
  bench.tick(1);
  EXPECT_FALSE(bench.key->down);
  ASSERT_TRUE(bench.send(3).ok());
  bench.tick(2);
  EXPECT_TRUE(bench.key->down);
}

/// A real-time device on a clock that the test sets.
struct RealTimeBench : Bench {
  explicit RealTimeBench(std::shared_ptr<std::atomic<std::int64_t>> shared_clock)
      : Bench({.lockstep = false},
              {.silence_max = seconds(1000),
               .monotonic = [shared_clock] { return Duration(shared_clock->load()); }}),
        clock(std::move(shared_clock)) {}
  RealTimeBench() : RealTimeBench(std::make_shared<std::atomic<std::int64_t>>(1'000'000'000)) {}
  void advance(Duration duration) { *clock += duration.count(); }
  void block(Duration takes = milliseconds(20)) {
    const std::size_t answered = device->answered();
    advance(takes);
    device->give_blocks(1);
    ASSERT_TRUE(eventually([&] { return device->answered() > answered; }));
  }
  std::shared_ptr<std::atomic<std::int64_t>> clock;
};

TEST(Worker, the_watchdog_unkeys_when_the_device_stops_in_mid_burst) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());  // preamble 600 ms, data 600 ms, margin 2 s
  for (int n = 0; n < 10; ++n) bench.block();
  EXPECT_TRUE(bench.key->down);
  bench.advance(milliseconds(1200 + 2000 - 220));
  EXPECT_EQ(bench.key->calls, 2);  // the first call was at the start
  EXPECT_TRUE(bench.key->down);
  bench.advance(milliseconds(100));
  EXPECT_TRUE(eventually([&] { return !bench.key->down; }));
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::ptt_failed);
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::watchdog_trips], 1U);
  bench.block();
  EXPECT_EQ(bench.await<TransmitFinished>()->outcome, TransmitOutcome::aborted);
}

TEST(Worker, is_unkeyed_while_it_hangs_in_its_device) {
  std::atomic<bool> hangs{true};  // it outlives the worker
  RealTimeBench bench;
  const auto let_go = [](std::atomic<bool>* flag) { *flag = false; };
  const std::unique_ptr<std::atomic<bool>, decltype(let_go)> whatever_happens(&hangs, let_go);
  bench.device->on_close = [&] {
    while (hangs) std::this_thread::yield();
  };
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  for (int n = 0; n < 3; ++n) bench.block();
  EXPECT_TRUE(bench.key->down);
  bench.key->failures = 1;  // keeps the key down until the device closes
  bench.device->fail(ErrorCode::io);
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_lost);
  EXPECT_TRUE(bench.key->down);
  bench.advance(seconds(3));
  EXPECT_TRUE(eventually([&] { return !bench.key->down; }));
  EXPECT_GE(bench.key->releases, 1);
}

TEST(Worker, is_unkeyed_while_it_lives_and_its_device_moves_no_sound) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1, 3000).ok());  // the burst lasts over 10 s
  for (int n = 0; n < 3; ++n) bench.block();
  ASSERT_TRUE(bench.key->down);
  bench.advance(seconds(3) - milliseconds(1));
  EXPECT_EQ(bench.key->releases, 0);
  bench.advance(milliseconds(1));
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::ptt_failed);
  EXPECT_TRUE(eventually([&] { return !bench.key->down; }));
}

TEST(Worker, a_transmitter_that_refuses_to_unkey_at_the_end_is_told_again) {
  Bench bench({.lockstep = true}, {.reopen_delay = milliseconds(1)});
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(bench.send(1).ok());
  bench.tick(3);
  bench.key->failures = 3;
  bench.worker->stop();
  EXPECT_FALSE(bench.key->down);
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::ptt_failures], 3U);
}

TEST(Worker, a_real_time_device_that_falls_silent_is_lost) {
  auto clock = std::make_shared<std::atomic<std::int64_t>>(0);
  Bench bench({.lockstep = false}, {.silence_max = seconds(2),
                                    .monotonic = [clock] { return Duration(clock->load()); }});
  ASSERT_TRUE(bench.worker->start().ok());
  bench.device->give_blocks(1);
  ASSERT_TRUE(eventually([&] { return bench.device->answered() == 1; }));
  *clock += Duration(milliseconds(2001)).count();
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_lost);
  // The wait before the next open() can begin after the loss was reported.
  *clock += Duration(seconds(1)).count();
  ASSERT_TRUE(eventually([&] {
    *clock += Duration(milliseconds(10)).count();
    return bench.device->opened() == 2;
  }));
  // Time went on meanwhile, and so did the sample clock.
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::samples_dropped);
  EXPECT_GE(bench.worker->now(), Instant(seconds(3)));
}

TEST(Worker, a_real_time_device_may_give_its_first_samples_late) {
  auto clock = std::make_shared<std::atomic<std::int64_t>>(0);
  Bench bench({.lockstep = false}, {.silence_max = seconds(2),
                                    .first_silence_max = seconds(6),
                                    .reopen_delay = milliseconds(1),
                                    .monotonic = [clock] { return Duration(clock->load()); }});
  const auto passes = [&](Duration time) {
    const std::size_t receives = bench.device->received();
    *clock += time.count();
    // The second call that begins after this one reads the new time.
    return eventually([&] { return bench.device->received() >= receives + 2; });
  };
  ASSERT_TRUE(bench.worker->start().ok());
  ASSERT_TRUE(passes(seconds(6)));
  EXPECT_FALSE(bench.worker->state().down);
  bench.device->give_blocks(1);
  ASSERT_TRUE(eventually([&] { return bench.device->answered() == 1; }));
  ASSERT_TRUE(passes(seconds(2)));
  EXPECT_FALSE(bench.worker->state().down);
  *clock += 1;
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::device_lost);
}

// --- Real time ---

TEST(Worker, in_real_time_the_clock_runs_between_blocks_and_never_back) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  bench.block();
  EXPECT_EQ(bench.worker->now(), Instant(milliseconds(20)));
  bench.advance(milliseconds(7));
  EXPECT_EQ(bench.worker->now(), Instant(milliseconds(27)));
  bench.advance(milliseconds(13));
  // A block that is 15 ms late does not turn the clock back.
  bench.block(milliseconds(15));
  const Instant late = bench.worker->now();
  EXPECT_GE(late, Instant(milliseconds(54)));
  Instant last = late;
  for (int n = 0; n < 200; ++n) {
    bench.block(milliseconds(n % 2 == 0 ? 5 : 35));
    EXPECT_GE(bench.worker->now(), last);
    last = bench.worker->now();
  }
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::blocks], 202U);
}

TEST(Worker, the_clock_follows_a_device_that_is_slower_than_ours) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  // The card is 500 ppm slow: a block takes 20.01 ms.
  for (int n = 0; n < 2000; ++n) bench.block(std::chrono::microseconds(20'010));
  const Duration ahead = bench.worker->now() - Instant(milliseconds(40'000));
  EXPECT_GE(ahead, Duration::zero());
  EXPECT_LT(ahead, milliseconds(1));
}

TEST(Worker, tells_how_far_the_clock_of_a_device_is_from_ours) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  for (int n = 0; n < 7000; ++n) bench.block(std::chrono::microseconds(20'001));
  ASSERT_TRUE(bench.worker->state().clock_ppm);
  EXPECT_NEAR(*bench.worker->state().clock_ppm, -50, 0.5);
  bench.device->give_blocks(1, {.dropped = 192, .underrun = 0});
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::samples_dropped);
  EXPECT_FALSE(bench.worker->state().clock_ppm);
}

TEST(Worker, a_device_that_began_late_has_lost_nothing_and_its_clock_is_right_at_once) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  bench.block(milliseconds(820));
  EXPECT_EQ(bench.worker->now(), Instant(milliseconds(820)));
  ASSERT_TRUE(bench.send(1).ok());
  for (int n = 0; n < 400; ++n) bench.block();
  // No burst starts later than the node's clock showed.
  EXPECT_LE(bench.await<TransmitStarted>()->at, Instant(milliseconds(820 + 40)));
  EXPECT_TRUE(faults_of(bench.events()).empty());
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::samples_dropped], 0U);
}

// PulseAudio stands still like this after its first blocks.
TEST(Worker, a_device_that_stands_still_when_it_has_just_begun_has_lost_nothing) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  for (int n = 0; n < 2; ++n) bench.block();
  bench.block(milliseconds(820));
  for (int n = 0; n < 30; ++n) bench.block();
  const Duration ahead = bench.worker->now() - Instant(milliseconds(33 * 20 + 800));
  EXPECT_LT(std::chrono::abs(ahead), milliseconds(2));
  ASSERT_TRUE(bench.send(1).ok());
  for (int n = 0; n < 300; ++n) bench.block();
  // The burst starts with the very next block, because no burst waits for a clock that is ahead of
  // the samples.
  EXPECT_LE(bench.await<TransmitStarted>()->at, Instant(milliseconds(34 * 20 + 800)));
  EXPECT_EQ(bench.await<TransmitFinished>()->outcome, TransmitOutcome::sent);
  EXPECT_TRUE(faults_of(bench.events()).empty());
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::samples_dropped], 0U);
}

// This happens if the process was frozen, or if a card lost samples below the callback and does not
// report it.
TEST(Worker, a_loss_that_the_device_does_not_tell_is_noticed_within_seconds) {
  for (const Duration lost : {Duration(milliseconds(500)), Duration(seconds(60))}) {
    SCOPED_TRACE(to_seconds(lost));
    RealTimeBench bench;
    ASSERT_TRUE(bench.worker->start().ok());
    for (int n = 0; n < 100; ++n) bench.block();
    bench.block(lost + milliseconds(20));
    for (int n = 0; n < 150; ++n) bench.block();
    const auto fault = bench.await<Fault>();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::samples_dropped);
    const Duration forgotten = lost / 1000 + milliseconds(5);  // the clock might be slow
    EXPECT_NEAR(static_cast<double>(bench.worker->state().counters[ModemCounter::samples_dropped]),
                to_seconds(lost) * 9600, to_seconds(forgotten) * 9600);
    // The node's clock follows the sample clock again, so a burst that is to start now starts.
    bench.block();
    const Instant present = bench.worker->now();
    EXPECT_LE(std::chrono::abs(present - Instant(milliseconds(252 * 20) + lost)), forgotten);
    ASSERT_TRUE(bench.worker
                    ->request(TransmitBurst{
                        .id = {1}, .mode = kMode, .bytes = Bytes(50), .not_before = present})
                    .ok());
    bench.block();
    bench.block();
    EXPECT_TRUE(bench.device->keyed());
  }
}

TEST(Worker, a_burst_that_waited_for_the_lost_time_is_aborted_and_may_be_asked_for_again) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  for (int n = 0; n < 100; ++n) bench.block();
  bench.block(seconds(60));
  ASSERT_TRUE(
      bench.worker
          ->request(TransmitBurst{
              .id = {1}, .mode = kMode, .bytes = Bytes(50), .not_before = bench.worker->now()})
          .ok());
  for (int n = 0; n < 160; ++n) bench.block();
  EXPECT_EQ(bench.await<TransmitFinished>()->outcome, TransmitOutcome::aborted);
  EXPECT_EQ(bench.key->calls, 1);  // the call at the start
  ASSERT_TRUE(bench.send(2).ok());
  bench.block();
  EXPECT_TRUE(eventually([&] { return bench.key->down.load(); }));
}

TEST(Worker, blocks_that_come_late_and_catch_up_are_no_loss) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  for (int n = 0; n < 10; ++n) {
    for (int m = 0; m < 100; ++m) bench.block();
    bench.block(milliseconds(640));
    for (int m = 0; m < 31; ++m) bench.block(Duration::zero());
  }
  EXPECT_TRUE(faults_of(bench.events()).empty());
  EXPECT_EQ(bench.worker->now(), Instant(milliseconds(10 * 132 * 20)));
}

TEST(Worker, losses_are_counted_and_told_and_the_clock_goes_on) {
  RealTimeBench bench;
  ASSERT_TRUE(bench.worker->start().ok());
  bench.block();
  bench.advance(milliseconds(40));
  bench.device->give_blocks(1, {.dropped = 192, .underrun = 5});
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::samples_dropped);
  EXPECT_GE(bench.worker->now(), Instant(milliseconds(60)));
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::samples_dropped], 192U);
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::samples_underrun], 5U);
}

}  // namespace
}  // namespace s5066::modem
