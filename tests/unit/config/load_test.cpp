// Files from disk: every one we ship loads, none of any length or content does harm.
#include "config/load.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "config/proto/gateway.pb.h"
#include "config/proto/node.pb.h"

namespace s5066::config {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::string all_lines(const std::vector<Problem>& problems) {
  std::string lines;
  for (const Problem& problem : problems) lines += to_string(problem) + "\n";
  return lines;
}

/// Files in config/examples and config/back-to-back whose comment at the top names that message.
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

TEST(ConfigLoad, every_file_we_ship_names_its_message) {
  std::size_t files = 0;
  for (const char* folder : {"config/examples", "config/back-to-back"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(S5066_SOURCE_DIR) / folder)) {
      files += entry.path().extension() == ".textproto";
    }
  }
  EXPECT_EQ(files,
            shipped("Node").size() + shipped("Relay").size() + shipped("MailGateway").size());
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
}

TEST(ConfigLoad, no_truncation_of_a_shipped_file_does_harm) {
  for (const auto& file : shipped("Node")) {
    const std::string text = text_of(file);
    for (std::size_t length = 0; length < text.size(); ++length) {
      const auto loaded = parse_node("f", text.substr(0, length));
      EXPECT_NE(loaded.value.has_value(), !loaded.problems.empty()) << file << " cut at " << length;
    }
  }
}

