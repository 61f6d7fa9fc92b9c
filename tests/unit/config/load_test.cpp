// SPDX-License-Identifier: Apache-2.0
// Every configuration file that we ship loads, and a file of any length or content does no harm.
#include "config/load.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "config/proto/address_book.pb.h"
#include "config/proto/gateway.pb.h"
#include "config/proto/node.pb.h"
#include "tests/support/seeds.h"
#include "tests/unit/config/problem_lines.h"

namespace s5066::config {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// Returns the files in config/examples and config/back-to-back whose first comment names
/// `message`.
std::vector<fs::path> shipped(const std::string& message) {
  std::vector<fs::path> found;
  for (const char* folder : {"config/examples", "config/back-to-back"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(S5066_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".textproto") continue;
      if (text_of(entry.path()).find("# proto-message: s5066.proto." + message) == 0) {
        found.push_back(entry.path());
      }
    }
  }
  return found;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(fs::path(testing::TempDir()) / "s5066_config_test.textproto") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

const std::string kGood =
    R"(address: "1.2.3.4" modem { mode: "110a-2400-short" cable { socket: "/tmp/cable" } })";

TEST(ConfigLoad, a_byte_order_mark_in_front_of_a_configuration_does_no_harm) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(all_lines(parse_node("f", mark + kGood).problems), "");
  EXPECT_EQ(all_lines(parse_node("f", mark + "adress: 1\n" + kGood).problems),
            all_lines(parse_node("f", "adress: 1\n" + kGood).problems))
      << "columns are those that an editor shows";
  EXPECT_EQ(all_lines(parse_node("f", std::string("\xFF\xFE") + "a").problems),
            "f:1:1: this is UTF-16; save the file as UTF-8\n");
}

TEST(ConfigLoad, every_node_configuration_we_ship_loads) {
  const auto files = shipped("Node");
  EXPECT_GE(files.size(), 4u);
  for (const auto& file : files) {
    const auto loaded = load_node(file.string());
    EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
  }
}

TEST(ConfigLoad, every_relay_configuration_we_ship_loads) {
  const auto files = shipped("Relay");
  EXPECT_GE(files.size(), 3u);
  for (const auto& file : files) {
    const auto loaded = load_relay(file.string());
    EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
    if (loaded.value) {
      EXPECT_TRUE(file_relay::validate(*loaded.value).ok());
    }
  }
}

TEST(ConfigLoad, every_mail_configuration_we_ship_loads) {
  const auto files = shipped("MailGateway");
  EXPECT_GE(files.size(), 1u);
  for (const auto& file : files) {
    const auto loaded = load_mail(file.string());
    EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
  }
}

TEST(ConfigLoad, every_ip_configuration_we_ship_loads) {
  const auto files = shipped("IpClient");
  EXPECT_GE(files.size(), 1u);
  for (const auto& file : files) {
    const auto loaded = load_ip(file.string());
    EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
  }
}

TEST(ConfigLoad, the_address_book_we_ship_loads) {
  const auto files = shipped("AddressBook");
  ASSERT_EQ(files.size(), 1u);
  const auto loaded = load_address_book(files[0].string());
  EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
}

TEST(ConfigLoad, every_file_we_ship_names_its_message) {
  std::size_t files = 0;
  for (const char* folder : {"config/examples", "config/back-to-back"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(S5066_SOURCE_DIR) / folder)) {
      files += entry.path().extension() == ".textproto";
    }
  }
  EXPECT_EQ(files, shipped("Node").size() + shipped("Relay").size() +
                       shipped("MailGateway").size() + shipped("IpClient").size() +
                       shipped("AddressBook").size() + shipped("SetupAnswers").size());
}

void collect_fields(const google::protobuf::Descriptor& message, std::set<std::string>& names) {
  for (int i = 0; i < message.field_count(); ++i) {
    names.insert(message.field(i)->name());
    if (message.field(i)->message_type()) collect_fields(*message.field(i)->message_type(), names);
  }
}

