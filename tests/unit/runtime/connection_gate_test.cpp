// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/connection_gate.h"

#include <gtest/gtest.h>

namespace s5066::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

boost::asio::ip::address at(const std::string& text) {
  return boost::asio::ip::make_address(text);
}
ConnectionGate::Time time_of(std::chrono::nanoseconds since_start) {
  return ConnectionGate::Time(std::chrono::hours(1) + since_start);
}

ConnectionGate opened(const SisListenerConfig& config) {
  ConnectionGate gate(config);
  EXPECT_TRUE(gate.open());
  return gate;
}

/// Returns true if a gate with this one entry admits the peer.
bool fits(const std::string& address, const std::string& peer) {
  ConnectionGate gate = opened({.allow = {{.address = address}}});
  const bool admitted = gate.admit(time_of({}), at(peer)).ok();
  EXPECT_EQ(gate.permission_of(at(peer), {}).has_value(), admitted);
  return admitted;
}

TEST(ConnectionGate, knows_addresses_and_networks_to_the_bit) {
  EXPECT_TRUE(fits("192.0.2.7", "192.0.2.7"));
  EXPECT_FALSE(fits("192.0.2.7", "192.0.2.6"));
  EXPECT_TRUE(fits("192.0.2.4/30", "192.0.2.7"));
  EXPECT_FALSE(fits("192.0.2.4/30", "192.0.2.8"));
  EXPECT_FALSE(fits("192.0.2.4/30", "192.0.2.3"));
  EXPECT_TRUE(fits("0.0.0.0/0", "203.0.113.1"));
  EXPECT_FALSE(fits("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(fits("2001:db8::/33", "2001:db8:7fff:ffff::"));
  EXPECT_FALSE(fits("2001:db8::/33", "2001:db8:8000::"));
  EXPECT_TRUE(fits("::1", "::1"));
  EXPECT_TRUE(fits("192.0.2.7", "::ffff:192.0.2.7")) << "as a socket for both families tells it";
}

TEST(ConnectionGate, a_host_key_is_an_address_of_ipv4_and_a_network_of_64_bits_of_ipv6) {
  const auto host_key = [](const char* peer) { return ConnectionGate::host_key_of(at(peer)); };
  EXPECT_NE(host_key("192.0.2.7"), host_key("192.0.2.6"));
  EXPECT_EQ(host_key("192.0.2.7"), host_key("::ffff:192.0.2.7"));
  EXPECT_EQ(host_key("2001:db8::1"), host_key("2001:db8::2"));
  EXPECT_NE(host_key("2001:db8::1"), host_key("2001:db8:0:1::1"));
}

TEST(ConnectionGate, counts_local_connections_by_process_and_by_user) {
  SisListenerConfig config;
  config.local =
      LocalListenerConfig{.connections_per_process_max = 2, .connections_per_user_max = 3};
  ConnectionGate gate = opened(config);
  const auto admit = [&](pid_t process, uid_t user) {
    return gate.admit(time_of({}), LocalPeer{process, user}).ok();
  };
  EXPECT_TRUE(admit(10, 1));
  EXPECT_TRUE(admit(10, 1));
  EXPECT_FALSE(admit(10, 1)) << "a third of one process";
  EXPECT_TRUE(admit(11, 1));
  EXPECT_FALSE(admit(12, 1)) << "a fourth of one user";
  EXPECT_TRUE(admit(12, 2));
  EXPECT_TRUE(gate.admit(time_of({}), at("127.0.0.1")).ok());
  gate.on_closed(LocalPeer{11, 1});
  EXPECT_TRUE(admit(12, 1));
}

TEST(ConnectionGate, a_process_that_cannot_be_seen_is_limited_by_its_user) {
  SisListenerConfig config;
  config.local =
      LocalListenerConfig{.connections_per_process_max = 1, .connections_per_user_max = 2};
  ConnectionGate gate = opened(config);
  const LocalPeer unseen{.process = 0, .user = 7};
  EXPECT_TRUE(gate.admit(time_of({}), unseen).ok());
  EXPECT_TRUE(gate.admit(time_of({}), unseen).ok());
  EXPECT_FALSE(gate.admit(time_of({}), unseen).ok());
}

TEST(ConnectionGate, takes_over_other_limits_and_keeps_what_it_has_counted) {
  SisListenerConfig config;
  config.connections_max = 1;
  ConnectionGate gate = opened(config);
  EXPECT_TRUE(gate.admit(time_of({}), at("192.0.2.7")).ok());
  EXPECT_FALSE(gate.admit(time_of({}), at("192.0.2.7")).ok());
  config.connections_max = 2;
  ASSERT_TRUE(gate.change(config));
  EXPECT_TRUE(gate.admit(time_of({}), at("192.0.2.7")).ok());
  EXPECT_FALSE(gate.admit(time_of({}), at("192.0.2.7")).ok());
  config.allow = {{.address = "x"}};
  EXPECT_FALSE(gate.change(config));
  gate.on_closed(at("192.0.2.7"));
  EXPECT_TRUE(gate.admit(time_of({}), at("192.0.2.7")).ok()) << "the list is as it was";
}

TEST(ConnectionGate, refuses_an_allow_list_that_it_cannot_read) {
  for (const char* bad : {"192.0.2", "192.0.2.0/33", "192.0.2.0/", "::/129", "::/x", "localhost"}) {
    ConnectionGate gate({.allow = {{.address = bad}}});
    EXPECT_FALSE(gate.open()) << bad;
  }
}

TEST(ConnectionGate, the_first_entry_that_fits_says_what_a_client_may_do) {
  const sap::ClientAccess mail{.saps = 1u << 3, .rank_max = 9};
  const sap::ClientAccess manager{.saps = 1u << 0, .rank_max = 15};
  const sap::ClientAccess others{.saps = 1u << 5, .rank_max = 1};
  const ConnectionGate gate =
      opened({.allow = {{.address = "192.0.2.7", .certificate = "mail", .access = mail},
                        {.certificate = "manager", .access = manager},
                        {.address = "192.0.2.0/24", .access = others, .priority_max = 4}}});
  const auto access = [&](const char* peer, const std::vector<std::string>& names) {
    const auto permission = gate.permission_of(at(peer), names);
    return permission ? permission->access : std::nullopt;
  };
  EXPECT_EQ(access("192.0.2.7", {"x", "mail"}), mail);
  EXPECT_EQ(access("192.0.2.8", {"mail"}), others);
  EXPECT_EQ(access("203.0.113.1", {"manager"}), manager);
  EXPECT_EQ(access("192.0.2.7", {}), others);
  EXPECT_EQ(gate.permission_of(at("192.0.2.7"), {})->priority_max, 4);
  EXPECT_EQ(gate.permission_of(at("192.0.2.7"), {"mail"})->priority_max, 15);
  EXPECT_FALSE(gate.permission_of(at("203.0.113.1"), {"mail"}));
  EXPECT_FALSE(gate.permission_of(at("203.0.113.1"), {}));
}

TEST(ConnectionGate, counts_connections_in_total_and_by_address) {
  ConnectionGate gate = opened(
      {.connections_max = 3, .connections_per_address_max = 2, .connects_per_second_max = 1000});
  EXPECT_TRUE(gate.admit(time_of({}), at("192.0.2.1")));
  EXPECT_TRUE(gate.admit(time_of({}), at("192.0.2.1")));
  EXPECT_FALSE(gate.admit(time_of({}), at("192.0.2.1")));
  EXPECT_TRUE(gate.admit(time_of({}), at("192.0.2.2")));
  EXPECT_FALSE(gate.admit(time_of({}), at("192.0.2.3")));
  gate.on_closed(at("192.0.2.1"));
  EXPECT_TRUE(gate.admit(time_of({}), at("192.0.2.3")));
  EXPECT_FALSE(gate.admit(time_of({}), at("192.0.2.1")));
}

TEST(ConnectionGate, takes_an_ipv6_network_of_64_bits_for_one_address) {
  ConnectionGate gate = opened({.connections_per_address_max = 1});
  EXPECT_TRUE(gate.admit(time_of({}), at("2001:db8::1")));
  EXPECT_FALSE(gate.admit(time_of({}), at("2001:db8::ffff:1")));
  EXPECT_TRUE(gate.admit(time_of({}), at("2001:db8:0:1::1")));
}

TEST(ConnectionGate, lets_so_many_connect_in_a_second_and_not_one_more) {
  ConnectionGate gate = opened({.connects_per_second_max = 5});
  const auto tries = [&](std::chrono::nanoseconds when, const char* peer) {
    const bool admitted = gate.admit(time_of(when), at(peer)).ok();
    if (admitted) gate.on_closed(at(peer));
    return admitted;
  };
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(tries({}, "192.0.2.1"));
  EXPECT_FALSE(tries({}, "192.0.2.1"));
  EXPECT_TRUE(tries({}, "192.0.2.2")) << "another address pays for itself";
  EXPECT_FALSE(tries(milliseconds(200) - std::chrono::nanoseconds(1), "192.0.2.1"));
  EXPECT_TRUE(tries(milliseconds(200), "192.0.2.1"));
  EXPECT_FALSE(tries(milliseconds(200), "192.0.2.1"));
}

// The gate remembers a bounded number of unknown addresses and forgets each when it is quiet.
TEST(ConnectionGate, remembers_a_bounded_number_of_addresses) {
  ConnectionGate gate = opened({.connections_max = 10'000});
  const auto peer = [](unsigned number) {
    return boost::asio::ip::address(boost::asio::ip::address_v4(0xC6120000u + number));
  };
  for (unsigned i = 0; i < 1024; ++i) {
    ASSERT_TRUE(gate.admit(time_of({}), peer(i)));
    gate.on_closed(peer(i));
  }
  EXPECT_FALSE(gate.admit(time_of({}), peer(1024)));
  EXPECT_TRUE(gate.admit(time_of({}), peer(1023))) << "one that is known already";
  EXPECT_TRUE(gate.admit(time_of(seconds(2)), peer(1024)));
}

}  // namespace
}  // namespace s5066::runtime
