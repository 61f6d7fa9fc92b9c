// Up to eight nodes on one frequency.
#include <gtest/gtest.h>

#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

// Goal:   stations that share a frequency finish their business and never key over a transmission
//         whose end they were told.
// Method: three to eight stations, random pairs, an hour of traffic, some loss and fades.
TEST(ManyStations, all_traffic_ends_and_nobody_keys_over_an_announced_burst) {
  for (const sim::Seed seed : sim::seeds(30)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::WorldOptions options;
    options.stations = 3 + seed % 6;
    options.medium = {.frame_loss = 0.05, .fades_per_burst = 0.1};
    sim::World world(seed, options);
    std::vector<sim::Client*> clients;
    for (std::size_t i = 0; i < options.stations; ++i) {
      clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::client));
    }
    for (int i = 0; i < 40; ++i) {
      const auto n = static_cast<std::uint32_t>(options.stations);
      const std::size_t from = world.rng().below(n);
      const std::size_t to = (from + 1 + world.rng().below(n - 1)) % n;
      const Instant when = world.now() + std::chrono::seconds(world.rng().below(3600));
      world.at(when, [&world, &clients, from, to] {
        world.send(*clients[from], to, 12 + world.rng().below(1000), 12h);
      });
    }
    world.run_for(13h);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.medium().faults().keyed_over_announced_burst, 0u);
    EXPECT_EQ(world.medium().faults().eot_wrong, 0u);
    std::uint64_t confirmed = 0;
    for (const auto* client : clients) {
      for (const auto& sent : client->sent()) confirmed += sent.confirms;
    }
    EXPECT_GE(confirmed, 36u);
  }
}

}  // namespace
}  // namespace s5066