void expect_every_field(const google::protobuf::Descriptor& message, const std::string& example) {
  std::set<std::string> names;
  collect_fields(message, names);
  const std::string text = text_of(fs::path(S5066_SOURCE_DIR) / "config/examples" / example);
  for (const std::string& name : names) {
    EXPECT_TRUE(text.find(name + ":") != std::string::npos ||
                text.find(name + " {") != std::string::npos)
        << name;
  }
}

TEST(ConfigLoad, the_examples_show_every_field) {
  expect_every_field(*proto::Node::descriptor(), "station.textproto");
  expect_every_field(*proto::Relay::descriptor(), "file-relay.textproto");
  expect_every_field(*proto::MailGateway::descriptor(), "mail-gateway.textproto");
  expect_every_field(*proto::IpClient::descriptor(), "ip-client.textproto");
  expect_every_field(*proto::AddressBook::descriptor(), "stations.textproto");
}

TEST(ConfigLoad, no_truncation_of_a_shipped_file_does_harm) {
  for (const auto& file : shipped("Node")) {
    const std::string text = text_of(file);
    for (std::size_t length = 0; length < text.size(); length += sim::kThinning) {
      const auto loaded = parse_node("f", text.substr(0, length));
      EXPECT_NE(loaded.value.has_value(), !loaded.problems.empty()) << file << " cut at " << length;
    }
  }
}

TEST(ConfigLoad, no_changed_octet_of_a_shipped_file_does_harm) {
  for (const auto& file : shipped("Node")) {
    const std::string text = text_of(file);
    for (std::size_t at = 0; at < text.size(); at += sim::kThinning) {
      std::string changed = text;
      changed[at] = "\0{}\"\xff:#\n"[at % 8];
      const auto loaded = parse_node("f", changed);
      EXPECT_NE(loaded.value.has_value(), !loaded.problems.empty()) << file << " changed at " << at;
    }
  }
}

TEST(ConfigLoad, the_largest_file_is_read_and_one_octet_more_is_refused) {
  const std::string padding(kFileOctetsMax - kGood.size(), '\n');
  EXPECT_TRUE(load_node(TemporaryFile(kGood + padding).path()).value.has_value());
  const TemporaryFile larger(kGood + padding + "\n");
  EXPECT_EQ(all_lines(load_node(larger.path()).problems),
            larger.path() + ": larger than the limit of 262144 octets\n");
}

TEST(ConfigLoad, a_file_that_cannot_be_read_says_why) {
  EXPECT_EQ(all_lines(load_node("/nonexistent/x.textproto").problems),
            "/nonexistent/x.textproto: cannot be read: No such file or directory\n");
  EXPECT_EQ(all_lines(load_node("/").problems), "/: cannot be read: Is a directory\n");
}

TEST(ConfigLoad, a_modem_elsewhere_arrives_with_its_ports_and_modes) {
  const auto loaded = parse_node(
      "f", R"(address: "1.2.3.4" modem { mode: "110a-2400-short" receive_modes: "110a-75-long"
              remote { address: "192.0.2.7" data_port: 7000 } })");
  ASSERT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
  const auto& remote = std::get<modem::RemoteModem::Config>(loaded.value->device);
  EXPECT_EQ(remote.address, "192.0.2.7");
  EXPECT_EQ(remote.control_port, 5067);
  EXPECT_EQ(remote.data_port, 7000);
  EXPECT_EQ(remote.receive_modes.size(), 1U);
}

