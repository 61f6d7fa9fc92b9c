// Whole nodes whose rates follow a fading channel.
#include <gtest/gtest.h>

#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

/// Twenty minutes good, twenty poor, and so on.
std::shared_ptr<sim::FadingChannel> changing(std::uint64_t seed) {
  const std::vector<sim::FadingPart> parts = {
      {.lasting = 20min, .snr_db = 26, .spread_hz = 0.1, .delay_ms = 0.5},
      {.lasting = 20min, .snr_db = 4, .spread_hz = 1, .delay_ms = 2}};
  return std::make_shared<sim::FadingChannel>(parts, 0.5, Rng(seed));
}

sim::WorldOptions options(std::uint64_t seed) {
  sim::WorldOptions options;
  options.medium.fading = changing(seed);
  options.mode = {.rate_bps = 300, .interleaver = modem::Interleaver::short_};
  options.node.dts.adaptation.emplace();
  return options;
}

/// Of all looks.
struct Shares {
  double fast = 0;
  double slow = 0;
};

/// Of the first station's link, while there is one.
std::optional<modem::Mode> mode_of(sim::World& world) {
  for (const auto& link : world.node(0).status().links) {
    if (link.transmit_mode) return link.transmit_mode;
  }
  return std::nullopt;
}

// Goal:   two nodes are fast while the channel is good, slow while it is poor, and fast again.
// Method: bulk for an hour; from the middle of each part on the rate is looked at.
TEST(Adaptation, two_nodes_follow_a_channel_that_gets_poor_and_good_again) {
  for (const sim::Seed seed : sim::seeds(3)) {
    SCOPED_TRACE(seed);
    sim::World world(seed, options(seed));
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    world.add_client(1, SapId{5}, sis::Confirmation::node);
    const auto busy_until = [&](Instant end) {
      double fast = 0;
      double slow = 0;
      double looks = 0;
      for (; world.now() < end; ++looks) {
        while (!alpha.flow_off()) world.send(alpha, 1, 2000, 24h);
        world.run_for(5s);
        const auto mode = mode_of(world);
        fast += mode && mode->rate_bps >= 4800 ? 1 : 0;
        slow += mode && mode->rate_bps <= 1200 ? 1 : 0;
      }
      return Shares{fast / looks, slow / looks};
    };
    const Instant begin{};
    busy_until(begin + 10min);
    EXPECT_GE(busy_until(begin + 19min).fast, 0.8);
    busy_until(begin + 28min);
    EXPECT_GE(busy_until(begin + 39min).slow, 0.8);
    busy_until(begin + 50min);
    EXPECT_GE(busy_until(begin + 59min).fast, 0.8);
    world.run_for(24h);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
    EXPECT_GT(world.node(0).counters()[Counter::rates_changed], 2u);
    EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
    EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
  }
}

// Goal:   rates that change do not make others talk over announced transmissions, nor lose
// anything.
TEST(Adaptation, third_stations_share_a_frequency_on_which_rates_change) {
  for (const sim::Seed seed : sim::seeds(3)) {
    SCOPED_TRACE(seed);
    sim::WorldOptions setup = options(seed);
    setup.stations = 3;
    sim::World world(seed, setup);
    std::vector<sim::Client*> clients;
    for (std::size_t i = 0; i < 3; ++i) {
      clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::node));
    }
    for (int i = 0; i < 60; ++i) {
      for (std::size_t from = 0; from < 3; ++from) {
        world.send(*clients[from], (from + 1) % 3, 1000, 24h);
      }
      world.run_for(30s);
    }
    world.run_for(24h);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
    EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
  }
}

}  // namespace
}  // namespace s5066
