// SPDX-License-Identifier: Apache-2.0
// Tests IP clients as they run in service: each core is a client of a whole node on the simulated
// channel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateways/ip_client/ip_client_core.h"
#include "modem/api/modes.h"
#include "tests/sim/gateway_client.h"
#include "tests/support/sim_world.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using ip_client::Direction;
using ip_client::Drop;
using ip_client::IpClientCore;

class IpNodes {
 public:
  static constexpr std::size_t kAbsent = 9;  // an address without a station

  explicit IpNodes(sim::Seed seed, const std::string& mode = {}, std::size_t stations = 2)
      : world_(seed, {.stations = stations, .mode = mode_of(mode)}) {
    for (std::size_t i = 0; i < stations; ++i) {
      stations_.push_back(std::make_unique<Station>());
      Station& station = *stations_.back();
      IpClientCore::Config config;
      std::vector<ip_client::Route> routes;
      for (const std::size_t other : {std::size_t{0}, std::size_t{1}, std::size_t{2}, kAbsent}) {
        if (other == i) continue;
        routes.push_back({.prefix = ip_client::test::prefix(network(other), 16),
                          .station = sim::World::address(other)});
      }
      config.routes = *ip_client::RouteTable::make(routes);
      station.core = std::make_unique<IpClientCore>(config);
      station.client = std::make_unique<sim::GatewayClient>(world_, i, ip_client::kIpSap);
      station.core->on_sis(world_.now(), gateways::SisBound{2048});
    }
    world_.take_primitive = [this](sim::Client& client, const sis::Primitive& primitive) {
      for (auto& station : stations_) {
        if (station->client->is(client)) return station->client->note(primitive);
      }
      return false;
    };
  }

  static std::uint32_t network(std::size_t station) {
    return 0x0A010000 + static_cast<std::uint32_t>(station) * 0x10000;
  }
  /// Gives a datagram to the interface of a station; the port names the conversation.
  void send(std::size_t from, std::size_t to, std::size_t octets, std::uint16_t port,
            std::uint8_t tos = 0) {
    const auto id = ++id_;
    sent_at_[id] = world_.now();
    stations_[from]->core->on_datagram(
        world_.now(),
        ip_client::test::udp(
            octets,
            {.source = network(from) + 1, .destination = network(to) + 1, .tos = tos, .id = id},
            port, port));
  }
  void run_for(Duration d) {
    for (const Instant end = world_.now() + d; world_.now() < end; world_.run_for(100ms)) {
      for (auto& station : stations_) {
        station->client->serve(*station->core, [&](const IpClientCore::Action& action) {
          const auto* to = std::get_if<IpClientCore::ToInterface>(&action);
          if (to) take(*station, to->octets);
        });
      }
    }
  }