// The node grants no rate change to a mode that its modem does not receive, so node and modem must
// get the same list.
TEST(ConfigLoad, modem_and_node_know_alike_which_modes_are_heard) {
  using Modes = std::vector<std::string>;
  const auto heard = [](const std::string& mode, const std::string& receive) {
    const auto loaded = parse_node("f", "address: \"1.2.3.4\" modem { mode: \"" + mode + "\" " +
                                            receive + " cable { socket: \"/tmp/cable\" } }");
    EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
    Modes names;
    if (!loaded.value) return names;
    EXPECT_EQ(loaded.value->node.dts.receive_modes, loaded.value->worker.receive_modes);
    for (const auto& m : loaded.value->node.dts.receive_modes) names.push_back(to_string(m));
    return names;
  };
  EXPECT_EQ(heard("110a-2400-short", ""), Modes{});
  EXPECT_EQ(heard("110a-2400-short", R"(receive_modes: "110a-75-long" receive_modes: "110d-75-s")"),
            (Modes{"110a-75-long", "110d-75-s"}));
  EXPECT_EQ(heard("4285-300-long", ""), Modes{"4285-300-long"});
  EXPECT_EQ(heard("4285-300-long", R"(receive_modes: "4285-600-long")"), Modes{"4285-600-long"});
  EXPECT_EQ(heard("110a-2400-zero", ""), Modes{"110a-2400-zero"});
  EXPECT_EQ(heard("110a-4800-zero", ""), Modes{});
}

// C.6.4.2(10)(11)
TEST(ConfigLoad, rate_change_and_the_retries_of_messages_and_resets_arrive) {
  const auto given = parse_node("f", kGood + " data_transfer { rate_change: false " +
                                         "management_repeats_max: 5 resets_missed_max: 7 }");
  ASSERT_TRUE(given.value.has_value()) << all_lines(given.problems);
  EXPECT_FALSE(given.value->node.dts.rate_change);
  EXPECT_EQ(given.value->node.dts.management_repeats_max, 5u);
  EXPECT_EQ(given.value->node.dts.resets_missed_max, 7u);
  const auto defaults = parse_node("f", kGood);
  ASSERT_TRUE(defaults.value.has_value());
  EXPECT_TRUE(defaults.value->node.dts.rate_change);
  EXPECT_EQ(defaults.value->node.dts.management_repeats_max, 3u);
  EXPECT_EQ(defaults.value->node.dts.resets_missed_max, 3u);
}

TEST(ConfigLoad, a_local_socket_for_clients_arrives_with_its_limits) {
  const auto given = parse_node(
      "f", kGood +
               " sis { local { socket: \"/run/sis\" group_too: true saps: [3, 5] rank_max: 9 "
               "connections_per_process_max: 1 connections_per_user_max: 2 "
               "connects_per_process_second_max: 3 connects_per_user_second_max: 4 } }");
  ASSERT_TRUE(given.value.has_value()) << all_lines(given.problems);
  const auto& local = given.value->sis.local;
  ASSERT_TRUE(local);
  EXPECT_EQ(local->socket_path, "/run/sis");
  EXPECT_TRUE(local->group_too);
  EXPECT_EQ(local->access, (sap::ClientAccess{.saps = 1u << 3 | 1u << 5, .rank_max = 9}));
  EXPECT_EQ(local->connections_per_process_max, 1u);
  EXPECT_EQ(local->connections_per_user_max, 2u);
  EXPECT_EQ(local->connects_per_process_second_max, 3u);
  EXPECT_EQ(local->connects_per_user_second_max, 4u);
  EXPECT_EQ(parse_node("f", kGood).value->sis.local, std::nullopt);
  EXPECT_EQ(all_lines(parse_node("f", kGood + "\nsis { local {} }").problems),
            "f:2:7: socket: missing\n");
  EXPECT_EQ(
      all_lines(parse_node("f", kGood + "\nsis { local { socket: \"s\" saps: 10 } }").problems),
      "f:2:27: saps: 10 needs subnet_access.bind.allow_reserved_saps\n");
}

TEST(ConfigLoad, a_gateway_reaches_its_server_by_address_or_by_local_socket) {
  const std::string relay = "spool_directory: \"s\" inbox_directory: \"i\" sis { ";
  const auto host = [&](const std::string& sis) {
    const auto loaded = parse_relay("f", relay + sis + " }");
    EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
    return loaded.value ? loaded.value->sis_host : "";
  };
  EXPECT_EQ(host(""), "127.0.0.1");
  EXPECT_EQ(host("address: \"192.0.2.7\""), "192.0.2.7");
  EXPECT_EQ(host("socket: \"/run/sis\""), "/run/sis");
  EXPECT_EQ(host("socket: \"sis\""), "./sis") << "a client knows a path by its slash";
  EXPECT_EQ(all_lines(parse_relay("f", relay + "\nsocket: \"/s\" port: 5066 }").problems),
            "f:2:1: socket: \"/s\" replaces address and port; remove them or socket\n");
}

