// SPDX-License-Identifier: Apache-2.0
// The worker reports power on the channel to its node, and waits while the channel is occupied.
#include <gtest/gtest.h>

#include "tests/unit/modem_worker/worker_bench.h"

namespace s5066::modem {
namespace {

using Bench = WorkerBench;

TEST(Worker, tells_that_the_channel_is_occupied_and_that_it_is_free_again) {
  Bench bench({.lockstep = true});
  ASSERT_TRUE(bench.worker->start().ok());
  bench.tick(20);
  bench.device->sound(0.1F);
  bench.tick(20);
  auto events = bench.events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(std::get<ChannelOccupancy>(events[0]).occupied);
  bench.device->sound(0);
  bench.tick(20);
  events = bench.events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(std::get<ChannelOccupancy>(events[0]).occupied);
}

TEST(Worker, an_occupied_channel_becomes_free_even_when_nobody_reads_events) {
  for (const bool full_before : {false, true}) {
    Bench bench({.lockstep = true}, {.event_queue_max = 12});
    ASSERT_TRUE(bench.worker->start().ok());
    bench.tick(20);
    const auto fill_the_queue = [&] {
      ASSERT_TRUE(bench.send(1, 5000).ok());
      for (std::uint64_t n = 2; n < 12; ++n) {
        ASSERT_TRUE(bench.worker->request(TransmitBurst{.id = {n}, .mode = kMode}).ok());
      }
      ASSERT_TRUE(bench.worker->request(AbortTransmit{.id = {1}}).ok());
      bench.tick(5);
    };
    if (full_before) fill_the_queue();
    bench.device->sound(0.1F);
    bench.tick(20);
    if (!full_before) fill_the_queue();
    bench.device->sound(0);
    bench.tick(20);
    std::vector<bool> told;
    for (const Event& event : bench.events()) {
      if (const auto* occupancy = std::get_if<ChannelOccupancy>(&event)) {
        told.push_back(occupancy->occupied);
      }
    }
    EXPECT_GT(bench.worker->state().counters[ModemCounter::events_lost], 0U);
    EXPECT_EQ(told, full_before ? std::vector<bool>{} : (std::vector{true, false}));
  }
}

}  // namespace
}  // namespace s5066::modem
