// SPDX-License-Identifier: Apache-2.0
// Measures files that go by the transfer service between two relays with their spools and two nodes
// on the simulated channel.
//
// `line`: a file of random octets on a clean channel, from the command to the file in the inbox, as
// a share of the line. The stations know each other, and the link is up. `first`: the same as the
// first file to a station. `urgent`: 1 kB of higher priority behind 500 kB at 1200 bit/s, in units
// of the longest transmission. `loss`: a file at 2400 bit/s while frames are lost; the octets that
// the relay hands to its node count.
// --quick leaves out the slow cells, --only KIND runs one kind.
#include <cstdio>
#include <optional>
#include <string>

#include "s5066d/base/rng.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/files/file_nodes.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using file_relay::RelaySenderCounter;

constexpr double kTransmissionS = 127.5;

Bytes random_octets(std::size_t size) {
  Rng rng(size);
  Bytes octets(size);
  for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
  return octets;
}

sim::WorldOptions options_at(const std::string& mode, double loss) {
  sim::WorldOptions options;
  options.mode = *modem::parse_mode(mode);
  options.medium.data_loss = loss;
  return options;
}

struct Cell {
  const char* kind;
  const char* mode;
  std::size_t octets;
  double loss;
  bool slow;
};

constexpr Cell kCells[] = {
    {"line", "110a-300-short", 100'000, 0, true},
    {"line", "110a-1200-short", 100'000, 0, false},
    {"line", "110a-2400-short", 100'000, 0, false},
    {"line", "4539-9600-s", 100'000, 0, false},
    {"line", "110a-2400-short", 8'100, 0, false},
    {"line", "4539-9600-s", 8'100, 0, false},
    {"first", "110a-2400-short", 8'100, 0, false},
    {"first", "4539-9600-s", 100'000, 0, false},
    {"loss", "110a-2400-short", 29'800, 0, false},
    {"loss", "110a-2400-short", 29'800, 0.1, false},
    {"loss", "110a-2400-short", 29'800, 0.2, false},
    {"loss", "110a-2400-short", 29'800, 0.4, false},
    {"loss", "110a-2400-short", 29'800, 0.6, false},
    {"loss", "110a-2400-short", 29'800, 0.8, true},
    {"loss", "110a-2400-short", 29'800, 0.9, true},
    {"loss", "110a-2400-short", 4'400, 0.95, true},
    {"loss", "110a-2400-short", 8'100, 0.95, true},
};

void print(const Cell& cell, std::optional<Duration> took, double handed, bool json) {
  const double seconds = took ? to_seconds(*took) : -1;
  const double rate = modem::parse_mode(cell.mode)->rate_bps;
  const double line = static_cast<double>(cell.octets) * 8 / rate / seconds;
  std::printf(json ? "{\"kind\":\"%s\",\"mode\":\"%s\",\"octets\":%zu,\"loss\":%.2f,"
                     "\"seconds\":%.1f,\"line\":%.3f,\"handed\":%.3f}\n"
                   : "%-6s %-16s %7zu octets  loss %4.2f  %8.1f s  line %6.3f  handed %5.3f\n",
              cell.kind, cell.mode, cell.octets, cell.loss, seconds, line, handed);
  std::fflush(stdout);
}

void measure(const Cell& cell, bool json) {
  sim::FileNodes nodes(1, options_at(cell.mode, cell.loss), {}, 50ms, true);
  nodes.run_for(10s);
  if (std::string(cell.kind) == "line") {
    nodes.send(0, 1, "before", random_octets(100), std::nullopt);
    if (!nodes.time_until_arrival(1, "before", 2h)) return;
    nodes.run_for(2min);
  }
  const auto& counters = nodes.relay(0).sender().counters();
  const auto blocks = counters[RelaySenderCounter::blocks];
  nodes.send(0, 1, "file", random_octets(cell.octets), std::nullopt);
  const auto took = nodes.time_until_arrival(1, "file", 48h);
  const auto handed = static_cast<double>(counters[RelaySenderCounter::blocks] - blocks) * 2033 /
                      static_cast<double>(cell.octets);
  print(cell, took, handed, json);
}

void measure_urgent(bool json) {
  sim::FileNodes nodes(1, options_at("110a-1200-short", 0), {}, 50ms, true);
  nodes.run_for(10s);
  nodes.send(0, 1, "large", random_octets(500'000), std::nullopt);
  nodes.run_for(15min);
  nodes.send(0, 1, "urgent", random_octets(1000), std::uint8_t{12});
  const auto took = nodes.time_until_arrival(1, "urgent", 6h);
  const double transmissions = took ? to_seconds(*took) / kTransmissionS : -1;
  std::printf(json ? "{\"kind\":\"urgent\",\"transmissions\":%.2f}\n"
                   : "urgent 1 kB behind 500 kB at 1200 bit/s: %.2f transmissions\n",
              transmissions);
  std::fflush(stdout);
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {"only"}, {"json", "quick"});
  const std::string only = arguments.text("only", "");
  const bool json = arguments.has("json");
  for (const Cell& cell : kCells) {
    if (!only.empty() && only != cell.kind) continue;
    if (cell.slow && arguments.has("quick")) continue;
    measure(cell, json);
  }
  if (only.empty() || only == "urgent") measure_urgent(json);
}