NodeSetup keyed_by(const std::string& key) {
  const auto loaded = parse_node("f", R"(address: "1.2.3.4" modem { mode: "110a-2400-short" )"
                                      R"(cable { socket: "/tmp/cable" } )" +
                                          key + " }");
  EXPECT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
  return loaded.value.value_or(NodeSetup{});
}

TEST(ConfigLoad, each_way_to_key_arrives_with_its_settings) {
  using Serial = modem::SerialLinePtt;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(keyed_by("").key));
  const auto rig = keyed_by("rigctld { port: 4533 data_input: true }");
  EXPECT_EQ(std::get<modem::RigctldPtt::Config>(rig.key).port, 4533);
  EXPECT_TRUE(std::get<modem::RigctldPtt::Config>(rig.key).data_input);
  const auto rts = keyed_by("serial_rts { path: \"/dev/x\" other_line_up: true }");
  EXPECT_EQ(std::get<Serial::Config>(rts.key).path, "/dev/x");
  EXPECT_EQ(std::get<Serial::Config>(rts.key).line, Serial::Line::rts);
  EXPECT_TRUE(std::get<Serial::Config>(rts.key).other_line_up);
  const auto dtr = keyed_by("serial_dtr { path: \"/dev/x\" }");
  EXPECT_EQ(std::get<Serial::Config>(dtr.key).line, Serial::Line::dtr);
  EXPECT_FALSE(std::get<Serial::Config>(dtr.key).other_line_up);
  const auto chip = keyed_by("cm108 { path: \"/dev/hidraw1\" pin: 8 }");
  EXPECT_EQ(std::get<modem::Cm108Ptt::Config>(chip.key).path, "/dev/hidraw1");
  EXPECT_EQ(std::get<modem::Cm108Ptt::Config>(chip.key).pin, 8U);
}

TEST(ConfigLoad, only_vox_has_a_tone_in_its_lead_and_a_lead_of_its_own) {
  const auto without = keyed_by("");
  EXPECT_FALSE(without.worker.lead_tone);
  EXPECT_EQ(without.worker.ptt_lead, Duration{});
  const auto vox = keyed_by("vox {}");
  EXPECT_TRUE(vox.worker.lead_tone);
  EXPECT_EQ(vox.worker.ptt_lead, std::chrono::milliseconds(300));
  EXPECT_EQ(keyed_by("vox {} ptt_lead_ms: 500").worker.ptt_lead, std::chrono::milliseconds(500));
}

TEST(ConfigLoad, a_station_waits_for_an_occupied_channel_unless_it_is_told_not_to) {
  EXPECT_TRUE(keyed_by("").node.dts.wait_while_occupied);
  EXPECT_TRUE(keyed_by("wait_while_occupied: true").node.dts.wait_while_occupied);
  EXPECT_FALSE(keyed_by("wait_while_occupied: false").node.dts.wait_while_occupied);
}

TEST(ConfigLoad, bursts_of_110d_have_constraint_length_9_unless_it_is_told_otherwise) {
  EXPECT_EQ(keyed_by("").worker.ms110d.constraint, 9u);
  EXPECT_EQ(keyed_by("constraint_length_7: false").worker.ms110d.constraint, 9u);
  EXPECT_EQ(keyed_by("constraint_length_7: true").worker.ms110d.constraint, 7u);
}

