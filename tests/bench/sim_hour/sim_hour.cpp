// SPDX-License-Identifier: Apache-2.0
// Measures the cost of simulating an hour of a busy link: two nodes at 2400 and at 9600 bit/s, a
// client that always has more to send, processor time of the whole process. The figure is the
// median of several runs; the reference in the same run is the CRC of as many octets as cross the
// air in an hour.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "s5066d/base/crc.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

double cpu_ms() {
  return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Hour {
  double ms = 0;
  double goodput_bps = 0;
  std::uint64_t bursts = 0;
};

Hour busy_hour(const modem::Mode& mode) {
  const double begin = cpu_ms();
  sim::World world(1, {.mode = mode});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
  const Instant end = world.now() + 1h;
  while (world.now() < end) {
    for (int i = 0; i < 40 && !alpha.flow_off(); ++i) world.send(alpha, 1, 2000, 24h);
    world.run_for(10s);
  }
  Hour hour;
  hour.ms = cpu_ms() - begin;
  hour.goodput_bps = 8.0 * 2000 * static_cast<double>(bravo.received().size()) / 3600;
  hour.bursts = world.medium().bursts();
  return hour;
}

double crc_ms(std::size_t octets) {
  const Bytes data(octets, 0x55);
  const double begin = cpu_ms();
  volatile std::uint32_t keep = segment_crc(data);
  static_cast<void>(keep);
  return cpu_ms() - begin;
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {}, {"json", "quick"});
  constexpr modem::Mode kModes[] = {
      {modem::Waveform::ms110a, 2400, modem::Interleaver::short_},
      {modem::Waveform::stanag4539, 9600, modem::Interleaver::short_},
  };
  for (const modem::Mode& mode : kModes) {
    std::vector<Hour> hours(arguments.has("quick") ? 3 : 11);
    for (Hour& hour : hours) hour = busy_hour(mode);
    std::sort(hours.begin(), hours.end(), [](const Hour& a, const Hour& b) { return a.ms < b.ms; });
    const Hour& median = hours[hours.size() / 2];
    const double reference = crc_ms(mode.rate_bps / 8 * 3600);
    std::printf(
        arguments.has("json")
            ? "{\"rate_bps\":%u,\"cpu_ms\":%.1f,\"cpu_ms_worst\":%.1f,"
              "\"ratio_to_crc\":%.1f,\"goodput_bps\":%.0f,\"bursts\":%llu}\n"
            : "%u bit/s: %.1f ms of processor time an hour (worst %.1f), %.1f times the CRC "
              "of its octets; %.0f bit/s, %llu bursts\n",
        mode.rate_bps, median.ms, hours.back().ms, median.ms / reference, median.goodput_bps,
        static_cast<unsigned long long>(median.bursts));
  }
}
