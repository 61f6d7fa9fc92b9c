// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/route_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "s5066d/base/rng.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

constexpr Address kCapable{1};
constexpr Address kOther{2};

std::vector<IpPrefix> of_capable(const RouteTable& table) {
  return table.prefixes_where([](const Route& route) { return route.station == kCapable; });
}

Route row(std::uint32_t address, std::uint8_t bits, Address station) {
  return {.prefix = test::prefix(address, bits), .station = station};
}

TEST(RouteTable, a_longer_prefix_of_another_station_is_cut_out_of_a_shorter_one) {
  const auto table = RouteTable::make({row(0x0A010000, 16, kCapable), row(0x0A014000, 18, kOther)});
  std::vector<std::string> found;
  for (const IpPrefix& prefix : of_capable(*table)) found.push_back(to_string(prefix));
  EXPECT_EQ(found, (std::vector<std::string>{"10.1.0.0/18", "10.1.128.0/17"}));
}

TEST(RouteTable, a_longer_prefix_of_the_wanted_station_stays_inside_another) {
  const auto table = RouteTable::make({row(0x0A010000, 16, kOther), row(0x0A014000, 18, kCapable)});
  const auto found = of_capable(*table);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_string(found[0]), "10.1.64.0/18");
}

TEST(RouteTable, cut_prefixes_hold_exactly_what_the_longest_prefix_gives_to_a_station) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Route> routes;
    const std::uint64_t rows = 1 + rng.below(12);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const auto bits = static_cast<std::uint8_t>(24 + rng.below(9));
      const std::uint32_t address = (0x0A010100 | rng.below(256)) & (~0U << (32 - bits));
      const Route route = row(address, bits, rng.chance(0.5) ? kCapable : kOther);
      const bool known = std::any_of(routes.begin(), routes.end(),
                                     [&](const Route& one) { return one.prefix == route.prefix; });
      if (!known) routes.push_back(route);
    }
    const auto table = RouteTable::make(routes);
    ASSERT_TRUE(table.ok());
    const auto found = of_capable(*table);
    for (std::uint32_t host = 0; host < 256; ++host) {
      const IpAddress address = IpAddress::v4(0x0A010100 | host);
      const Route* const route = table->find(address);
      const bool wanted = route != nullptr && route->station == kCapable;
      const bool held = std::any_of(found.begin(), found.end(), [&](const IpPrefix& prefix) {
        return prefix.contains(address);
      });
      ASSERT_EQ(held, wanted) << "round " << round << ", host " << host;
    }
  }
}

TEST(RouteTable, ipv6_prefixes_are_cut_too) {
  IpAddress wide{.v6 = true};
  wide.octets[0] = 0xFD;
  IpAddress host = wide;
  host.octets[15] = 1;
  const auto table = RouteTable::make(
      {{.prefix = {wide, 8}, .station = kCapable}, {.prefix = {host, 128}, .station = kOther}});
  ASSERT_TRUE(table.ok());
  const auto found = of_capable(*table);
  EXPECT_EQ(found.size(), 120u);
  const auto held = [&](const IpAddress& address) {
    return std::any_of(found.begin(), found.end(),
                       [&](const IpPrefix& prefix) { return prefix.contains(address); });
  };
  EXPECT_FALSE(held(host));
  host.octets[15] = 2;
  EXPECT_TRUE(held(host));
  EXPECT_TRUE(held(wide));
}

}  // namespace
}  // namespace s5066::ip_client