// F.16
TEST(ConfigLoad, what_is_left_out_keeps_the_default_of_its_layer) {
  const auto loaded = parse_node("f", kGood);
  ASSERT_TRUE(loaded.value.has_value());
  EXPECT_EQ(loaded.value->sis.address, runtime::SisListenerConfig{}.address);
  EXPECT_EQ(loaded.value->sis.port, 5066);
  EXPECT_EQ(loaded.value->node.sap.links.idle_timeout, sap::LinkConfig{}.idle_timeout);
  EXPECT_EQ(loaded.value->node.cas.requests_max, cas::Config{}.requests_max);
  const auto relay = parse_relay("f", "spool_directory: \"s\" inbox_directory: \"i\"");
  ASSERT_TRUE(relay.value.has_value());
  EXPECT_EQ(relay.value->lifetime_s, file_relay::RelayConfig{}.lifetime_s);
  EXPECT_EQ(relay.value->acknowledgement, file_relay::RelayConfig{}.acknowledgement);
  EXPECT_FALSE(loaded.value->control.has_value());
  EXPECT_FALSE(loaded.value->capture.has_value());
}

TEST(ConfigLoad, a_relay_of_an_earlier_version_keeps_limits_that_fitted_its_defaults) {
  const auto relay = parse_relay("f",
                                 "spool_directory: \"s\" inbox_directory: \"i\" "
                                 "duplicate_window_s: 86400 retry_delay_min_s: 3600");
  ASSERT_TRUE(relay.value.has_value());
  EXPECT_EQ(relay.value->lifetime_s, 86400u);
  EXPECT_EQ(relay.value->retry_delay_max_s, 3600u);
}

TEST(ConfigLoad, a_control_socket_is_for_the_group_only_if_it_says_so) {
  const std::string relay = "spool_directory: \"s\" inbox_directory: \"i\" ";
  const std::string mail = "spool_directory: \"s\" node_id: \"10.1.1.1\" ";
  for (const bool group_too : {false, true}) {
    const std::string control =
        std::string(" control { socket: \"c\"") + (group_too ? " group_too: true }" : " }");
    const auto of_node = parse_node("f", kGood + control);
    const auto of_relay = parse_relay("f", relay + control);
    const auto of_mail = parse_mail("f", mail + control);
    ASSERT_TRUE(of_node.value && of_node.value->control && of_relay.value && of_mail.value);
    EXPECT_EQ(of_node.value->control->path, "c");
    EXPECT_EQ(of_node.value->control->group_too, group_too);
    EXPECT_EQ(of_relay.value->control_group_too, group_too);
    EXPECT_EQ(of_mail.value->control_group_too, group_too);
  }
  EXPECT_FALSE(parse_relay("f", relay + "node_control { socket: \"c\" group_too: true }").value);
}

TEST(ConfigLoad, a_capture_is_bounded_as_stated_or_else_by_default) {
  const auto capture = [](const std::string& more) {
    const auto loaded = parse_node("f", kGood + " capture { file: \"c\"" + more + " }");
    EXPECT_TRUE(loaded.value.has_value()) << more;
    return loaded.value ? *loaded.value->capture : runtime::CaptureConfig{};
  };
  EXPECT_EQ(capture("").file_octets_max, std::uint64_t{64} << 20);
  EXPECT_EQ(capture("").files_max, 4u);
  EXPECT_EQ(capture(" file_mib_max: 4096").file_octets_max, std::uint64_t{4096} << 20);
  EXPECT_EQ(capture(" files_max: 1").files_max, 1u);
  for (const char* wrong :
       {"file_mib_max: 0", "file_mib_max: 4097", "files_max: 0", "files_max: 101"}) {
    EXPECT_FALSE(
        parse_node("f", kGood + " capture { file: \"c\" " + wrong + " }").value.has_value())
        << wrong;
  }
}

