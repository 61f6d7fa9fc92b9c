// SPDX-License-Identifier: Apache-2.0
// Measures the share of the line rate that reaches the user in the long run, and the share of the
// ceiling that the waveform sets: one client always has more to send, on a clean simulated channel
// with the modem's exact burst lengths. docs/measurements/dts.md says how the ceiling is computed.
// With --waves two of the rows are repeated over real modulators and demodulators.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "modem/api/airtime.h"
#include "s5066d/pdu/dpdu.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/sim_world.h"
#include "tests/support/waves/wave_medium.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHeadersOfUpdu = 1 + 5;  // C_PCI, and S_PCI with a time to die

struct Case {
  modem::Mode mode;
  std::size_t updu_octets = 2048;
  bool arq = true;
  unsigned window = dts::kLargeWindowMax;
};

/// Returns the ceiling for a transmission of full length, an answer of one acknowledgement and two
/// turnarounds, if U_PDUs are cut into the fewest frames. If no further whole U_PDU fits, the next
/// one is begun, with a header of its own.
double ceiling_bps(const Case& c, dts::Config config) {
  config.mode = c.mode;
  const double cpdu = static_cast<double>(c.updu_octets + kHeadersOfUpdu);
  const std::size_t segment = c.arq ? pdu::kSegmentOctetsMax : dts::segment_octets_max(config);
  const double pieces = std::ceil(cpdu / static_cast<double>(segment));
  const double header = static_cast<double>(c.arq ? pdu::data_octets(0) : pdu::nonarq_octets(0));
  const double on_air = cpdu + pieces * header;
  double octets = static_cast<double>(modem::capacity(c.mode, dts::kTransmissionMax));
  if (c.arq) {
    octets = std::min(octets, c.window * on_air / pieces);
  }
  Duration cycle = modem::airtime(c.mode, static_cast<std::size_t>(octets)) + config.turnaround;
  if (c.arq) {
    cycle += modem::airtime(c.mode, pdu::ack_only_octets(0)) + config.turnaround;
  } else {  // no answer, but a pause that lets others in
    cycle += 500ms + modem::preamble_duration(c.mode) + config.turnaround;
  }
  const double rest = std::fmod(octets, on_air);
  const double frames_begun = std::ceil(rest / (static_cast<double>(segment) + header));
  const double updus =
      std::floor(octets / on_air) + std::max(0.0, rest - frames_begun * header) / cpdu;
  return 8.0 * static_cast<double>(c.updu_octets) * updus / to_seconds(cycle);
}

/// Returns so many transmissions that one U_PDU more or less is about a thousandth of the result.
int transmissions_measured(const Case& c) {
  const int transmissions = c.mode.rate_bps <= 150 ? 240 : c.mode.rate_bps <= 600 ? 64 : 32;
  return transmissions * (c.updu_octets >= 512 ? 10 : 1);
}

/// Returns the goodput over whole cycles, from the start of one transmission to that of another.
double goodput_bps(const Case& c, const NodeConfig& node, int transmissions_measured,
                   const sim::World::MakeAir& air = {}) {
  constexpr int kTransmissionsFirst = 8;
  constexpr std::size_t kUpdusInside = 4000;  // large, so that flow control is the limit
  sim::World world(1, {.mode = c.mode, .node = node}, air);
  auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
  auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
  world.run_for(10s);
  sim::World::SendOptions how;
  if (!c.arq) how.delivery = {.mode = sis::TransmissionMode::nonarq};
  int transmissions = 0;
  bool transmitting = false;
  std::size_t begin_updus = 0;
  Instant begin{};
  while (transmissions < kTransmissionsFirst + transmissions_measured) {
    while (!alpha.flow_off() && alpha.sent().size() < bravo.received().size() + kUpdusInside) {
      world.send(alpha, 1, c.updu_octets, 24h, how);
    }
    world.run_for(50ms);
    const bool now_transmitting = world.node(0).status().transmitting;
    if (now_transmitting && !transmitting && ++transmissions == kTransmissionsFirst) {
      begin = world.now();
      begin_updus = bravo.received().size();
    }
    transmitting = now_transmitting;
  }
  const auto updus = static_cast<double>(bravo.received().size() - begin_updus);
  return 8.0 * static_cast<double>(c.updu_octets) * updus / to_seconds(world.now() - begin);
}

std::vector<modem::Mode> modes(bool quick) {
  std::vector<modem::Mode> out;
  for (const unsigned rate : {75u, 150u, 300u, 600u, 1200u, 2400u, 4800u, 9600u}) {
    if (quick && rate != 300 && rate != 2400 && rate != 9600) continue;
    for (const auto interleaver : {modem::Interleaver::short_, modem::Interleaver::long_}) {
      out.push_back(
          {rate > 2400 ? modem::Waveform::stanag4539 : modem::Waveform::ms110a, rate, interleaver});
    }
  }
  return out;
}

