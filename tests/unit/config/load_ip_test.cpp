// SPDX-License-Identifier: Apache-2.0
// These tests check that each setting of an IP client reaches the part that uses it.
#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "tests/unit/config/problem_lines.h"

namespace s5066::config {
namespace {

TEST(ConfigLoad, an_ip_client_has_all_its_settings) {
  const auto loaded = parse_ip("f", R"(
sis { address: "127.0.0.2" port: 5067 rank: 3 priority: 2 }
control { socket: "c" group_too: true }
node_control { socket: "n" }
interface { name: "hf7" addresses: "10.1.0.1/24" addresses: "fd00::1/64" mtu: 500
            kernel_routes: true default_route: true }
routes { prefix: "10.2.0.0/16" station: "1.2.3.4" arq: false priority_max: 8 mtu: 600 repeats: 2 }
routes { prefix: "239.1.0.0/16" group: "16.0.0.7" }
routes { prefix: "fd00:2::/32" station: "1.2.3.4" }
qos { mode: TOS classes { dscp: 46 priority: 12 arq: false } group_repeats: 3 }
carry: MDNS carry: DHCP
drop { protocol: 17 port: 123 source: "10.0.0.0/8" destination: "10.2.0.1" }
check_sources: false fragment: false report_not_bound: false
icmp_from: "10.1.0.1" icmp_from_ipv6: "fd00::1" line_rate_bps: 300 age_max_s: 60 log_level: DEBUG
)");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  const ip_client::IpConfig& config = *loaded.value;
  EXPECT_EQ(config.sis_host, "127.0.0.2");
  EXPECT_EQ(config.sis_port, 5067);
  EXPECT_EQ(config.rank, 3);
  EXPECT_EQ(config.qos.priority, 2);
  EXPECT_EQ(config.control_socket, "c");
  EXPECT_TRUE(config.control_group_too);
  EXPECT_EQ(config.node_control_socket, "n");
  EXPECT_EQ(config.interface, "hf7");
  ASSERT_EQ(config.addresses.size(), 2u);
  EXPECT_EQ(to_string(config.addresses[0]), "10.1.0.1/24");
  EXPECT_EQ(to_string(config.addresses[1]), "fd00::1/64");
  EXPECT_EQ(config.mtu, 500);
  EXPECT_TRUE(config.kernel_routes && config.default_route);
  ASSERT_EQ(config.routes.size(), 3u);
  const ip_client::Route& first = config.routes[0];
  EXPECT_EQ(to_string(first.prefix), "10.2.0.0/16");
  EXPECT_EQ(to_string(first.station), "1.2.3.4");
  EXPECT_EQ(first.arq, false);
  EXPECT_EQ(first.priority_max, 8);
  EXPECT_EQ(first.mtu, 600);
  EXPECT_EQ(first.repeats, 2);
  EXPECT_TRUE(config.routes[1].station.group);
  EXPECT_EQ(to_string(config.routes[2].prefix), "fd00:2::/32");
  EXPECT_EQ(config.qos.mode, ip_client::QosMode::tos);
  EXPECT_EQ(config.qos.by_dscp[46].priority, 12);
  EXPECT_EQ(config.qos.by_dscp[46].arq, false);
  EXPECT_EQ(config.qos.repeats, 3);
  EXPECT_EQ(config.drops.carried.size(), 2u);
  ASSERT_EQ(config.drops.rules.size(), 1u);
  EXPECT_EQ(config.drops.rules[0].protocol, 17);
  EXPECT_EQ(config.drops.rules[0].port, 123);
  EXPECT_EQ(to_string(*config.drops.rules[0].source), "10.0.0.0/8");
  EXPECT_EQ(to_string(*config.drops.rules[0].destination), "10.2.0.1/32");
  EXPECT_FALSE(config.check_sources || config.fragment || config.report_not_bound);
  EXPECT_EQ(to_string(*config.icmp_from_v4), "10.1.0.1");
  EXPECT_EQ(to_string(*config.icmp_from_v6), "fd00::1");
  EXPECT_EQ(config.line_rate_bps, 300u);
  EXPECT_EQ(config.age_max_s, 60u);
  EXPECT_EQ(config.log_level, LogLevel::debug);
}

// F.12.3.1(2): a table with errors names the place of each.
TEST(ConfigLoad, errors_of_an_ip_table_have_their_places) {
  const auto loaded = parse_ip("f", R"(interface { addresses: "224.0.0.1/4" name: "a/b" }
routes { prefix: "10.2.0.1/16" station: "1.2.3.4" }
routes { prefix: "10.3.0.0/16" }
routes { prefix: "10.4.0.0/16" group: "16.0.0.7" }
routes { prefix: "10.5.0.0/16" station: "1.2.3.4" }
routes { prefix: "10.5.0.0/16" station: "1.2.3.5" }
icmp_from: "fd00::1"
)");
  EXPECT_FALSE(loaded.value);
  EXPECT_EQ(
      all_lines(loaded.problems),
      "f:1:13: addresses: \"224.0.0.1/4\" must be the address of one host, such as 10.1.0.1/24\n"
      "f:1:38: name: \"a/b\" is no name of an interface; it has 1 to 15 letters and digits\n"
      "f:2:10: prefix: \"10.2.0.1/16\" has bits set after its prefix of 16\n"
      "f:2:10: prefix: 10.2.0.1/16: has bits behind its prefix\n"
      "f:3:1: routes: needs either station or group\n"
      "f:4:10: prefix: 10.4.0.0/16: a group carries multicast and broadcast addresses only\n"
      "f:6:10: prefix: \"10.5.0.0/16\" is given twice; each needs its own\n"
      "f:7:1: icmp_from: \"fd00::1\" must be an IPv4 address\n");
}

TEST(ConfigLoad, an_interface_has_a_name_of_plain_characters) {
  EXPECT_TRUE(parse_ip("f", "interface { name: \"hf-0_a.1\" }\n").value);
  for (const char* name : {"a;b", "a'b", "a{b", "a\\\"b"}) {
    const auto loaded = parse_ip("f", std::string("interface { name: \"") + name + "\" }\n");
    EXPECT_NE(all_lines(loaded.problems).find("is no name of an interface"), std::string::npos);
  }
}

TEST(ConfigLoad, a_dns_stub_has_one_address) {
  const auto with = [](const std::string& address) {
    return parse_ip("f",
                    "routes { prefix: \"10.2.0.0/16\" station: \"1.2.3.4\" }\n"
                    "tcp_proxy { dns { address: \"" +
                        address + "\" } }");
  };
  for (const char* const address : {"127.0.0.1", "192.168.1.1", "::1"}) {
    const auto loaded = with(address);
    ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
    EXPECT_EQ(loaded.value->proxy.dns.address, address);
  }
  for (const char* const address : {"0.0.0.0", "::", "0:0::0", "::ffff:0.0.0.0", "::ffff:0:0"}) {
    const auto loaded = with(address);
    EXPECT_FALSE(loaded.value) << address;
    EXPECT_NE(all_lines(loaded.problems).find("must be one address of this host"),
              std::string::npos)
        << all_lines(loaded.problems);
  }
}

TEST(ConfigLoad, interception_is_off_by_default_and_refused_with_a_wide_route) {
  EXPECT_FALSE(ip_client::ProxyConfig{}.transparent);
  const std::string row = "tcp_proxy { transparent: true }\nroutes { station: \"1.2.3.4\" prefix: ";
  EXPECT_TRUE(parse_ip("f", row + "\"10.5.0.0/16\" }\n").value);
  for (const char* prefix : {"0.0.0.0/0", "127.0.0.1/32", "127.0.0.0/8", "64.0.0.0/2", "::/0"}) {
    const auto loaded = parse_ip("f", row + "\"" + prefix + "\" }\n");
    EXPECT_FALSE(loaded.value) << prefix;
    EXPECT_NE(all_lines(loaded.problems).find("cannot go with a default route"), std::string::npos);
  }
}

}  // namespace
}  // namespace s5066::config
