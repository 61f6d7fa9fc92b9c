// SPDX-License-Identifier: Apache-2.0
// Tests the share of a frequency that each of its stations gets.
#include <gtest/gtest.h>

#include "tests/support/shared_load.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

/// Runs until no station sends and all U_PDUs are reported.
void run_until_idle(sim::World& world, Duration at_most) {
  const Instant end = world.now() + at_most;
  for (int quiet = 0; quiet < 5 && world.now() < end; ++quiet) {
    world.run_for(1s);
    bool busy = world.unreported() > 0;
    for (std::size_t i = 0; i < world.stations(); ++i) {
      busy = busy || world.node(i).status().transmitting;
    }
    if (busy) quiet = -1;
  }
}

// Goal:   two stations that do not hear each other leave each other gaps as long as their
//         transmissions.
// Method: both have a link with a third station, and then, at the same moment, a minute of data for
//         it.
// Accept: on average at most 2.5 links lost in a world, for both stations together. With silences
//         of at most 30 s nearly three are lost.
TEST(SharedChannel, two_that_do_not_hear_each_other_leave_each_other_gaps) {
  std::size_t worlds = 0;
  std::size_t links_lost = 0;
  for (const std::uint32_t rate_bps : {600u, 2400u}) {
    for (const sim::Seed seed : sim::seeds(100)) {
      SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
      sim::WorldOptions options{.stations = 3, .medium = {.deaf = {{0, 2}, {2, 0}}}};
      options.mode.rate_bps = rate_bps;
      sim::World world(seed, options);
      auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
      world.add_client(1, SapId{5}, sis::Confirmation::node);
      auto& charlie = world.add_client(2, SapId{5}, sis::Confirmation::node);
      world.run_for(10s);
      for (auto* client : {&alpha, &charlie}) {
        world.send(*client, 1, 50, 72h);
        run_until_idle(world, 10min);
      }
      const std::size_t octets = rate_bps / 8 * 60;
      for (std::size_t sent = 0; sent < octets; sent += 600) {
        world.send(alpha, 1, 600, 72h);
        world.send(charlie, 1, 600, 72h);
      }
      run_until_idle(world, 3h);
      EXPECT_EQ(world.unreported(), 0u);
      EXPECT_EQ(world.delivery_faults(), "");
      ++worlds;
      for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
        links_lost += world.node(i).counters()[Counter::links_lost];
      }
    }
  }
  EXPECT_LE(10 * links_lost, 25 * worlds) << links_lost << " of " << worlds;
}

// Goal:   stations that nobody has heard yet get through beside a station that always sends, even
//         if they want to begin at the same moment.
// Method: one station has data for two others all the time; two more have a message for it.
// Accept: both have a link within twenty minutes.
TEST(SharedChannel, stations_not_heard_yet_get_through_where_one_always_sends) {
  for (const std::size_t octets : {200U, 2000U}) {
    for (const sim::Seed seed : sim::seeds(10)) {
      SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
      SCOPED_TRACE(octets);
      sim::WorldOptions options{.stations = 5};
      options.mode.rate_bps = 2400;
      sim::World world(seed, options);
      std::vector<sim::Client*> clients;
      for (std::size_t i = 0; i < 5; ++i) {
        clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::node));
      }
      std::size_t sent = 0;
      const auto run = [&](Duration duration) {
        for (const Instant end = world.now() + duration; world.now() < end; world.run_for(5s)) {
          while (world.unreported() < 8) world.send(*clients[0], 1 + sent++ % 2, octets, 72h);
        }
      };
      run(5min);
      world.send(*clients[3], 0, 200, 2h);
      world.send(*clients[4], 0, 200, 2h);
      run(20min);
      EXPECT_GT(world.node(3).counters()[Counter::links_made], 0u);
      EXPECT_GT(world.node(4).counters()[Counter::links_made], 0u);
    }
  }
}

// --- Four stations with the same load ------------------------------------------------------------

// Goal:   at a load of 60 % of the channel's capacity each station delivers at least four fifths of
//         the data that it offers, and fewer than one in twenty transmissions collide.
// Method: three hours with each seed; the bounds hold for each seed by itself.
TEST(SharedChannel, four_stations_with_the_same_load_share_alike_and_seldom_collide) {
  for (const sim::Seed seed : sim::seeds(4)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    const auto outcome = sim::share_channel(seed, {.stations = 4, .load = 0.6, .lasting = 3h});
    EXPECT_GE(outcome.least_share, 0.8);
    EXPECT_LT(outcome.collisions, 0.05);
    EXPECT_EQ(outcome.keyed_over_announced_burst, 0u);
  }
}

}  // namespace
}  // namespace s5066