/// Returns the goodput of each direction in full duplex, long after both began to send.
std::array<double, 2> full_duplex_goodput_bps(const modem::Mode& mode) {
  constexpr std::size_t kUpduOctets = 2048;
  constexpr std::size_t kUpdusInside = 400;
  // The time is so long that a transmission more or less is a five-hundredth of the result.
  const int minutes_measured = 20 * 60;
  sim::WorldOptions options{.mode = mode};
  options.medium.full_duplex = options.node.dts.full_duplex = true;
  options.medium.looks_into_bursts = false;
  sim::World world(1, options);
  std::array<sim::Client*, 2> clients{};
  for (const std::size_t i : {0u, 1u}) {
    clients[i] = &world.add_client(i, SapId{5}, sis::Confirmation::node);
  }
  std::array<std::size_t, 2> begin{};
  for (int minute = -20; minute < minutes_measured; ++minute) {
    for (const std::size_t i : {0u, 1u}) {
      if (minute == 0) begin[i] = clients[1 - i]->received().size();
      while (!clients[i]->flow_off() &&
             clients[i]->sent().size() < clients[1 - i]->received().size() + kUpdusInside) {
        world.send(*clients[i], 1 - i, kUpduOctets, 24h);
      }
    }
    world.run_for(1min);
  }
  std::array<double, 2> goodput{};
  for (const std::size_t i : {0u, 1u}) {
    const auto updus = static_cast<double>(clients[1 - i]->received().size() - begin[i]);
    goodput[i] = 8.0 * kUpduOctets * updus / (60.0 * minutes_measured);
  }
  return goodput;
}

/// Compares the simulated medium with real modulators and demodulators on a clean channel.
void measure_waves(const NodeConfig& node, bool json) {
  constexpr int kTransmissions = 16;
  const sim::World::MakeAir waves = [](sim::EventHeap& heap, Rng rng) {
    const modem::CableMixer::Config config{.seed = rng.next()};
    return std::make_unique<sim::WaveMedium>(heap, config);
  };
  for (const modem::Mode& mode : modes(true)) {
    if (mode.interleaver != modem::Interleaver::short_ || mode.rate_bps < 2400) continue;
    const Case c{mode, 2048, true, std::max(node.dts.window, node.dts.large_window)};
    const double simulated = goodput_bps(c, node, kTransmissions);
    const double real = goodput_bps(c, node, kTransmissions, waves);
    std::printf(json ? "{\"rate_bps\":%u,\"interleaver\":\"short\",\"updu_octets\":2048,"
                       "\"mode\":\"arq\",\"goodput_bps\":%.1f,\"goodput_waves_bps\":%.1f,"
                       "\"waves_to_simulated\":%.4f}\n"
                     : "%5u short  2048 octets  arq  %7.1f bit/s simulated, %7.1f over waves: "
                       "%.4f\n",
                mode.rate_bps, simulated, real, real / simulated);
    std::fflush(stdout);
  }
}

void measure_full_duplex(std::uint32_t only_rate, bool json) {
  for (const modem::Mode& mode : modes(true)) {
    if (mode.interleaver != modem::Interleaver::short_) continue;
    if (only_rate > 0 && mode.rate_bps != only_rate) continue;
    const auto goodput = full_duplex_goodput_bps(mode);
    std::printf(json ? "{\"rate_bps\":%u,\"interleaver\":\"short\",\"updu_octets\":2048,"
                       "\"mode\":\"duplex\",\"goodput_bps\":%.1f,\"goodput_back_bps\":%.1f,"
                       "\"share_of_line\":%.4f,\"share_of_line_back\":%.4f}\n"
                     : "%5u short  2048 octets  duplex  %7.1f and %7.1f bit/s  %.4f and %.4f of "
                       "line rate\n",
                mode.rate_bps, goodput[0], goodput[1], goodput[0] / mode.rate_bps,
                goodput[1] / mode.rate_bps);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {"updu-octets", "rate", "mode"},
                                   {"json", "quick", "dedicated", "waves"});
  const auto only_octets = static_cast<std::size_t>(arguments.number("updu-octets", 0));
  const auto only_rate = static_cast<std::uint32_t>(arguments.number("rate", 0));
  const std::string only_mode = arguments.text("mode", "");
  NodeConfig node;
  node.dts.dedicated_frequency = arguments.has("dedicated");
  if (arguments.has("waves")) {
    measure_waves(node, arguments.has("json"));
    return 0;
  }
  for (const bool arq : {true, false}) {
    if (!only_mode.empty() && only_mode != (arq ? "arq" : "nonarq")) continue;
    for (const std::size_t octets : {2048u, 512u, 256u, 64u}) {
      if (only_octets > 0 && octets != only_octets) continue;
      for (const modem::Mode& mode : modes(arguments.has("quick"))) {
        if (only_rate > 0 && mode.rate_bps != only_rate) continue;
        const Case c{mode, octets, arq, std::max(node.dts.window, node.dts.large_window)};
        const double goodput = goodput_bps(c, node, transmissions_measured(c));
        const double line = goodput / mode.rate_bps;
        const double ceiling = goodput / ceiling_bps(c, node.dts);
        const bool is_short = mode.interleaver == modem::Interleaver::short_;
        std::printf(
            arguments.has("json")
                ? "{\"rate_bps\":%u,\"interleaver\":\"%s\",\"updu_octets\":%zu,\"mode\":\"%s\","
                  "\"window\":%u,\"goodput_bps\":%.1f,\"share_of_line\":%.4f,"
                  "\"share_of_ceiling\":%.4f}\n"
                : "%5u %-5s  %4zu octets  %-6s window %5u  %7.1f bit/s  %.4f of line rate  "
                  "%.4f of the ceiling\n",
            mode.rate_bps, is_short ? "short" : "long", octets, arq ? "arq" : "nonarq",
            arq ? c.window : 0u, goodput, line, ceiling);
        std::fflush(stdout);
      }
    }
  }
  const bool duplex_wanted = only_mode.empty() || only_mode == "duplex";
  if (duplex_wanted && (only_octets == 0 || only_octets == 2048)) {
    measure_full_duplex(only_rate, arguments.has("json"));
  }
}
