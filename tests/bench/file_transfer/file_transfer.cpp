// SPDX-License-Identifier: Apache-2.0
// Measures files that go by the transfer service between two relays with their spools and two nodes
// on the simulated channel, in virtual time. Run it in the root of the tree.
//
// `line`: a file of random octets on a clean channel, from the command to the file in the inbox, as
// a share of the line and as a multiple of the floor. The stations know each other, and the link is
// up. `first`: the same as the first file to a station. `content`: text (the pages in docs) and a
// bitmap. `loss`: a file while D_PDUs of all types are lost in both directions. `urgent`: 1 kB of
// higher priority behind 500 kB, in units of the longest transmission, at twelve moments. `delta`:
// a second version of a text of 200 kB, the octets of both stations. `break`: links and stations
// that are there for some of the time. The seed of the channel is --seed.
// --quick leaves out the slow cells, --only KIND runs one kind.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "modem/api/airtime.h"
#include "s5066d/base/rng.h"
#include "s5066d/pdu/dpdu.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/files/file_nodes.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using file_relay::RelaySenderCounter;
using sim::FileNodes;

constexpr Duration kTransmission = 127'500ms;
constexpr Duration kTurnaround = 200ms;
constexpr std::size_t kBlockOctets = 2033;

struct Setting {
  sim::Seed seed = 1;
  bool json = false;
  bool quick = false;
};

Bytes random_octets(std::size_t size) {
  Rng rng(size);
  Bytes octets(size);
  for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
  return octets;
}

/// Returns the first octets of the pages in docs, which are English text.
Bytes text(std::size_t size) {
  std::vector<std::filesystem::path> pages;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("docs", none)) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  Bytes octets;
  for (const auto& page : pages) {
    std::ifstream file(page, std::ios::binary);
    octets.insert(octets.end(), std::istreambuf_iterator<char>(file), {});
  }
  if (octets.size() < size) {
    std::fprintf(stderr, "docs has only %zu octets of text here\n", octets.size());
    std::exit(2);
  }
  octets.resize(size);
  return octets;
}

/// Returns a grey bitmap of 400 pixels a row: a field of pressure in 64 shades with lines of equal
/// pressure, and a little noise on land.
Bytes bitmap(std::size_t size) {
  constexpr std::size_t kRow = 400;
  Rng rng(size);
  Bytes octets(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double x = static_cast<double>(i % kRow) / 60;
    const double y = static_cast<double>(i / kRow) / 45;
    const double field = std::sin(x) + std::cos(y + std::sin(x / 2)) + std::sin(x * y / 7);
    const double lines = field * 8 - std::floor(field * 8);
    const bool land = std::sin(3 * x) + std::cos(4 * y) > 1;
    octets[i] = static_cast<std::uint8_t>(lines < 0.08 ? 0 : 4 * static_cast<int>(10 * field + 30));
    if (land && rng.chance(0.3)) octets[i] = static_cast<std::uint8_t>(octets[i] ^ 4);
  }
  return octets;
}

sim::WorldOptions options_at(const std::string& mode, double loss = 0) {
  sim::WorldOptions options;
  options.mode = *modem::parse_mode(mode);
  options.medium.frame_loss = loss;
  return options;
}

/// Returns the least time for so many octets: D_PDUs of full length in transmissions of full
/// length, and between these an acknowledgement and two turnarounds.
Duration floor_of(const modem::Mode& mode, std::size_t octets) {
  const std::size_t frames = (octets + pdu::kSegmentOctetsMax - 1) / pdu::kSegmentOctetsMax;
  std::size_t left = octets + frames * pdu::data_octets(0);
  const std::size_t most = modem::capacity(mode, kTransmission);
  Duration time{};
  for (; left > most; left -= most) {
    time += modem::airtime(mode, most) + modem::airtime(mode, pdu::ack_only_octets(0)) +
            2 * kTurnaround;
  }
  return time + modem::airtime(mode, left);
}

/// Totals of a station, to be subtracted from each other.
struct Sent {
  double air_octets = 0;  // time on the air, in octets of the line
  double frames_new = 0;
  double frames_again = 0;
  double user_octets = 0;
  double block_octets = 0;  // handed to the node
};

