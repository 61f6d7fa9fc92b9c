// SPDX-License-Identifier: Apache-2.0
// Measures bulk ARQ under frame losses, with the rates, interleavers, segment lengths and losses of
// a Monte Carlo model of selective repeat whose acknowledgements always arrive. D_PDUs with data
// are lost independently; with --run N they are lost N in a row on average. --window 128 measures
// without the larger window. Each cell is the mean over --seeds N runs, from --seed S on, and half
// the width of its confidence interval of 95 %. --loss P measures one column, --mode M and
// --segment-octets N the rows of one mode or length. With --default-segments the node chooses the
// length of its segments by what is lost, as in service, and rows have the length 0.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tests/bench/common/arguments.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHeadersOfUpdu = 1 + 5;
constexpr std::size_t kQueueOctetsMax = std::size_t{4} << 20;
constexpr int kUpdusUnderWay = 1000;
constexpr std::array kLosses = {0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5};

struct Row {
  modem::Mode mode;
  std::size_t segment_octets;
  std::array<int, 7> model_window_128;  // percent of the line rate
  std::array<int, 7> model_unlimited;
};

constexpr auto kMs110a = modem::Waveform::ms110a;
constexpr auto k4539 = modem::Waveform::stanag4539;
constexpr auto kShort = modem::Interleaver::short_;
constexpr auto kLong = modem::Interleaver::long_;
constexpr std::array kRows = {
    Row{{kMs110a, 1200, kShort}, 200, {87, 86, 82, 77, 68, 59, 42}, {87, 86, 83, 78, 70, 61, 44}},
    Row{{kMs110a, 2400, kShort}, 200, {86, 84, 79, 74, 65, 56, 39}, {87, 86, 83, 79, 70, 61, 44}},
    Row{{kMs110a, 2400, kShort}, 400, {91, 90, 86, 81, 71, 62, 44}, {91, 91, 87, 82, 73, 64, 46}},
    Row{{kMs110a, 2400, kLong}, 400, {78, 76, 70, 65, 55, 47, 32}, {78, 78, 74, 70, 63, 55, 39}},
    Row{{k4539, 4800, kShort}, 400, {89, 87, 81, 76, 66, 57, 40}, {91, 90, 87, 82, 73, 64, 46}},
    Row{{k4539, 4800, kLong}, 1023, {87, 86, 81, 76, 66, 57, 39}, {87, 86, 82, 78, 69, 61, 43}},
    Row{{k4539, 9600, kShort}, 200, {75, 69, 61, 55, 46, 39, 26}, {87, 86, 82, 78, 69, 61, 43}},
    Row{{k4539, 9600, kShort}, 400, {85, 81, 74, 69, 59, 50, 34}, {91, 90, 87, 82, 73, 64, 46}},
    Row{{k4539, 9600, kShort}, 1023, {93, 91, 86, 80, 70, 61, 42}, {94, 93, 89, 85, 75, 66, 47}},
    Row{{k4539, 9600, kLong}, 1023, {86, 81, 73, 67, 57, 48, 33}, {87, 86, 83, 78, 70, 61, 44}},
};

double share_of_line(const Row& row, bool default_segments, double loss, double run,
                     unsigned window, sim::Seed seed) {
  constexpr int kTransmissionsFirst = 20;  // transmissions until the window has its usual size
  constexpr int kTransmissionsMeasured = 60;
  const std::size_t cpdu = 2046 / row.segment_octets * row.segment_octets;
  NodeConfig node;
  if (!default_segments) node.dts.segment_octets = row.segment_octets;
  node.dts.large_window = window;
  // One client must be able to fill the window of its link.
  node.sap.queue.client_octets_max = node.sap.queue.lent_octets_max = kQueueOctetsMax;
  node.sap.link_outstanding_octets_max = kQueueOctetsMax;
  sim::World world(
      seed, {.medium = {.data_loss = loss, .loss_run = run}, .mode = row.mode, .node = node});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
  world.run_for(10s);
  // U_PDUs that a broken link lost come back rejected and are no longer under way.
  const auto under_way = [&] {
    return std::count_if(alpha.sent().begin(), alpha.sent().end(),
                         [](const auto& sent) { return sent.confirms + sent.rejects == 0; });
  };
  int transmissions = 0;
  bool transmitting = false;
  std::size_t begin_updus = 0;
  Instant begin{};
  while (transmissions < kTransmissionsFirst + kTransmissionsMeasured) {
    while (!alpha.flow_off() && under_way() < kUpdusUnderWay) {
      world.send(alpha, 1, cpdu - kHeadersOfUpdu, 24h);
    }
    world.run_for(50ms);
    const bool now_transmitting = world.node(0).status().transmitting;
    if (now_transmitting && !transmitting && ++transmissions == kTransmissionsFirst) {
      begin = world.now();
      begin_updus = bravo.received().size();
    }
    transmitting = now_transmitting;
  }
  const auto octets = static_cast<double>((bravo.received().size() - begin_updus) * cpdu);
  return 8 * octets / to_seconds(world.now() - begin) / row.mode.rate_bps;
}

