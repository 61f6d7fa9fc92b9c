// How much of the line rate reaches the user: one client sends a file's worth of U_PDUs over ARQ on
// a clean simulated channel, from an idle node without a link to the last confirmation.
#include <cstdio>

#include "s5066d/base/metrics.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

struct Result {
  double seconds = 0;
  double goodput_bps = 0;
  std::uint64_t bursts = 0;
};

Result transfer(const modem::Mode& mode, std::size_t octets, std::size_t updu_octets) {
  sim::World world(1, {.mode = mode});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  world.add_client(1, SapId{5}, sis::Confirmation::node);
  world.run_for(10s);
  const Instant begin = world.now();
  for (std::size_t left = octets; left > 0;) {
    const std::size_t n = std::min(left, updu_octets);
    world.send(alpha, 1, std::max<std::size_t>(n, 12), 24h);
    left -= n;
  }
  while (world.unreported() > 0 && world.now() < begin + 6h) world.run_for(10ms);
  Result result;
  result.seconds = to_seconds(world.now() - begin);
  result.goodput_bps = 8.0 * static_cast<double>(octets) / result.seconds;
  result.bursts = world.medium().bursts();
  return result;
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {"octets", "updu-octets"}, {"json", "quick"});
  const auto octets = static_cast<std::size_t>(arguments.number("octets", 20000));
  const auto updu = static_cast<std::size_t>(arguments.number("updu-octets", 2048));
  for (const modem::Mode& mode : modem::all_modes()) {
    const bool middle = mode.rate_bps == 2400 || mode.rate_bps == 6400;
    if (arguments.has("quick") && !middle) continue;
    const auto result = transfer(mode, octets, updu);
    const std::string name = to_string(mode);
    const std::string interleaver(to_string(mode.waveform, mode.interleaver));
    const double share = result.goodput_bps / mode.rate_bps;
    if (arguments.has("json")) {
      std::printf(
          "{\"mode\":\"%s\",\"rate_bps\":%u,\"interleaver\":\"%s\",\"updu_octets\":%zu,\"octets\":%"
          "zu,"
          "\"seconds\":%.2f,\"goodput_bps\":%.1f,\"share_of_line\":%.4f,\"bursts\":%llu}\n",
          name.c_str(), mode.rate_bps, interleaver.c_str(), updu, octets, result.seconds,
          result.goodput_bps, share, static_cast<unsigned long long>(result.bursts));
    } else {
      std::printf("%-16s  %8.1f s  %7.1f bit/s  %5.1f %% of line rate  %llu bursts\n", name.c_str(),
                  result.seconds, result.goodput_bps, 100 * share,
                  static_cast<unsigned long long>(result.bursts));
    }
  }
}
