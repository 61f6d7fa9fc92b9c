// SPDX-License-Identifier: Apache-2.0
// The worker's device is not there yet when the worker starts, as with a USB card after a reboot.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/modem_worker/worker_bench.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Worker, a_device_that_is_not_there_yet_counts_as_lost_and_is_used_once_it_comes) {
  WorkerBench bench({}, {.silence_max = seconds(1000), .reopen_delay = milliseconds(1)});
  bench.device->may_come_later = true;
  bench.device->refuse_open(1'000'000, ErrorCode::not_found);
  ASSERT_TRUE(bench.worker->start().ok());
  const auto lost = bench.await<Fault>();
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->kind, FaultKind::device_lost);
  EXPECT_NE(lost->detail.find("as told"), std::string::npos) << lost->detail;
  EXPECT_TRUE(bench.worker->state().down);
  ASSERT_TRUE(bench.send(1).ok());
  EXPECT_EQ(bench.await<Fault>()->kind, FaultKind::command_refused);
  EXPECT_FALSE(bench.worker->finished());
  bench.device->refuse_open(0, ErrorCode::io);
  bench.device->give_blocks(1);
  auto back = bench.await<Fault>();
  if (back && back->kind == FaultKind::samples_dropped) back = bench.await<Fault>();
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->kind, FaultKind::device_back);
  EXPECT_FALSE(bench.worker->state().down);
  ASSERT_TRUE(bench.send(2).ok());
  bench.device->give_blocks(5);
  EXPECT_TRUE(bench.await<TransmitStarted>().has_value());
  bench.device->fail(ErrorCode::io);
  EXPECT_EQ(bench.await<TransmitFinished>()->outcome, TransmitOutcome::aborted);
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::device_losses], 2U);
}

TEST(Worker, of_a_device_that_may_come_later_the_rate_must_fit_from_the_start) {
  WorkerBench bench({.rate_hz = 48000, .block_samples = 961});
  bench.device->may_come_later = true;
  bench.device->refuse_open(1'000'000, ErrorCode::not_found);
  EXPECT_FALSE(bench.worker->start().ok());
}

TEST(Worker, why_a_device_does_not_come_is_told_again_and_ever_more_rarely) {
  std::atomic<std::int64_t> clock{1'000'000'000};
  std::atomic<int> looks{0};
  WorkerBench bench({}, {.reopen_delay = seconds(1),
                         .reopen_delay_max = seconds(1),
                         .lost_repeat = seconds(4),
                         .lost_repeat_max = seconds(8),
                         .monotonic = [&] {
                           ++looks;
                           return Duration(clock.load());
                         }});
  bench.device->may_come_later = true;
  bench.device->refuse_open(1'000'000, ErrorCode::not_found);
  ASSERT_TRUE(bench.worker->start().ok());
  std::vector<int> told_at;
  for (int second = 0; second < 45 && told_at.size() < 5; ++second) {
    const int before = looks;
    ASSERT_TRUE(eventually([&] { return looks > before + 3; }));
    while (const auto event = bench.worker->poll_event()) {
      const auto* fault = std::get_if<Fault>(&*event);
      ASSERT_NE(fault, nullptr);
      EXPECT_EQ(fault->kind, FaultKind::device_lost);
      EXPECT_EQ(fault->detail.find("still lost: not found: as told") == 0, !told_at.empty())
          << fault->detail;
      told_at.push_back(second);
    }
    clock += Duration(seconds(1)).count();
  }
  // Two attempts can be two seconds apart, and the test sees each up to one second later.
  ASSERT_EQ(told_at.size(), 5U);
  for (const auto& [n, wait] : {std::pair{1U, 4}, {2U, 8}, {3U, 8}, {4U, 8}}) {
    EXPECT_GE(told_at[n] - told_at[n - 1], wait - 1) << n;
    EXPECT_LE(told_at[n] - told_at[n - 1], wait + 3) << n;
  }
  EXPECT_EQ(bench.worker->state().counters[ModemCounter::device_losses], 1U);
  bench.worker.reset();  // the worker goes before the clock that it uses
}

}  // namespace
}  // namespace s5066::modem