struct Estimate {
  double mean;
  double half_width;  // half the width of the 95 % confidence interval
};

/// Estimates the expectation of the distribution of the samples.
Estimate estimate(const std::vector<double>& samples) {
  // Student's t at 97.5 % by degrees of freedom.
  constexpr std::array kT = {0.0,   12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
                             2.228, 2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093};
  const auto n = static_cast<double>(samples.size());
  double mean = 0;
  for (const double x : samples) mean += x / n;
  if (samples.size() < 2) return {mean, 0};
  double squares = 0;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  const double t = samples.size() <= kT.size() ? kT[samples.size() - 1] : 2.09;
  return {mean, t * std::sqrt(squares / (n - 1) / n)};
}

/// Counts how many of 100 U_PDUs arrive within a day if this share of all D_PDUs is lost.
std::size_t delivered(double loss) {
  sim::World world(1, {.medium = {.frame_loss = loss}});
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
  for (int i = 0; i < 100; ++i) world.send(alpha, 1, 1000, 48h);
  world.run_for(24h);
  return bravo.received().size();
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(
      argc, argv, {"run", "window", "loss", "seed", "seeds", "mode", "segment-octets"},
      {"json", "quick", "default-segments"});
  const double run = arguments.number("run", 1);
  const double only_loss = arguments.number("loss", -1);
  const auto window = static_cast<unsigned>(arguments.number("window", dts::kLargeWindowMax));
  const auto first_seed = static_cast<sim::Seed>(arguments.number("seed", 1));
  const auto seeds = static_cast<sim::Seed>(arguments.number("seeds", 1));
  const auto only_octets = static_cast<std::size_t>(arguments.number("segment-octets", 0));
  const std::string only_mode = arguments.text("mode", "");
  const bool json = arguments.has("json");
  const bool default_segments = arguments.has("default-segments");
  for (const Row& row : kRows) {
    if (arguments.has("quick") && row.segment_octets != 400) continue;
    if (only_octets > 0 && row.segment_octets != only_octets) continue;
    if (!only_mode.empty() && to_string(row.mode) != only_mode) continue;
    for (std::size_t i = 0; i < kLosses.size(); ++i) {
      if (only_loss >= 0 && kLosses[i] != only_loss) continue;
      std::vector<double> shares;
      for (sim::Seed seed = first_seed; seed < first_seed + seeds; ++seed) {
        shares.push_back(share_of_line(row, default_segments, kLosses[i], run, window, seed));
      }
      const Estimate share = estimate(shares);
      std::printf(json ? "{\"mode\":\"%s\",\"segment_octets\":%zu,\"loss\":%.2f,\"run\":%.0f,"
                         "\"window\":%u,\"seeds\":%zu,\"share_of_line\":%.4f,\"half_width\":%.4f,"
                         "\"model_window_128\":%.2f,\"model_unlimited\":%.2f}\n"
                       : "%-15s n %4zu  loss %.2f  run %.0f  window %u  %zu seeds  %.4f +- %.4f of "
                         "line rate (model %.2f, without a window %.2f)\n",
                  to_string(row.mode).c_str(), default_segments ? 0 : row.segment_octets,
                  kLosses[i], run, window, shares.size(), share.mean, share.half_width,
                  row.model_window_128[i] / 100.0, row.model_unlimited[i] / 100.0);
      std::fflush(stdout);
    }
  }
  if (only_loss >= 0 || only_octets > 0 || !only_mode.empty()) return 0;
  std::printf(json ? "{\"loss\":0.8,\"sent\":100,\"delivered\":%zu}\n"
                   : "of 100 U_PDUs with 80 %% of all D_PDUs lost: %zu delivered\n",
              delivered(0.8));
}