TEST(ConfigLoad, what_clients_may_do_arrives_as_it_was_written) {
  const auto loaded = parse_node("f", kGood + R"(
sis {
  allow { address: "192.0.2.7" saps: [3, 5] rank_max: 9 }
  allow { address: "192.0.2.8" saps: 0 priority_max: 0 }
  allow { certificate: "mail.example" rank_max: 15 }
  allow { address: "192.0.2.0/24" priority_max: 11 }
  tls { certificate_file: "/c" key_file: "/k" ca_file: "/a" handshake_timeout_s: 3 }
  limits {
    connections_max: 7 connections_per_address_max: 6 connects_per_second_max: 5
    primitives_per_second_max: 4 octets_per_second_max: 3 unread_octets_max: 65536
    dead_peer_timeout_s: 9
  }
  clients_unbound_max: 2
})");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  const auto& sis = loaded.value->sis;
  ASSERT_EQ(sis.allow.size(), 4u);
  EXPECT_EQ(sis.allow[0].access, (sap::ClientAccess{.saps = 1u << 3 | 1u << 5, .rank_max = 9}));
  EXPECT_EQ(sis.allow[1].access, (sap::ClientAccess{.saps = 1u << 0, .rank_max = 14}));
  EXPECT_EQ(sis.allow[2].access, (sap::ClientAccess{.saps = 0xfffe, .rank_max = 15}));
  EXPECT_EQ(sis.allow[2].certificate, "mail.example");
  EXPECT_EQ(sis.allow[3].access, std::nullopt);
  EXPECT_EQ(sis.allow[0].priority_max, 15);
  EXPECT_EQ(sis.allow[1].priority_max, 0);
  EXPECT_EQ(sis.allow[3].priority_max, 11);
  EXPECT_EQ(sis.allow[3].address, "192.0.2.0/24");
  ASSERT_TRUE(sis.tls);
  EXPECT_EQ(sis.tls->certificate_file + sis.tls->key_file + sis.tls->ca_file, "/c/k/a");
  EXPECT_EQ(sis.tls->handshake_timeout, std::chrono::seconds(3));
  EXPECT_EQ(sis.connections_max, 7u);
  EXPECT_EQ(sis.connections_per_address_max, 6u);
  EXPECT_EQ(sis.connects_per_second_max, 5u);
  EXPECT_EQ(sis.dead_peer_timeout, std::chrono::seconds(9));
  const NodeConfig& node = loaded.value->node;
  EXPECT_EQ(node.client_rate.primitives_per_second_max, 4u);
  EXPECT_EQ(node.client_rate.octets_per_second_max, 3u);
  EXPECT_EQ(node.client_output_octets_max, 65536u);
  EXPECT_EQ(node.clients_unbound_max, 2u);
}

TEST(ConfigLoad, extensions_are_offered_unless_it_is_said_otherwise) {
  const auto usual = parse_node("f", kGood);
  ASSERT_TRUE(usual.value.has_value()) << all_lines(usual.problems);
  EXPECT_TRUE(usual.value->node.dts.offer_extensions);
  EXPECT_FALSE(usual.value->node.dts.dedicated_frequency);
  const auto strict = parse_node("f", kGood + "data_transfer { offer_extensions: false }");
  ASSERT_TRUE(strict.value.has_value()) << all_lines(strict.problems);
  EXPECT_FALSE(strict.value->node.dts.offer_extensions);
  const auto dedicated = parse_node("f", kGood + "data_transfer { dedicated_frequency: true }");
  ASSERT_TRUE(dedicated.value.has_value()) << all_lines(dedicated.problems);
  EXPECT_TRUE(dedicated.value->node.dts.dedicated_frequency);
}

TEST(ConfigLoad, a_node_without_a_mode_begins_at_300_bit_s_and_adapts) {
  const auto usual = parse_node("f", R"(address: "1.2.3.4" modem { cable { socket: "/tmp/c" } })");
  ASSERT_TRUE(usual.value.has_value()) << all_lines(usual.problems);
  EXPECT_EQ(to_string(usual.value->node.dts.mode), "110a-300-short");
  ASSERT_TRUE(usual.value->node.dts.adaptation.has_value());
  EXPECT_EQ(usual.value->node.dts.adaptation->rate_min_bps, 75u);
  EXPECT_EQ(usual.value->node.dts.adaptation->rate_max_bps, 9600u);
}