Sent sent_by(FileNodes& nodes, std::size_t station, double rate_bps) {
  const Counters& node = nodes.world().node(station).counters();
  const auto& relay = nodes.relay(station).sender().counters();
  return {.air_octets = to_seconds(nodes.world().medium().keyed_time(station)) * rate_bps / 8,
          .frames_new = static_cast<double>(node[Counter::frames_sent_new]),
          .frames_again = static_cast<double>(node[Counter::frames_sent_again]),
          .user_octets = static_cast<double>(node[Counter::user_octets_sent]),
          .block_octets = static_cast<double>(relay[RelaySenderCounter::blocks] * kBlockOctets)};
}

struct Cell {
  const char* kind;
  const char* mode;
  const char* content;
  std::size_t octets;
  double loss = 0;
  bool slow = false;
};

std::vector<Cell> cells() {
  std::vector<Cell> all = {
      {"line", "110a-300-short", "random", 100'000},
      {"line", "110a-1200-short", "random", 100'000},
      {"line", "110a-2400-short", "random", 100'000},
      {"line", "4539-9600-s", "random", 100'000},
      {"line", "110a-2400-short", "random", 8'100},
      {"line", "4539-9600-s", "random", 8'100},
      {"first", "110a-2400-short", "random", 8'100},
      {"first", "110a-2400-short", "random", 100'000},
      {"first", "4539-9600-s", "random", 100'000},
      {"content", "110a-2400-short", "text", 100'000},
      {"content", "110a-2400-short", "bitmap", 100'000},
  };
  for (const std::size_t octets : {4'400u, 8'100u, 29'800u, 59'100u, 158'600u}) {
    for (const double loss : {0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95}) {
      if (loss > 0.9 && octets > 8'100) continue;
      all.push_back({"loss", "110a-2400-short", "random", octets, loss, loss > 0.6});
    }
  }
  return all;
}

Bytes content_of(const Cell& cell) {
  const std::string content = cell.content;
  if (content == "text") return text(cell.octets);
  return content == "bitmap" ? bitmap(cell.octets) : random_octets(cell.octets);
}

void measure(const Cell& cell, const Setting& setting) {
  const modem::Mode mode = *modem::parse_mode(cell.mode);
  FileNodes nodes(setting.seed, options_at(cell.mode), {}, 50ms, true);
  nodes.run_for(10s);
  if (std::string(cell.kind) != "first") {
    nodes.send(0, 1, "before", random_octets(100), std::nullopt);
    if (!nodes.time_until_arrival(1, "before", 2h)) return;
    nodes.run_for(2min);
  }
  nodes.world().medium().set_options(options_at(cell.mode, cell.loss).medium);
  const Bytes content = content_of(cell);
  const Sent before = sent_by(nodes, 0, mode.rate_bps);
  const auto id = nodes.send(0, 1, "file", content, std::nullopt);
  const auto took = nodes.time_until_arrival(1, "file", 100h);
  // Frames that are repeated until the sender has the acknowledgement count as well.
  nodes.time_until([&] { return nodes.state(0, id) == gateways::SpoolState::delivered; }, 100h);
  const Sent after = sent_by(nodes, 0, mode.rate_bps);
  const bool intact = nodes.content_at(1, "file") == content;

  const double size = static_cast<double>(cell.octets);
  const double seconds = took && intact ? to_seconds(*took) : -1;
  const double frames_new = after.frames_new - before.frames_new;
  const double frames = frames_new + after.frames_again - before.frames_again;
  std::printf(
      setting.json
          ? "{\"kind\":\"%s\",\"mode\":\"%s\",\"content\":\"%s\",\"octets\":%zu,\"loss\":%.2f,"
            "\"seconds\":%.1f,\"line\":%.3f,\"floors\":%.2f,\"air\":%.2f,\"frames\":%.2f,"
            "\"least\":%.2f,\"handed\":%.2f}\n"
          : "%-7s %-15s %-6s %6zu octets  loss %4.2f  %7.1f s  line %5.3f  %5.2f floors  "
            "on the air %6.2f  frames %5.2f of %5.2f  handed %4.2f\n",
      cell.kind, cell.mode, cell.content, cell.octets, cell.loss, seconds,
      size * 8 / mode.rate_bps / seconds, seconds / to_seconds(floor_of(mode, cell.octets)),
      (after.air_octets - before.air_octets) / size, frames / std::max(1.0, frames_new),
      1 / (1 - cell.loss), (after.block_octets - before.block_octets) / size);
  std::fflush(stdout);
}

void measure_urgent(const Setting& setting) {
  std::vector<double> transmissions;
  for (int moment = 0; moment < 12; ++moment) {
    FileNodes nodes(setting.seed, options_at("110a-1200-short"), {}, 50ms, true);
    nodes.run_for(10s);
    nodes.send(0, 1, "large", random_octets(500'000), std::nullopt);
    nodes.run_for(5min + moment * 23s);
    nodes.send(0, 1, "urgent", random_octets(1000), std::uint8_t{12});
    const auto took = nodes.time_until_arrival(1, "urgent", 6h);
    transmissions.push_back(to_seconds(took.value_or(6h)) / to_seconds(kTransmission));
  }
  std::sort(transmissions.begin(), transmissions.end());
  std::printf(setting.json ? "{\"kind\":\"urgent\",\"median\":%.2f,\"worst\":%.2f}\n"
                           : "urgent  1 kB behind 500 kB at 1200 bit/s: median %.2f, worst %.2f "
                             "transmissions\n",
              transmissions[transmissions.size() / 2], transmissions.back());
  std::fflush(stdout);
}

/// Changes 1 % of the octets, in so many places of one length.
Bytes changed(Bytes octets, std::size_t places) {
  Rng rng(places);
  const std::size_t length = octets.size() / 100 / places;
  for (std::size_t place = 0; place < places; ++place) {
    const std::size_t at = rng.below(static_cast<std::uint32_t>(octets.size() - length));
    for (std::size_t i = at; i < at + length; ++i) {
      octets[i] = static_cast<std::uint8_t>('a' + rng.below(26));
    }
  }
  return octets;
}

void measure_delta(std::size_t places, const Setting& setting) {
  constexpr double kRate = 2400;
  FileNodes nodes(setting.seed, options_at("110a-2400-short"), {}, 50ms, true);
  nodes.run_for(10s);
  const Bytes old = text(200'000);
  nodes.send(0, 1, "text", old, std::nullopt);
  if (!nodes.time_until_arrival(1, "text", 10h)) return;
  nodes.run_for(2min);
  const Sent before[] = {sent_by(nodes, 0, kRate), sent_by(nodes, 1, kRate)};
  const Bytes next = changed(old, places);
  const auto id = nodes.send(0, 1, "text", next, std::nullopt);
  const auto took =
      nodes.time_until([&] { return nodes.state(0, id) == gateways::SpoolState::delivered; }, 10h);
  double user = 0;
  double air = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const Sent after = sent_by(nodes, i, kRate);
    user += after.user_octets - before[i].user_octets;
    air += after.air_octets - before[i].air_octets;
  }
  const double size = static_cast<double>(old.size());
  std::printf(setting.json ? "{\"kind\":\"delta\",\"places\":%zu,\"seconds\":%.1f,\"user\":%.4f,"
                             "\"air\":%.4f}\n"
                           : "delta   1 %% of 200 kB changed in %3zu places: %.1f s, user octets "
                             "%.4f and octets on the air %.4f of the file\n",
              places, took ? to_seconds(*took) : -1, user / size, air / size);
  std::fflush(stdout);
}

/// A file that is sent while something goes wrong again and again.
struct Break {
  const char* name;
  const char* mode;
  std::size_t octets;
  std::function<void(FileNodes&)> before;  // the command
  std::function<void(FileNodes&)> after;   // returns when the file is there, or much later
};

bool has_arrived(const FileNodes& nodes) {
  return nodes.files_at(1) > 0;
}

void set_apart(FileNodes& nodes, const char* mode, bool apart) {
  sim::MediumOptions options = options_at(mode).medium;
  if (apart) options.deaf = {{0, 1}, {1, 0}};
  nodes.world().medium().set_options(options);
}

Break hourly(const char* name, Duration first) {
  constexpr const char* kMode = "110a-1200-short";
  return {name, kMode, 200'000, [](FileNodes& nodes) { set_apart(nodes, kMode, true); },
          [first](FileNodes& nodes) {
            const auto there = [&] { return has_arrived(nodes); };
            nodes.run_for(first);
            for (int hour = 0; hour < 96; ++hour) {
              set_apart(nodes, kMode, false);
              if (nodes.time_until(there, 10min)) return;
              set_apart(nodes, kMode, true);
              nodes.run_for(50min);
            }
          }};
}

Break again_and_again(const char* name, Duration every,
                      const std::function<void(FileNodes&, std::size_t)>& restart) {
  return {name, "110a-1200-short", 200'000, [](FileNodes&) {},
          [every, restart](FileNodes& nodes) {
            for (std::size_t i = 0; i < 200; ++i) {
              if (nodes.time_until([&] { return has_arrived(nodes); }, every)) return;
              restart(nodes, i);
            }
          }};
}

Break off_for_a_day(const char* name, Duration from) {
  constexpr const char* kMode = "110a-1200-short";
  return {name, kMode, 200'000, [](FileNodes&) {},
          [from](FileNodes& nodes) {
            nodes.run_for(from);
            set_apart(nodes, kMode, true);
            nodes.stop_relay(1);
            nodes.run_for(24h);
            nodes.restart_node(1);
            set_apart(nodes, kMode, false);
            nodes.start_relay(1);
            nodes.time_until([&] { return has_arrived(nodes); }, 48h);
          }};
}

std::vector<Break> breaks() {
  return {
      hourly("hourly_0", 1min),
      hourly("hourly_20", 20min),
      hourly("hourly_49", 49min),
      again_and_again("node_10", 10min,
                      [](FileNodes& nodes, std::size_t i) { nodes.restart_node(i % 2); }),
      again_and_again("node_3", 3min,
                      [](FileNodes& nodes, std::size_t i) { nodes.restart_node(i % 2); }),
      again_and_again("receiving_relay", 3min,
                      [](FileNodes& nodes, std::size_t) {
                        nodes.stop_relay(1);
                        nodes.start_relay(1);
                      }),
      off_for_a_day("day_from_start", 0s),
      off_for_a_day("day_midway", 5min),
  };
}

void measure(const Break& cell, const Setting& setting) {
  FileNodes nodes(setting.seed, options_at(cell.mode), {}, 100ms, true);
  nodes.run_for(10s);
  cell.before(nodes);
  const Bytes content = random_octets(cell.octets);
  const Instant begin = nodes.world().now();
  nodes.send(0, 1, "file", content, std::nullopt);
  cell.after(nodes);
  const bool intact = nodes.content_at(1, "file") == content;
  const double hours = intact ? to_seconds(nodes.world().now() - begin) / 3600 : -1;
  const double handed = sent_by(nodes, 0, 1200).block_octets;
  std::printf(setting.json ? "{\"kind\":\"break\",\"name\":\"%s\",\"octets\":%zu,\"hours\":%.2f,"
                             "\"handed\":%.3f}\n"
                           : "break   %-16s %zu octets: %6.2f h, handed %.3f\n",
              cell.name, cell.octets, hours, handed / static_cast<double>(cell.octets));
  std::fflush(stdout);
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {"only", "seed"}, {"json", "quick"});
  const std::string only = arguments.text("only", "");
  const Setting setting{.seed = static_cast<sim::Seed>(arguments.number("seed", 1)),
                        .json = arguments.has("json"),
                        .quick = arguments.has("quick")};
  const auto wanted = [&](const char* kind) { return only.empty() || only == kind; };
  for (const Cell& cell : cells()) {
    if (wanted(cell.kind) && !(cell.slow && setting.quick)) measure(cell, setting);
  }
  if (wanted("urgent")) measure_urgent(setting);
  if (wanted("delta")) {
    for (const std::size_t places : {1u, 5u, 20u, 100u}) measure_delta(places, setting);
  }
  if (!wanted("break") || setting.quick) return 0;
  for (const Break& cell : breaks()) measure(cell, setting);
}
