// SPDX-License-Identifier: Apache-2.0
#include "tests/support/shared_load.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace s5066::sim {
namespace {

constexpr std::size_t kUpduOctets = 1000;
constexpr double kPairAlone_bps = 2230;  // 2400 bit/s, short interleaver: bench_link_utilisation
constexpr Duration kTimeToLive = std::chrono::hours(24);

}  // namespace

SharedOutcome share_channel(Seed seed, const SharedLoad& offered) {
  const std::size_t stations = offered.stations;
  World world(seed, {.stations = stations});
  std::vector<Client*> clients;
  for (std::size_t i = 0; i < stations; ++i) {
    clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::node));
  }
  const double each_bps = offered.load * kPairAlone_bps / static_cast<double>(stations);
  const double gap_s = 8.0 * kUpduOctets / each_bps;
  std::vector<std::size_t> made(stations);
  for (std::size_t i = 0; i < stations; ++i) {
    Instant when = world.now();
    while (true) {
      when += from_seconds(-std::log(1 - world.rng().uniform()) * gap_s);
      if (when > world.now() + offered.lasting) break;
      const std::size_t to = (i + 1 + made[i]++ % (stations - 1)) % stations;
      world.at(when, [&world, &clients, i, to] {
        world.send(*clients[i], to, kUpduOctets, kTimeToLive);
      });
    }
  }
  world.run_for(offered.lasting);
  SharedOutcome outcome;
  for (std::size_t i = 0; i < stations; ++i) {
    std::size_t through = 0;
    for (const auto& sent : clients[i]->sent()) through += sent.confirms;
    outcome.least_share =
        std::min(outcome.least_share, static_cast<double>(through) / static_cast<double>(made[i]));
  }
  outcome.collisions = static_cast<double>(world.medium().bursts_collided()) /
                       static_cast<double>(std::max<std::uint64_t>(1, world.medium().bursts()));
  outcome.keyed_over_announced_burst = world.medium().faults().keyed_over_announced_burst;
  return outcome;
}

}  // namespace s5066::sim