// A file that turns adaptation on beside such a setting has a contradiction, see ConfigProblems.
TEST(ConfigLoad, adaptation_is_on_unless_the_file_or_another_setting_turns_it_off) {
  const auto modem = [](const std::string& more) {
    return "address: \"1.2.3.4\" modem { " + more + " cable { socket: \"/tmp/cable\" } } ";
  };
  struct Case {
    std::string text;
    bool adapts;
  };
  const std::vector<Case> cases = {
      {kGood, true},
      {kGood + "data_transfer { adaptation { rate_max_bps: 2400 } }", true},
      {kGood + "data_transfer { adaptation { enabled: true } }", true},
      {kGood + "data_transfer { adaptation { enabled: false } }", false},
      {kGood + "data_transfer { rate_change: false }", false},
      {kGood + "data_transfer { transmission_max_ms: 60000 segment_octets: 400 }", true},
      {kGood + "data_transfer { transmission_max_ms: 30000 segment_octets: 400 }", false},
      {modem("mode: \"4285-1200-short\""), false},
      {modem("mode: \"110a-300-zero\""), false},
      {modem("mode: \"110d-300-s\""), true},
      {modem("receive_modes: \"110a-300-short\""), false},
  };
  for (const Case& one : cases) {
    const auto loaded = parse_node("f", one.text);
    ASSERT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
    EXPECT_EQ(loaded.value->node.dts.adaptation.has_value(), one.adapts) << one.text;
  }
  const auto limited =
      parse_node("f", kGood + "data_transfer { adaptation { rate_max_bps: 2400 } }");
  EXPECT_EQ(limited.value->node.dts.adaptation->rate_max_bps, 2400u);
}

TEST(ConfigLoad, a_large_window_has_up_to_4096_frames) {
  const auto usual = parse_node("f", kGood);
  ASSERT_TRUE(usual.value.has_value()) << all_lines(usual.problems);
  EXPECT_EQ(usual.value->node.dts.large_window, 4096u);
  const auto most = parse_node("f", kGood + "data_transfer { large_window: 4096 }");
  ASSERT_TRUE(most.value.has_value()) << all_lines(most.problems);
  const auto small = parse_node("f", kGood + "data_transfer { large_window: 128 }");
  ASSERT_TRUE(small.value.has_value()) << all_lines(small.problems);
  EXPECT_EQ(small.value->node.dts.large_window, 128u);
  EXPECT_FALSE(parse_node("f", kGood + "data_transfer { large_window: 4097 }").value.has_value());
}

TEST(ConfigLoad, what_is_said_of_subnet_access_reaches_its_layer) {
  const auto loaded = parse_node(
      "f", kGood +
               "subnet_access { mtu_octets: 4000 broadcast_only: true broadcast_session: true "
               "emcon: true expedited_requests_max: 7 expedited_requests_window_s: 8 "
               "response_octets_local: 9 response_octets_air: 10 node_confirm_wait_max_s: 61 "
               "management_octets_max: 300 soft_links { patience_s: 12 drain_max_s: 14 } queue { "
               "fair_turn: 13 updus_max: 1600 "
               "client_updus_reserved: 15 } }");
  ASSERT_TRUE(loaded.value.has_value()) << all_lines(loaded.problems);
  const sap::Config& sap = loaded.value->node.sap;
  EXPECT_EQ(sap.mtu, 4000);
  EXPECT_TRUE(sap.broadcast_session);
  EXPECT_TRUE(sap.emcon);
  EXPECT_EQ(sap.expedited_requests_max, 7u);
  EXPECT_EQ(sap.expedited_requests_window, std::chrono::seconds(8));
  EXPECT_EQ(sap.response_octets_local, 9u);
  EXPECT_EQ(sap.response_octets_air, 10u);
  EXPECT_EQ(sap.node_confirm_wait_max, std::chrono::seconds(61));
  EXPECT_EQ(sap.management_octets_max, 300u);
  EXPECT_EQ(sap.links.patience, std::chrono::seconds(12));
  EXPECT_EQ(sap.links.drain_max, std::chrono::seconds(14));
  EXPECT_EQ(sap.queue.fair_turn, 13u);
  EXPECT_EQ(sap.queue.updus_max, 1600u);
  EXPECT_EQ(sap.queue.client_updus_reserved, 15u);
}

}  // namespace
}  // namespace s5066::config
