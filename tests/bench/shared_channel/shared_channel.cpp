// SPDX-License-Identifier: Apache-2.0
// Measures four stations on one frequency, each with the same offered load: the throughput of each,
// and the share of transmissions that collide. The load is in percent of the capacity of one pair
// alone.
#include <cstdio>

#include "tests/bench/common/arguments.h"
#include "tests/support/shared_load.h"

int main(int argc, char** argv) {
  using namespace s5066;
  using namespace std::chrono_literals;
  const bench::Arguments arguments(argc, argv, {"stations", "load"}, {"json", "quick"});
  const auto stations = static_cast<std::size_t>(arguments.number("stations", 4));
  const double load = arguments.number("load", 60) / 100;
  for (sim::Seed seed = 1; seed <= (arguments.has("quick") ? 2u : 8u); ++seed) {
    const auto outcome =
        sim::share_channel(seed, {.stations = stations, .load = load, .lasting = 6h});
    std::printf(arguments.has("json")
                    ? "{\"stations\":%zu,\"load\":%.2f,\"seed\":%llu,\"least_share\":%.3f,"
                      "\"collisions\":%.4f}\n"
                    : "%zu stations, load %.2f, seed %llu: least share %.3f, collisions %.4f\n",
                stations, load, static_cast<unsigned long long>(seed), outcome.least_share,
                outcome.collisions);
  }
}
