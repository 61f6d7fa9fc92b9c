// SPDX-License-Identifier: Apache-2.0
// Measures how long a file takes from the command that sends it to the whole file in the inbox of
// the other station: two relays with their spools, two nodes, real waveforms and a channel, in
// lockstep on sample time. No link exists at the command, and the stations have not heard each
// other before.
//
// Each cell is a size on a channel; its limit is the air time of the octets in the best of our
// modes there. --mode M sets the mode in which links begin, the default of `modem.mode` without it;
// --told sends in M alone, without adaptation.
// --cell C runs one cell, --seeds N draws the channel N times, --log lists the transmissions on
// standard error.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "modem/api/airtime.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/files/file_nodes.h"
#include "tests/support/waves/wave_medium.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

struct Cell {
  std::string name;
  std::size_t octets;
  double snr_db;
  bool fading;     // two paths 2 ms apart, each fading with 1 Hz
  double limit_s;  // air time of the octets in the best mode
  double most_s;   // a longer transfer counts as failed
};

std::vector<Cell> cells() {
  constexpr std::size_t kSmall = 2'000;
  constexpr std::size_t kLarge = 50'000;
  return {
      {"200B+20", 200, 20, false, 0, 120},       {"200B+4", 200, 4, false, 0, 300},
      {"200B-4", 200, -4, false, 0, 600},        {"200B-10", 200, -10, false, 0, 1200},
      {"2KB+20", kSmall, 20, false, 2.5, 300},   {"2KB+10", kSmall, 10, false, 4.6, 300},
      {"2KB+4", kSmall, 4, false, 8.1, 600},     {"2KB+0", kSmall, 0, false, 28.4, 600},
      {"2KB-4", kSmall, -4, false, 56, 900},     {"2KB-7", kSmall, -7, false, 115, 1200},
      {"2KB-10", kSmall, -10, false, 226, 1800}, {"2KBp+10", kSmall, 10, true, 5.7, 600},
      {"2KBp+4", kSmall, 4, true, 28.4, 900},    {"50KB+20", kLarge, 20, false, 43.5, 900},
      {"50KB+10", kLarge, 10, false, 86, 1200},  {"50KB+4", kLarge, 4, false, 172, 1800},
      {"50KB+0", kLarge, 0, false, 684, 3600},   {"50KBp+10", kLarge, 10, true, 0, 1800},
      {"50KBp+4", kLarge, 4, true, 0, 3600},
  };
}

struct Setting {
  modem::Mode mode{.rate_bps = 300, .interleaver = modem::Interleaver::short_};
  bool adapts = true;
  bool log = false;
};

/// Lists the transmissions.
class LoggedAir final : public sim::Air {
 public:
  LoggedAir(sim::EventHeap& heap, std::unique_ptr<sim::Air> air)
      : heap_(heap), air_(std::move(air)) {}
  std::size_t add_station(Deliver deliver) override {
    return air_->add_station(std::move(deliver));
  }
  void command(std::size_t station, const modem::Command& command) override {
    if (const auto* burst = std::get_if<modem::TransmitBurst>(&command)) {
      std::fprintf(stderr, "%8.1f s  station %zu  %-16s %5zu octets  %6.1f s\n",
                   to_seconds(heap_.now().time_since_epoch()), station,
                   to_string(burst->mode).c_str(), burst->bytes.size(),
                   to_seconds(modem::airtime(burst->mode, burst->bytes.size())));
    }
    air_->command(station, command);
  }

 private:
  sim::EventHeap& heap_;
  std::unique_ptr<sim::Air> air_;
};

/// Returns the seconds from the command to the file; empty if it was not there in time.
std::optional<double> transfer_s(const Cell& cell, const Setting& setting, sim::Seed seed) {
  sim::WorldOptions options;
  options.stations = 2;
  options.mode = setting.mode;
  if (setting.adapts) options.node.dts.adaptation = dts::RateLimits{};
  const auto air = [&](sim::EventHeap& heap, Rng rng) -> std::unique_ptr<sim::Air> {
    modem::CableMixer::Config mixer{
        .channel = cell.fading ? modem::CableChannel::watterson : modem::CableChannel::awgn,
        .snr_db = cell.snr_db};
    mixer.seed = rng.next();
    auto waves = std::make_unique<sim::WaveMedium>(heap, mixer);
    if (!setting.log) return waves;
    return std::make_unique<LoggedAir>(heap, std::move(waves));
  };
  sim::FileNodes nodes(seed, options, air, 20ms);
  nodes.run_for(5s);
  nodes.send(0, 1, "file", cell.octets);
  const auto took = nodes.time_until_arrival(1, "file", from_seconds(cell.most_s));
  if (!took) return std::nullopt;
  return to_seconds(*took);
}

void measure(const Cell& cell, const Setting& setting, std::size_t seeds, bool json) {
  std::vector<double> seconds;
  std::size_t failed = 0;
  for (sim::Seed seed = 1; seed <= seeds; ++seed) {
    const auto took = transfer_s(cell, setting, seed);
    failed += took ? 0 : 1;
    seconds.push_back(took.value_or(cell.most_s));
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  const double worst = seconds.back();
  const std::string mode = to_string(setting.mode);
  std::printf(json ? "{\"cell\":\"%s\",\"mode\":\"%s\",\"adapts\":%s,\"limit_s\":%.1f,"
                     "\"median_s\":%.1f,\"worst_s\":%.1f,\"failed\":%zu,\"seeds\":%zu}\n"
                   : "%-9s %-16s adapts %-5s limit %6.1f s  median %7.1f s  worst %7.1f s  "
                     "failed %zu of %zu\n",
              cell.name.c_str(), mode.c_str(), setting.adapts ? "true" : "false", cell.limit_s,
              median, worst, failed, seeds);
  std::fflush(stdout);
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {"mode", "cell", "seeds"},
                                   {"json", "quick", "told", "log"});
  Setting setting{.adapts = !arguments.has("told"), .log = arguments.has("log")};
  if (arguments.has("mode")) {
    const auto mode = modem::parse_mode(arguments.text("mode", ""));
    if (!mode) {
      std::fprintf(stderr, "%s\n", mode.error().detail.c_str());
      return 2;
    }
    setting.mode = *mode;
  }
  const std::string only = arguments.text("cell", "");
  const double seeds = arguments.number("seeds", arguments.has("quick") ? 1 : 10);
  for (const Cell& cell : cells()) {
    if (!only.empty() && cell.name != only) continue;
    measure(cell, setting, static_cast<std::size_t>(seeds), arguments.has("json"));
  }
}
