// SPDX-License-Identifier: Apache-2.0
// Tests stations on a channel that other users occupy with modems unknown to us.
#include <gtest/gtest.h>

#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

std::uint64_t counted(const sim::World& world, Counter counter) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < world.stations(); ++i) sum += world.node(i).counters()[counter];
  return sum;
}

struct Site {
  explicit Site(sim::Seed seed, const sim::WorldOptions& options) : world(seed, options) {
    for (std::size_t i = 0; i < world.stations(); ++i) {
      clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::node));
    }
  }
  sim::World world;
  std::vector<sim::Client*> clients;
};

// Goal:   no station keys over a signal on the air, and waiting data is delivered after it.
TEST(OccupiedChannelSim, a_station_that_contends_waits_until_the_channel_is_free) {
  for (const sim::Seed seed : sim::seeds(20)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    Site site(seed, {.stations = 3, .medium = {.power_heard = true}});
    sim::World& world = site.world;
    world.run_for(10s);
    world.medium().occupy(100s);
    world.run_for(1s);
    for (std::size_t i = 0; i < 3; ++i) world.send(*site.clients[i], (i + 1) % 3, 300, 1h);
    for (int second = 0; second < 99; ++second) {
      for (std::size_t i = 0; i < 3; ++i) ASSERT_FALSE(world.node(i).status().transmitting);
      ASSERT_TRUE(world.node(0).status().channel_occupied);
      world.run_for(1s);
    }
    world.run_for(10min);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
    for (const sim::Client* client : site.clients) EXPECT_EQ(client->sent()[0].confirms, 1u);
    EXPECT_EQ(world.medium().bursts_over_unknown(), 0u);
    EXPECT_GE(counted(world, Counter::occupied_waits), 1u);
    EXPECT_EQ(counted(world, Counter::occupied_sends), 0u);
    EXPECT_FALSE(world.node(0).status().channel_occupied);
  }
}

TEST(OccupiedChannelSim, it_waits_no_longer_than_140_s) {
  for (const sim::Seed seed : sim::seeds(20)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    Site site(seed, {.stations = 2});
    sim::World& world = site.world;
    world.run_for(10s);
    world.medium().occupy(1h);
    world.run_for(5s);
    world.send(*site.clients[0], 1, 300, 30min);
    world.run_for(134s);
    EXPECT_EQ(world.medium().bursts(), 0u);
    world.run_for(10s);
    EXPECT_GE(world.medium().bursts(), 1u);
    EXPECT_GE(world.node(0).counters()[Counter::occupied_sends], 1u);
    world.run_for(5min);
    EXPECT_EQ(site.clients[0]->sent()[0].confirms, 1u);
  }
}

/// Each of three stations sends one U_PDU every hour; all of them arrive.
void expect_three_hours_to_pass_well(Site& site) {
  sim::World& world = site.world;
  for (int hour = 0; hour < 3; ++hour) {
    for (std::size_t i = 0; i < 3; ++i) world.send(*site.clients[i], (i + 1) % 3, 300, 1h);
    world.run_for(1h);
  }
  EXPECT_EQ(world.unreported(), 0u);
  EXPECT_EQ(world.delivery_faults(), "");
  for (const sim::Client* client : site.clients) {
    for (const auto& sent : client->sent()) EXPECT_EQ(sent.confirms, 1u);
  }
}

// Goal:   a modem that reports an occupied channel for ever costs time and no message.
TEST(OccupiedChannelSim, a_detector_that_is_stuck_silences_no_station) {
  Site site(1, {.stations = 3, .medium = {.power_heard = true}});
  for (std::size_t i = 0; i < 3; ++i) site.world.medium().stick(i);
  expect_three_hours_to_pass_well(site);
}

// Goal:   a modem that alternates between occupied and free, at any speed, costs no message either.
TEST(OccupiedChannelSim, a_detector_that_flaps_silences_no_station) {
  for (const Duration period : {600ms, 1400ms, 2000ms, 5000ms}) {
    SCOPED_TRACE(to_seconds(period));
    Site site(1, {.stations = 3, .medium = {.power_heard = true}});
    sim::World& world = site.world;
    for (std::size_t i = 0; i < 3; ++i) {
      world.run_for(170ms);
      world.medium().flap(i, period);
    }
    expect_three_hours_to_pass_well(site);
  }
}

// Goal:   if full duplex is configured and the link is not full duplex, received power counts as in
//         half duplex.
// Method: first there is no link; then the other end is half duplex, or there is never a second
//         path.
TEST(OccupiedChannelSim,
     it_is_waited_for_where_turns_are_taken_although_full_duplex_is_configured) {
  for (const bool one_half : {false, true}) {
    SCOPED_TRACE(one_half);
    sim::WorldOptions options{.stations = 2, .medium = {.full_duplex = true}};
    options.node.dts.full_duplex = true;
    if (one_half) {
      options.medium.half_duplex = {1};
      options.adjust = [](std::size_t station, NodeConfig& config) {
        if (station == 1) config.dts.full_duplex = false;
      };
    }
    Site site(1, options);
    sim::World& world = site.world;
    if (one_half) {
      world.send(*site.clients[0], 1, 300, 1h);
      world.run_for(1min);
      ASSERT_EQ(world.node(0).status().duplex, dts::Duplex::peer_is_half);
    }
    world.medium().occupy(60s);
    world.run_for(1s);
    world.send(*site.clients[0], 1, 300, 1h);
    for (int second = 0; second < 58; ++second) {
      ASSERT_FALSE(world.node(0).status().transmitting);
      world.run_for(1s);
    }
    world.run_for(2min);
    EXPECT_EQ(site.clients[0]->sent().back().confirms, 1u);
    EXPECT_GE(world.node(0).counters()[Counter::occupied_waits], 1u);
  }
}

// Goal:   a signal that comes onto the channel in the middle of a link stops no answer.
// Method: a minute of data; from its fifth second on another signal is on the air for 100 s.
TEST(OccupiedChannelSim, turns_of_a_link_go_on_over_it) {
  for (const sim::Seed seed : sim::seeds(20)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    Duration kept[2];
    for (const bool occupied : {false, true}) {
      Site site(seed, {.stations = 2});
      sim::World& world = site.world;
      world.run_for(10s);
      world.send(*site.clients[0], 1, 50, 1h);
      world.run_for(30s);
      for (int i = 0; i < 8; ++i) world.send(*site.clients[0], 1, 2000, 1h);
      while (!world.node(0).status().transmitting) world.run_for(100ms);
      world.run_for(5s);
      if (occupied) world.medium().occupy(100s);
      const Instant began = world.now();
      while (world.unreported() > 0 && world.now() < began + 10min) world.run_for(10ms);
      kept[occupied ? 1 : 0] = world.now() - began;
      EXPECT_EQ(world.unreported(), 0u);
    }
    EXPECT_EQ(kept[0], kept[1]);
  }
}

TEST(OccupiedChannelSim, a_station_that_is_not_to_wait_does_not) {
  sim::WorldOptions options{.stations = 2};
  options.node.dts.wait_while_occupied = false;
  Site site(1, options);
  sim::World& world = site.world;
  world.medium().occupy(1h);
  world.run_for(5s);
  EXPECT_TRUE(world.node(0).status().channel_occupied);
  world.send(*site.clients[0], 1, 300, 30min);
  world.run_for(1s);
  EXPECT_GE(world.medium().bursts_over_unknown(), 1u);
  EXPECT_EQ(world.node(0).counters()[Counter::occupied_sends], 0u);
}

}  // namespace
}  // namespace s5066
