// Four stations on one frequency, each with the same offered load: what each gets through, and how
// many transmissions collide. The load is given in percent of what one pair carries alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tests/bench/common/arguments.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kUpduOctets = 1000;
constexpr double kPairAlone_bps = 2230;  // at 2400 bit/s, short; bench_link_utilisation

struct Outcome {
  double least_share = 1;  // of what a station offered
  double collisions = 0;   // of all transmissions
};

Outcome share(std::size_t stations, double load, sim::Seed seed, Duration lasting) {
  sim::World world(seed, {.stations = stations});
  std::vector<sim::Client*> clients;
  for (std::size_t i = 0; i < stations; ++i) {
    clients.push_back(&world.add_client(i, SapId{5}, sis::Confirmation::node));
  }
  const double each_bps = load * kPairAlone_bps / static_cast<double>(stations);
  const double gap_s = 8.0 * kUpduOctets / each_bps;
  std::vector<std::size_t> offered(stations);
  for (std::size_t i = 0; i < stations; ++i) {
    Instant when = world.now();
    while (true) {  // a Poisson stream to the others in turn
      when += from_seconds(-std::log(1 - world.rng().uniform()) * gap_s);
      if (when > world.now() + lasting) break;
      const std::size_t to = (i + 1 + offered[i]++ % (stations - 1)) % stations;
      world.at(when, [&world, &clients, i, to] { world.send(*clients[i], to, kUpduOctets, 24h); });
    }
  }
  world.run_for(lasting);
  Outcome outcome;
  for (std::size_t i = 0; i < stations; ++i) {
    std::size_t through = 0;
    for (const auto& sent : clients[i]->sent()) through += sent.confirms;
    outcome.least_share = std::min(outcome.least_share,
                                   static_cast<double>(through) / static_cast<double>(offered[i]));
  }
  outcome.collisions = static_cast<double>(world.medium().bursts_collided()) /
                       static_cast<double>(std::max<std::uint64_t>(1, world.medium().bursts()));
  return outcome;
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  using namespace std::chrono_literals;
  const bench::Arguments arguments(argc, argv, {"stations", "load"}, {"json", "quick"});
  const auto stations = static_cast<std::size_t>(arguments.number("stations", 4));
  const double load = arguments.number("load", 60) / 100;
  for (sim::Seed seed = 1; seed <= (arguments.has("quick") ? 2u : 8u); ++seed) {
    const Outcome outcome = share(stations, load, seed, 6h);
    std::printf(arguments.has("json")
                    ? "{\"stations\":%zu,\"load\":%.2f,\"seed\":%llu,\"least_share\":%.3f,"
                      "\"collisions\":%.4f}\n"
                    : "%zu stations, load %.2f, seed %llu: least share %.3f, collisions %.4f\n",
                stations, load, static_cast<unsigned long long>(seed), outcome.least_share,
                outcome.collisions);
  }
}
