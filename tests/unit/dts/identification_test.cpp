// SPDX-License-Identifier: Apache-2.0
// The station sends its call sign in Morse code after its first transmission and then once in each
// interval in which it transmits.
#include "s5066d/dts/identification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "modem/api/morse.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

Instant t(Duration d) {
  return Instant(d);
}

TEST(Identification, follows_the_first_transmission_and_then_comes_once_in_an_interval) {
  Identification id({.text = "DL0ABC", .interval = 600s});
  EXPECT_FALSE(id.due_at());
  id.on_transmitted(t(100s));
  EXPECT_TRUE(id.due(t(100s)));
  id.on_identified(t(110s), true);
  EXPECT_FALSE(id.due_at()) << "nothing was transmitted since";
  id.on_transmitted(t(200s));
  EXPECT_FALSE(id.due(t(709s)));
  EXPECT_TRUE(id.due(t(710s)));
  id.on_identified(t(715s), true);
  id.on_transmitted(t(5000s));
  EXPECT_TRUE(id.due(t(5000s))) << "the interval is long over";
}

TEST(Identification, is_tried_again_after_one_that_was_cut_off) {
  Identification id({.text = "DL0ABC", .interval = 600s});
  id.on_transmitted(t(100s));
  id.on_identified(t(101s), false);
  EXPECT_FALSE(id.due(t(110s)));
  EXPECT_TRUE(id.due(t(111s)));
}

TEST(Identification, is_off_without_a_text_or_an_interval) {
  for (const auto& config : {Identification::Config{.text = "", .interval = 600s},
                             Identification::Config{.text = "DL0ABC", .interval = 0s}}) {
    Identification id(config);
    id.on_transmitted(t(100s));
    EXPECT_FALSE(id.due_at());
  }
}

Config config(Duration interval) {
  return {.mode = {.rate_bps = 1200, .interleaver = modem::Interleaver::short_},
          .identification = {.text = "DL0ABC", .interval = interval}};
}

std::vector<Instant> identified(const DtsWorld::Station& station) {
  std::vector<Instant> times;
  for (const auto& burst : station.bursts) {
    if (burst.identifies) times.push_back(burst.at);
  }
  return times;
}

TEST(Identification, both_stations_of_a_busy_link_identify_themselves_in_each_interval) {
  DtsWorld world(2, {}, 1, config(300s));
  world.connect(0, 1);
  std::uint64_t id = 0;
  const Instant begin = world.now();
  for (int minute = 0; minute < 60; ++minute) {
    for (int n = 0; n < 4; ++n) world.send(0, 1, ++id, Bytes(1000, 7));
    world.run_for(1min);
  }
  const Instant end = world.now();
  world.run_for(30min);
  EXPECT_EQ(world[0].confirmed.size(), id) << "the link works all the same";
  EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
  for (std::size_t station : {0, 1}) {
    const auto times = identified(world[station]);
    ASSERT_GE(times.size(), 10u) << station;
    EXPECT_LE(times.front() - begin, 120s) << station;
    for (std::size_t i = 1; i < times.size(); ++i) {
      EXPECT_GE(times[i] - times[i - 1], 300s) << station;
      EXPECT_LE(times[i] - times[i - 1], 300s + 150s) << station << " waits for one turn at most";
    }
    EXPECT_GE(times.back(), end - 300s) << "after the last transmission";
    EXPECT_EQ(world[station].counters[Counter::identifications_sent], times.size());
  }
}

TEST(Identification, begins_over_no_other_station) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    DtsWorld world(3, {.power_heard = true}, seed, config(60s));
    world.connect(0, 1);
    world.connect(0, 2);
    std::uint64_t id = 0;
    for (int minute = 0; minute < 30; ++minute) {
      world.send(0, 1, ++id, Bytes(500, 7));
      world.send(0, 2, ++id, Bytes(500, 7));
      world.run_for(1min);
    }
    world.run_for(10min);
    EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
    EXPECT_GE(identified(world[0]).size(), 10u);
    EXPECT_GE(identified(world[1]).size(), 5u);
  }
}

TEST(Identification, keeps_silence_under_emcon) {
  DtsWorld world(2, {}, 1, config(60s));
  world.connect(0, 1);
  world.send(0, 1, 1, Bytes(200, 7));
  world.run_for(2s);
  world.silence(0, true);
  const std::size_t before = identified(world[0]).size();
  world.run_for(1h);
  EXPECT_EQ(identified(world[0]).size(), before);
  world.silence(0, false);
  world.run_for(5min);
  EXPECT_GT(identified(world[0]).size(), before);
}

TEST(Identification, a_station_that_is_never_answered_identifies_itself_too) {
  DtsWorld world(1, {}, 1, config(60s));
  world.made(0, 1);
  world.send(0, 1, 1, Bytes(200, 7));
  world.run_for(20min);
  EXPECT_GE(identified(world[0]).size(), 1u);
}

// A call that is not answered in its time is repeated; the call sign can wait for the next turn.
TEST(Identification, does_not_take_the_place_of_the_answer_to_a_call) {
  DtsWorld world(2, {}, 1, config(60s));
  world.send(1, 0, 1, Bytes(20, 7), Service::expedited_nonarq);
  while (identified(world[1]).empty() && world.now() < t(10min)) world.run_for(1s);
  ASSERT_EQ(identified(world[1]).size(), 1u);
  world.run_for(30s);
  world.send(1, 0, 2, Bytes(20, 7), Service::expedited_nonarq);
  world.run_for(10s);
  std::uint64_t id = 2;
  std::size_t answered = 0;
  for (int call = 0; call < 60; ++call) {
    const std::size_t before = world[1].received.size();
    const std::size_t bursts = world[1].bursts.size();
    world.send(0, 1, ++id, Bytes(20, 7), Service::expedited_nonarq);
    for (int i = 0; i < 300 && world[1].received.size() == before; ++i) world.run_for(100ms);
    if (world[1].received.size() == before || world[1].bursts.size() > bursts) continue;
    world.send(1, 0, ++id, Bytes(20, 7), Service::expedited_nonarq);
    for (int i = 0; i < 300 && world[1].bursts.size() == bursts; ++i) world.run_for(100ms);
    ASSERT_GT(world[1].bursts.size(), bursts);
    EXPECT_FALSE(world[1].bursts[bursts].identifies) << call;
    ++answered;
    world.run_for(5s);
  }
  EXPECT_GT(answered, 10u);
}

}  // namespace
}  // namespace s5066::dts