TEST(ConfigLoad, no_changed_octet_of_a_shipped_file_does_harm) {
  for (const auto& file : shipped("Node")) {
    const std::string text = text_of(file);
    for (std::size_t at = 0; at < text.size(); ++at) {
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

// The node grants no rate change to what its modem does not hear, so the two are told the same.
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
  allow { address: "192.0.2.8" saps: 0 }
  allow { certificate: "mail.example" rank_max: 15 }
  allow { address: "192.0.2.0/24" }
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
  EXPECT_FALSE(usual.value->node.dts.adaptation.has_value());
  const auto adapts =
      parse_node("f", kGood + "data_transfer { adaptation { enabled: true rate_max_bps: 2400 } }");
  ASSERT_TRUE(adapts.value.has_value());
  ASSERT_TRUE(adapts.value->node.dts.adaptation.has_value());
  EXPECT_EQ(adapts.value->node.dts.adaptation->rate_min_bps, 75u);
  EXPECT_EQ(adapts.value->node.dts.adaptation->rate_max_bps, 2400u);
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

const std::string kMail = R"(spool_directory: "s" node_id: "10.1.1.1" )";

TEST(ConfigLoad, a_mail_gateway_uses_tls_only_where_it_is_configured) {
  const auto plain = parse_mail("f", kMail);
  ASSERT_TRUE(plain.value) << all_lines(plain.problems);
  EXPECT_FALSE(plain.value->smtp.tls || plain.value->mail_server.tls);
  const auto loaded = parse_mail("f", kMail + R"(
smtp { tls { certificate_file: "c" key_file: "k" ca_file: "a" required: true } }
mail_server { tls { ca_file: "b" server_name: "mx" required: true } }
)");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  EXPECT_EQ(loaded.value->smtp.tls->certificate_file, "c");
  EXPECT_EQ(loaded.value->smtp.tls->key_file, "k");
  EXPECT_EQ(loaded.value->smtp.tls->ca_file, "a");
  EXPECT_TRUE(loaded.value->smtp.tls->required);
  EXPECT_EQ(loaded.value->mail_server.tls->ca_file, "b");
  EXPECT_EQ(loaded.value->mail_server.tls->server_name, "mx");
  EXPECT_TRUE(loaded.value->mail_server.tls->required);
  const auto unchecked = parse_mail("f", kMail + "mail_server { tls { server_name: \"mx\" } }");
  EXPECT_EQ(all_lines(unchecked.problems), "f:1:62: server_name: is checked only with ca_file\n");
  const auto bypassed = parse_mail(
      "f", kMail + "smtp { tls { certificate_file: \"c\" key_file: \"k\" ca_file: \"a\" } }");
  EXPECT_EQ(all_lines(bypassed.problems), "f:1:91: ca_file: needs `required`\n");
}

TEST(ConfigLoad, a_mail_gateway_goes_by_udp_instead_where_it_is_configured) {
  const auto loaded = parse_mail("f", kMail + R"(
udp { interface: "10.1.1.1" listen: "10.1.1.2" hops: 3 rate_bps: 5000 }
stations { name: "a" node_id: "10.1.1.2" }
stations { name: "b" node_id: "10.1.1.3" udp_address: "10.9.9.9" }
groups { name: "g" udp_address: "239.1.2.3" stations: "a" stations: "b" }
)");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  const acp142::MailConfig& config = *loaded.value;
  EXPECT_EQ(config.udp->interface, 0x0A010101u);
  EXPECT_EQ(config.udp->listen, 0x0A010102u);
  EXPECT_EQ(config.udp->hops, 3);
  EXPECT_EQ(config.udp->rate_bps, 5000);
  EXPECT_EQ(config.stations.at(1).udp_address, 0x0A090909u);
  EXPECT_EQ(config.groups.at(0).udp_address, 0xEF010203u);
  EXPECT_EQ(config.rounds.ack_wait_s, 2u);
  EXPECT_EQ(parse_mail("f", kMail + "udp { } ack_wait_s: 9").value->rounds.ack_wait_s, 9u);
  EXPECT_EQ(parse_mail("f", kMail).value->rounds.ack_wait_s, 30u);
  const auto lacking =
      parse_mail("f", kMail + R"(stations { name: "a" node_id: "10.1.1.2" } groups { name: "g" })");
  EXPECT_EQ(all_lines(lacking.problems), "f:1:42: address: missing\nf:1:85: address: missing\n");
  const auto wrong = parse_mail("f", kMail + R"(udp { listen: "::1" }
groups { name: "g" udp_address: "10.1.1.1" })");
  EXPECT_EQ(wrong.problems.size(), 2u) << all_lines(wrong.problems);
}

struct Limits {
  std::string before;  // of the number
  std::string after;
  std::uint64_t first;
  std::uint64_t last;
  bool none_below = false;  // the first is 0
};

// PM-133, PM-080
TEST(ConfigLoad, each_parameter_of_p_mul_is_taken_from_its_first_good_value_to_its_last) {
  const auto good = [](const Limits& limits, std::uint64_t value) {
    const auto loaded =
        parse_mail("f", kMail + limits.before + std::to_string(value) + limits.after);
    return loaded.value.has_value();
  };
  std::vector<Limits> all = {
      {"nonarq_repeats: ", "", 0, 15, true},
      {"ack_wait_s: ", "", 1, 3600},
      {"receiving { ack_slot_ms: ", "}", 1, 600000},
      {"receiving { ack_again_s: ", "}", 1, 3600},
      {"receiving { missing_list_max: ", "}", 3, 1000},
      {"receiving { ack_when_missing: ", "}", 1, 65535},
      {"receiving { orphan_s: ", "}", 1, 86400},
      {"receiving { clock_tolerance_s: ", "}", 0, 3600, true},
      {"udp { rate_bps: ", "}", 1200, 1000000000},
      {"udp { } groups { name: \"g\" udp_address: \"239.1.2.3\" rate_bps: ", "}", 1200, 1000000000},
      {"udp { dynamic_groups { wait_for_reject_ms: ", "} }", 10, 600000},
      {"udp { dynamic_groups { announce_delay_ms: ", "} }", 10, 600000},
      {"udp { dynamic_groups { announce_count: ", "} }", 1, 100},
      {"udp { } rounds { pdu_octets_max: ", "}", 512, 8972},
      {"rounds { pdu_octets_max: ", "}", 512, 2042},
  };
  for (const char* port : {"group_control_port", "announce_port", "data_port", "ack_port"}) {
    all.push_back({std::string("udp { ") + port + ": ", "}", 1, 65535});
  }
  // For all, and for one group.
  const std::string group = "groups { name: \"g\" address: \"16.1.1.1\" ";
  all.push_back({group + "ack_wait_s: ", "}", 1, 3600});
  for (const std::string& outer : {std::string(), group}) {
    const std::string end = outer.empty() ? "}" : "} }";
    all.push_back({outer + "rounds { back_off_percent: ", end, 100, 1000});
    all.push_back({outer + "rounds { emcon_repeats_max: ", end, 0, 100, true});
    all.push_back({outer + "rounds { emcon_interval_s: ", end, 1, 86400});
    all.push_back({outer + "rounds { pdu_octets_max: ", end, 512, 2042});
    all.push_back({outer + "rounds { coded: true parity_ahead_percent: ", end, 0, 100, true});
  }
  for (const Limits& limits : all) {
    SCOPED_TRACE(limits.before);
    EXPECT_TRUE(good(limits, limits.first));
    EXPECT_TRUE(good(limits, limits.last));
    EXPECT_FALSE(good(limits, limits.last + 1));
    if (!limits.none_below) {
      EXPECT_FALSE(good(limits, limits.first - 1));
    }
  }
}

// PM-133
TEST(ConfigLoad, parameters_of_p_mul_that_do_not_fit_each_other_are_refused) {
  const auto problems = [](const std::string& text) {
    return all_lines(parse_mail("f", kMail + "\n" + text).problems);
  };
  EXPECT_EQ(problems("rounds { pdu_octets_max: 2043 }"),
            "f:2:10: pdu_octets_max: over HF a PDU has 2042 octets at most\n");
  EXPECT_EQ(problems("rounds { parity_ahead_percent: 1 }"),
            "f:2:10: parity_ahead_percent: needs `coded`\n");
  EXPECT_EQ(problems("rounds { pdu_octets_max: 512 } receiving { missing_list_max: 243 }"), "");
  EXPECT_EQ(problems("rounds { pdu_octets_max: 512 } receiving { missing_list_max: 244 }"),
            "f:2:44: missing_list_max: an acknowledgement of that is above pdu_octets_max\n");
  EXPECT_EQ(problems("smtp { message_octets_max: 16777216 } rounds { pdu_octets_max: 512 }"), "");
  EXPECT_EQ(problems("smtp { message_octets_max: 16777217 }"),
            "f:2:8: message_octets_max: 16777217 is above its limit 16777216\n");
  EXPECT_EQ(problems("udp { } nonarq_repeats: 1"),
            "f:2:9: nonarq_repeats: has no meaning with `udp`\n");
  EXPECT_EQ(problems("groups { name: \"g\" address: \"16.1.1.1\" rate_bps: 1200 }"),
            "f:2:40: rate_bps: needs `udp`\n");
}

// PM-107
TEST(ConfigLoad, a_route_is_relayed_only_where_that_is_said) {
  const std::string station = R"(stations { name: "a" node_id: "10.1.1.2" address: "1.1.1.1" } )";
  const auto loaded = parse_mail("f", kMail + station + R"(
routes { pattern: "a.example" stations: "a" }
routes { pattern: "b.example" stations: "a" relay: true }
)");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  EXPECT_FALSE(loaded.value->routes.at(0).relay);
  EXPECT_TRUE(loaded.value->routes.at(1).relay);
  EXPECT_EQ(
      parse_mail("f", kMail + R"(routes { pattern: "c" own: true relay: true })").problems.size(),
      1u);
}

// PM-080: 2751 to 2754 where nothing else is said, each with a use of its own.
TEST(ConfigLoad, the_ports_of_p_mul_by_udp_are_configured_one_by_one) {
  const auto udp = *parse_mail("f", kMail + "udp { }").value->udp;
  EXPECT_EQ(udp.group_control_port, 2751);
  EXPECT_EQ(udp.announce_port, 2752);
  EXPECT_EQ(udp.data_port, 2753);
  EXPECT_EQ(udp.ack_port, 2754);
  EXPECT_EQ(udp.general_group, 0xEF010101u);
  const auto other = *parse_mail("f", kMail + R"(udp { group_control_port: 1 announce_port: 2
data_port: 3 ack_port: 4 general_group: "239.2.2.2" })")
                          .value->udp;
  EXPECT_EQ(other.group_control_port, 1);
  EXPECT_EQ(other.announce_port, 2);
  EXPECT_EQ(other.data_port, 3);
  EXPECT_EQ(other.ack_port, 4);
  EXPECT_EQ(other.general_group, 0xEF020202u);
  EXPECT_EQ(all_lines(parse_mail("f", kMail + "\nudp { ack_port: 2753 }").problems),
            "f:2:7: ack_port: is the port of another use\n");
}

// PM-133
TEST(ConfigLoad, a_group_has_the_rules_of_the_gateway_but_for_those_of_its_own) {
  const auto loaded = parse_mail("f", kMail + R"(
ack_wait_s: 40 nonarq_repeats: 2
groups { name: "a" address: "16.1.1.1" }
groups { name: "b" address: "16.1.1.2" ack_wait_s: 50 rounds { emcon_repeats_max: 7 coded: true } }
rounds { back_off_percent: 120 emcon_interval_s: 900 emcon_repeats_max: 3 pdu_octets_max: 1030
         internet_checksum: true extra_address: false resend_all: true }
receiving { ack_slot_ms: 3000 ack_again_s: 70 missing_list_max: 20 ack_when_missing: 30
            orphan_s: 60 clock_tolerance_s: 5 }
)");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  const acp142::MailConfig& config = *loaded.value;
  EXPECT_EQ(config.nonarq_repeats, 2u);
  EXPECT_EQ(config.receiving.ack_slot_ms, 3000u);
  EXPECT_EQ(config.receiving.ack_again_s, 70u);
  EXPECT_EQ(config.receiving.missing_list_max, 20u);
  EXPECT_EQ(config.receiving.ack_when_missing, 30u);
  EXPECT_EQ(config.receiving.orphan_s, 60u);
  EXPECT_EQ(config.receiving.clock_tolerance_s, 5u);
  const auto& own = config.groups.at(1).rounds;
  EXPECT_EQ(own.ack_wait_s, 50u);
  EXPECT_EQ(own.emcon_repeats_max, 7u);
  EXPECT_TRUE(own.coded);
  EXPECT_EQ(own.back_off_percent, 120u);
  for (const auto* rounds : {&config.rounds, &config.groups.at(0).rounds}) {
    EXPECT_EQ(rounds->ack_wait_s, 40u);
    EXPECT_EQ(rounds->back_off_percent, 120u);
    EXPECT_EQ(rounds->emcon_interval_s, 900u);
    EXPECT_EQ(rounds->emcon_repeats_max, 3u);
    EXPECT_EQ(rounds->pdu_octets_max, 1030u);
    EXPECT_TRUE(rounds->internet_checksum);
    EXPECT_FALSE(rounds->extra_address);
    EXPECT_FALSE(rounds->coded);
    EXPECT_TRUE(rounds->resend_all);
  }
}

// PM-071, PM-133
TEST(ConfigLoad, dynamic_groups_of_a_mail_gateway_have_addresses_of_their_own) {
  EXPECT_TRUE(parse_mail("f", kMail + "udp { }").value->udp->pool.empty());
  const auto pool = [](const std::string& text) {
    return parse_mail("f", kMail + "udp { general_group: \"239.9.9.9\" dynamic_groups { " + text +
                               " } } groups { name: \"g\" udp_address: \"239.1.2.3\" }");
  };
  const auto loaded = pool(R"(pool { first: "224.0.2.0" last: "224.0.2.1" } announce_count: 7
pool { first: "239.9.9.8" } wait_for_reject_ms: 100 announce_delay_ms: 200)");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  const acp142::MailConfig::Udp& udp = *loaded.value->udp;
  EXPECT_EQ(udp.general_group, 0xEF090909u);
  EXPECT_EQ(udp.pool, (std::vector<std::uint32_t>{0xE0000200, 0xE0000201, 0xEF090908}));
  EXPECT_EQ(udp.wait_for_reject_ms, 100u);
  EXPECT_EQ(udp.announce_delay_ms, 200u);
  EXPECT_EQ(udp.announce_count, 7u);
  EXPECT_TRUE(pool(R"(pool { first: "239.2.0.0" last: "239.2.0.255" })").value);
  for (const char* wrong :
       {R"(pool { first: "239.2.0.0" last: "239.2.1.0" })",  // one more than 256
        R"(pool { first: "239.2.0.0" last: "239.1.0.0" })",  // backwards
        R"(pool { first: "224.0.0.255" })", R"(pool { first: "240.0.0.0" })",
        R"(pool { first: "239.9.9.9" })", R"(pool { first: "239.1.2.3" })",
        R"(pool { first: "239.2.0.0" } pool { first: "239.2.0.0" })"}) {
    EXPECT_EQ(pool(wrong).problems.size(), 1u) << wrong << all_lines(pool(wrong).problems);
  }
}

}  // namespace
}  // namespace s5066::config
