// SPDX-License-Identifier: Apache-2.0
// Measures how many datagrams per second the core of the IP client passes on one processor, without
// the air, by processor time: each is parsed, routed, queued, handed over and confirmed, or comes
// from the air.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <variant>
#include <vector>

#include "gateways/ip_client/ip_client_core.h"
#include "tests/bench/common/arguments.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kFirstNetwork = 0x0A020000;  // 10.2.0.0/16, one for each station

struct Load {
  const char* name;
  std::uint32_t stations = 1;
  std::uint16_t flows = 1;  // of each station
  bool tcp = false;
  bool from_air = false;
  bool answered = true;  // false: nothing is confirmed, so the queue is full
};

constexpr Load kLoads[] = {
    {.name = "udp_one_flow"},
    {.name = "udp_1000_flows", .stations = 10, .flows = 100},
    {.name = "tcp_1000_flows", .stations = 10, .flows = 100, .tcp = true},
    {.name = "udp_from_air", .stations = 10, .flows = 100, .from_air = true},
    {.name = "udp_full_queue_one_flow", .answered = false},
    {.name = "udp_full_queue_1000_flows", .stations = 10, .flows = 100, .answered = false},
    {.name = "udp_10000_flows", .stations = 10, .flows = 1000},
    {.name = "udp_full_queue_10000_flows", .stations = 10, .flows = 1000, .answered = false},
    {.name = "tcp_full_queue_one_flow", .tcp = true, .answered = false},
};

Address station_of(std::uint32_t number) {
  return {0x01020000 + number};
}

IpClientCore::Config config_of(const Load& load) {
  std::vector<Route> routes;
  for (std::uint32_t i = 0; i < load.stations; ++i) {
    routes.push_back(
        {.prefix = test::prefix(kFirstNetwork + (i << 16), 16), .station = station_of(i)});
  }
  IpClientCore::Config config;
  config.routes = *RouteTable::make(routes);
  return config;
}

/// Returns different datagrams for every flow; `number` makes the sequence numbers of TCP rise.
Bytes datagram(const Load& load, std::uint32_t number, std::size_t octets) {
  const std::uint32_t peer = kFirstNetwork + ((number % load.stations) << 16) + 5;
  const auto port = static_cast<std::uint16_t>(20'000 + number / load.stations % load.flows);
  test::V4 head{.destination = peer, .id = static_cast<std::uint16_t>(number)};
  if (load.from_air) std::swap(head.source, head.destination);
  if (!load.tcp) return test::udp(octets, head, port);
  return test::tcp({.sequence = number * 1000, .data = octets - 40, .from = port}, head);
}

/// Drains the core and confirms what it hands over. Returns the datagrams that passed.
std::uint64_t drain(IpClientCore& core, const Load& load, Instant now) {
  std::uint64_t passed = 0;
  std::vector<gateways::SisRequestId> handed;
  do {
    for (const auto id : std::exchange(handed, {})) core.on_sis(now, gateways::SisConfirmed{id});
    while (auto action = core.poll_action()) {
      if (std::holds_alternative<IpEvent>(*action)) continue;
      ++passed;
      if (!load.answered) continue;
      if (auto* unidata = std::get_if<gateways::SisUnidata>(&*action))
        handed.push_back(unidata->id);
    }
  } while (!handed.empty());
  return passed;
}

void measure(const Load& load, std::size_t octets, std::uint32_t count, bool json) {
  std::vector<Bytes> datagrams;
  for (std::uint32_t i = 0; i < count; ++i) datagrams.push_back(datagram(load, i, octets));
  IpClientCore core(config_of(load));
  Instant now{};
  core.on_sis(now, gateways::SisBound{});
  std::uint64_t passed = 0;
  const std::clock_t begin = std::clock();
  for (std::uint32_t i = 0; i < count; ++i) {
    now += 20us;
    if (load.from_air) {
      core.on_sis(now, gateways::SisIndication{station_of(i % load.stations), kIpSap,
                                               std::move(datagrams[i])});
    } else {
      core.on_datagram(now, std::move(datagrams[i]));
    }
    passed += drain(core, load, now);
  }
  const double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf(json ? "{\"load\":\"%s\",\"octets\":%zu,\"datagrams\":%u,\"passed\":%llu,"
                     "\"per_second\":%.0f}\n"
                   : "%-28s %5zu octets, %7u datagrams, %7llu passed, %9.0f per second\n",
              load.name, octets, count, static_cast<unsigned long long>(passed), count / spent);
}

}  // namespace
}  // namespace s5066::ip_client

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {}, {"json", "quick"});
  const std::uint32_t count = arguments.has("quick") ? 10'000 : 200'000;
  for (const auto& load : ip_client::kLoads) {
    for (const std::size_t octets : {64, 1500}) {
      ip_client::measure(load, octets, count, arguments.has("json"));
    }
  }
}
