// SPDX-License-Identifier: Apache-2.0
#include "config/node_changes.h"

#include <gtest/gtest.h>

#include "tests/unit/config/problem_lines.h"

namespace s5066::config {
namespace {

using Names = std::vector<std::string>;

NodeSetup setup_of(const std::string& more) {
  const auto loaded = parse_node(
      "f", R"(address: "1.2.3.4" modem { mode: "110a-2400-short" cable { socket: "c" } } )" + more);
  EXPECT_TRUE(loaded.value) << all_lines(loaded.problems);
  return loaded.value.value_or(NodeSetup{});
}

NodeChanges changes(const std::string& before, const std::string& after) {
  return changes_to(setup_of(before).source, setup_of(after));
}

TEST(NodeChanges, the_same_configuration_changes_nothing) {
  for (const char* text : {"", "log_level: DEBUG", "sis { allow { address: \"127.0.0.1\" } }"}) {
    EXPECT_EQ(changes(text, text).at_once, Names{}) << text;
    EXPECT_EQ(changes(text, text).after_restart, Names{}) << text;
  }
  EXPECT_EQ(changes("", "sis { limits {} }").after_restart, Names{}) << "it says nothing";
}

TEST(NodeChanges, some_settings_change_at_once) {
  EXPECT_EQ(changes("", "log_level: DEBUG").at_once, Names{"log_level"});
  EXPECT_EQ(changes("log_level: DEBUG", "").at_once, Names{"log_level"});
  EXPECT_EQ(changes("sis { allow { address: \"127.0.0.1\" } allow { address: \"127.0.0.2\" } }",
                    "sis { allow { address: \"127.0.0.3\" } }")
                .at_once,
            Names{"sis.allow"});
  const auto limits = changes("",
                              "sis { limits { connections_max: 9 connects_per_second_max: 3 "
                              "connections_per_address_max: 5 dead_peer_timeout_s: 60 } }");
  EXPECT_EQ(limits.at_once.size(), 4u);
  EXPECT_EQ(limits.after_restart, Names{});
  const auto tls = [](const std::string& key) {
    return "sis { tls { certificate_file: \"c\" ca_file: \"a\" key_file: \"" + key + "\" } }";
  };
  EXPECT_EQ(changes(tls("k"), tls("l")).at_once, Names{"sis.tls.key_file"});
}

TEST(NodeChanges, the_others_wait_for_a_restart) {
  EXPECT_EQ(changes("", "sis { port: 5 clients_max: 3 }").after_restart,
            (Names{"sis.port", "sis.clients_max"}));
  EXPECT_EQ(changes("", "subnet_access { emcon: true }").after_restart, Names{"subnet_access"});
  EXPECT_EQ(changes("subnet_access { mtu_octets: 100 }", "subnet_access { emcon: true }").at_once,
            Names{});
  EXPECT_EQ(changes("", "data_transfer { rate_change: false }").after_restart,
            Names{"data_transfer"})
      << "false is not the default";
  EXPECT_EQ(changes("", "sis { limits { unread_octets_max: 65536 } }").after_restart,
            Names{"sis.limits.unread_octets_max"});
  EXPECT_EQ(changes("", "sis { tls { certificate_file: \"c\" key_file: \"k\" ca_file: \"a\" } }")
                .after_restart,
            Names{"sis.tls"});
}

TEST(NodeChanges, what_waits_for_a_restart_is_told_again_and_what_was_done_is_not) {
  const auto first = changes("", "log_level: DEBUG sis { port: 5 }");
  EXPECT_EQ(first.at_once, Names{"log_level"});
  EXPECT_EQ(first.after_restart, Names{"sis.port"});
  const auto again = changes_to(first.running, setup_of("log_level: DEBUG sis { port: 5 }"));
  EXPECT_EQ(again.at_once, Names{});
  EXPECT_EQ(again.after_restart, Names{"sis.port"});
}

}  // namespace
}  // namespace s5066::config