  struct Arrival {
    std::uint16_t port = 0;
    Duration delay{};
    Instant at{};
  };
  const std::vector<Arrival>& arrivals(std::size_t at) const { return stations_[at]->arrivals; }
  std::vector<Duration> delays(std::size_t at, std::uint16_t port) const {
    std::vector<Duration> found;
    for (const Arrival& arrival : arrivals(at)) {
      if (arrival.port == port) found.push_back(arrival.delay);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  std::size_t icmp(std::size_t at) const { return stations_[at]->icmp; }
  IpClientCore& core(std::size_t at) { return *stations_[at]->core; }
  sim::World& world() { return world_; }

 private:
  struct Station {
    std::unique_ptr<IpClientCore> core;
    std::unique_ptr<sim::GatewayClient> client;
    std::vector<Arrival> arrivals;
    std::size_t icmp = 0;
  };

  static modem::Mode mode_of(const std::string& text) {
    return text.empty() ? modem::Mode{} : *modem::parse_mode(text);
  }

  void take(Station& station, const Bytes& octets) {
    const auto datagram = ip_client::test::parsed(octets);
    if (datagram.protocol == ip_client::kIcmp) {
      ++station.icmp;
      return;
    }
    const auto id = static_cast<std::uint16_t>(datagram.id);
    station.arrivals.push_back(
        {*datagram.source_port, world_.now() - sent_at_.at(id), world_.now()});
  }

  sim::World world_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::map<std::uint16_t, Instant> sent_at_;
  std::uint16_t id_ = 0;
};

Duration percentile(const std::vector<Duration>& sorted, double share) {
  if (sorted.empty()) return Duration::zero();
  const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[at];
}

TEST(IpNodes, an_exchange_of_datagrams_takes_a_few_turns) {
  IpNodes nodes(1);
  nodes.run_for(10s);
  for (int i = 0; i < 5; ++i) {
    nodes.send(0, 1, 84, 1);
    nodes.run_for(30s);
    nodes.send(1, 0, 84, 2);
    nodes.run_for(30s);
  }
  EXPECT_EQ(nodes.arrivals(1).size(), 5u);
  EXPECT_EQ(nodes.arrivals(0).size(), 5u);
  EXPECT_LT(percentile(nodes.delays(1, 1), 0.5), 10s);
}

// A station that never answers costs no other conversation more than its calls on the channel.
TEST(IpNodes, datagrams_to_an_absent_station_do_not_hold_those_to_a_live_one) {
  IpNodes nodes(2);
  nodes.run_for(10s);
  for (int i = 0; i < 200; ++i) {
    nodes.send(0, IpNodes::kAbsent, 1000, 1);
    if (i % 5 == 0) nodes.send(0, 1, 200, 2);
    nodes.run_for(3s);
  }
  nodes.run_for(60s);
  const auto delays = nodes.delays(1, 2);
  std::printf("beside an absent station: %zu of 40, median %.0f s, p95 %.0f s\n", delays.size(),
              to_seconds(percentile(delays, 0.5)), to_seconds(percentile(delays, 0.95)));
  EXPECT_GE(delays.size(), 36u);
  EXPECT_LT(percentile(delays, 0.5), 15s);
  EXPECT_GT(nodes.core(0).drops(Direction::to_air, Drop::station_silent), 50u);
  EXPECT_GT(nodes.icmp(0), 10u);
}

/// Sends 512-octet datagrams of several conversations for half an hour at this share of the line.
struct LoadResult {
  std::vector<Duration> delays;
  std::map<std::uint16_t, std::size_t> by_flow;
};
LoadResult loaded(double load, std::uint16_t flows) {
  IpNodes nodes(3, "110a-1200-short");
  nodes.run_for(10s);
  nodes.send(0, 1, 84, 99);  // makes the link
  nodes.run_for(60s);
  const Duration gap = from_seconds(8 * 512 / (1200 * load));
  const Instant end = nodes.world().now() + 30min;
  for (std::uint16_t i = 0; nodes.world().now() < end; ++i) {
    nodes.send(0, 1, 512, static_cast<std::uint16_t>(i % flows));
    nodes.run_for(gap);
  }
  nodes.run_for(5min);
  LoadResult result;
  for (const auto& arrival : nodes.arrivals(1)) {
    if (arrival.port == 99) continue;
    result.delays.push_back(arrival.delay);
    ++result.by_flow[arrival.port];
  }
  std::sort(result.delays.begin(), result.delays.end());
  std::printf("1200 bit/s, 512 octets, %3.0f %% load: %zu arrived, median %.1f s, p95 %.1f s\n",
              100 * load, result.delays.size(), to_seconds(percentile(result.delays, 0.5)),
              to_seconds(percentile(result.delays, 0.95)));
  return result;
}

TEST(IpNodes, delay_stays_low_at_a_light_load) {
  EXPECT_LT(percentile(loaded(0.2, 1).delays, 0.5), 12s);
}

TEST(IpNodes, delay_stays_low_at_a_heavy_load) {
  EXPECT_LT(percentile(loaded(0.7, 1).delays, 0.5), 20s);
}

TEST(IpNodes, delay_is_bounded_and_shares_are_fair_under_an_overload) {
  const auto result = loaded(7.0, 3);
  EXPECT_LT(percentile(result.delays, 0.95), 60s);
  const double mean = static_cast<double>(result.delays.size()) / 3;
  for (const auto& [port, count] : result.by_flow) {
    EXPECT_NEAR(static_cast<double>(count), mean, 0.1 * mean) << port;
  }
}

}  // namespace
}  // namespace s5066
