// SPDX-License-Identifier: Apache-2.0
// Measures the time of 200 octets from client to client if the channel is idle and the link must be
// made first, against the floor that its bursts and turnarounds set.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "modem/api/airtime.h"
#include "s5066d/pdu/dpdu.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kUpduOctets = 200;

/// Returns the time of PHYSICAL LINK REQUEST and ACCEPTED, a C_PDU of one octet each, and of the
/// data in one frame.
double floor_s(const modem::Mode& mode, const dts::Config& config) {
  const Duration control = modem::airtime(mode, pdu::nonarq_octets(1));
  const Duration data = modem::airtime(mode, pdu::data_octets(kUpduOctets + 1 + 5));
  return to_seconds(2 * control + 2 * config.turnaround + data);
}

double median_s(const modem::Mode& mode, const NodeConfig& node, std::size_t runs) {
  std::vector<double> seconds;
  for (std::size_t seed = 1; seed <= runs; ++seed) {
    sim::World world(seed, {.mode = mode, .node = node});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    world.run_for(10min);
    const Instant begin = world.now();
    world.send(alpha, 1, kUpduOctets, 24h);
    while (bravo.received().empty() && world.now() < begin + 1h) world.run_for(10ms);
    seconds.push_back(to_seconds(world.now() - begin));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {}, {"json", "quick"});
  const NodeConfig node;
  for (const unsigned rate : {75u, 150u, 300u, 600u, 1200u, 2400u, 4800u, 9600u}) {
    for (const auto interleaver : {modem::Interleaver::short_, modem::Interleaver::long_}) {
      const modem::Mode mode{rate > 2400 ? modem::Waveform::stanag4539 : modem::Waveform::ms110a,
                             rate, interleaver};
      const double seconds = median_s(mode, node, arguments.has("quick") ? 3 : 21);
      const double floor = floor_s(mode, node.dts);
      std::printf(arguments.has("json")
                      ? "{\"mode\":\"%s\",\"seconds\":%.2f,\"floor\":%.2f,\"ratio\":%.3f}\n"
                      : "%-16s %7.2f s  floor %7.2f s  %.3f\n",
                  to_string(mode).c_str(), seconds, floor, seconds / floor);
      std::fflush(stdout);
    }
  }
}
