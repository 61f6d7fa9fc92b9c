// SPDX-License-Identifier: Apache-2.0
// Tests that each program lists all its counters, and that their names differ among all programs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/mail_service.h"
#include "gateways/acp142/peers/cftp_core.h"
#include "gateways/acp142/peers/hmtp_core.h"
#include "gateways/acp142/smtp/smtp_server_core.h"
#include "gateways/chat/chat_types.h"
#include "gateways/common/rcop.h"
#include "gateways/file_relay/receiver_core.h"
#include "gateways/file_relay/relay_service.h"
#include "gateways/file_relay/sender_core.h"
#include "gateways/ip_client/dns_types.h"
#include "gateways/ip_client/ip_client_core.h"
#include "gateways/ip_client/proxy_types.h"
#include "gateways/p_mul/counters.h"
#include "gateways/streams/stream_types.h"
#include "gateways/traffic/receiver_core.h"
#include "modem/api/counters.h"
#include "modem/audio/cable_hub.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/runtime/daemon.h"
#include "sis/client_core.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066 {
namespace {

enum class Program { s5066d, relay, acp142, ip, cable, traffic };

/// The counters of one enumeration, and the programs that have them.
struct Family {
  std::string enumeration;
  CounterRows rows;
  std::set<Program> programs;
};

template <typename Enum>
Family family(const std::string& enumeration, std::set<Program> programs) {
  Family made{enumeration, {}, std::move(programs)};
  CounterSet<Enum>().list(made.rows);
  return made;
}

std::vector<Family> families() {
  using enum Program;
  return {
      family<Counter>("Counter", {s5066d}),
      family<modem::ModemCounter>("ModemCounter", {s5066d}),
      family<modem::ReceiverCounter>("ReceiverCounter", {s5066d}),
      family<modem::CableCounter>("CableCounter", {cable}),
      family<sis::ClientCounter>("ClientCounter", {relay, acp142, ip}),
      family<gateways::RcopCounter>("RcopCounter", {relay, acp142}),
      family<file_relay::RelaySenderCounter>("RelaySenderCounter", {relay}),
      family<file_relay::RelayReceiverCounter>("RelayReceiverCounter", {relay}),
      family<file_relay::TransferReceiverCounter>("TransferReceiverCounter", {relay}),
      family<file_relay::MulticastSenderCounter>("MulticastSenderCounter", {relay}),
      family<file_relay::MulticastReceiverCounter>("MulticastReceiverCounter", {relay}),
      family<file_relay::InboxServerCounter>("InboxServerCounter", {relay}),
      family<file_relay::OutboxCounter>("OutboxCounter", {relay}),
      family<p_mul::PMulCounter>("PMulCounter", {relay, acp142}),
      family<p_mul::PMulSenderCounter>("PMulSenderCounter", {relay, acp142}),
      family<p_mul::PMulReceiverCounter>("PMulReceiverCounter", {relay, acp142}),
      family<p_mul::PMulGroupCounter>("PMulGroupCounter", {relay, acp142}),
      family<p_mul::CarrierCounter>("CarrierCounter", {relay, acp142}),
      family<acp142::SmtpCounter>("SmtpCounter", {acp142}),
      family<acp142::MailCounter>("MailCounter", {acp142}),
      family<acp142::CftpCounter>("CftpCounter", {acp142}),
      family<acp142::HmtpCounter>("HmtpCounter", {acp142}),
      family<ip_client::IpCounter>("IpCounter", {ip}),
      family<ip_client::Drop>("Drop", {ip}),
      family<traffic::TrafficCounter>("TrafficCounter", {traffic}),
      family<chat::ChatCounter>("ChatCounter", {}),  // the command /status lists them
      family<streams::StreamCounter>("StreamCounter", {ip}),
      family<ip_client::DnsCounter>("DnsCounter", {ip}),
      family<ip_client::ProxyCounter>("ProxyCounter", {ip}),
  };
}

/// Returns the enumerations that have a table of counters in the sources.
std::set<std::string> enumerations_in_sources() {
  namespace fs = std::filesystem;
  const std::regex declared(R"(CounterTable<(\w+)>& counter_table\(\1\);)");
  std::set<std::string> found;
  for (const char* folder : {"s5066d", "modem", "sis", "gateways", "config"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(S5066_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      std::string line;
      while (std::getline(file, line)) {
        std::smatch match;
        if (line.rfind("//", 0) != 0 && std::regex_search(line, match, declared)) {
          found.insert(match[1]);
        }
      }
    }
  }
  return found;
}

void expect_all(const CounterRows& listed, Program program) {
  std::map<std::string, int> times;
  for (const CounterRow& row : listed) ++times[full_name(row)];
  for (const auto& [name, n] : times) EXPECT_EQ(n, 1) << name;
  std::set<std::string_view> names;
  for (const CounterRow& row : listed) names.insert(row.name);
  for (const Family& family : families()) {
    for (const CounterRow& row : family.rows) {
      EXPECT_EQ(names.contains(row.name), family.programs.contains(program))
          << family.enumeration << ": " << row.name;
    }
  }
}

struct NoLog final : LogSink {
  void write(LogLevel, std::string_view) override {}
};

TEST(Counters, of_the_sources_are_all_tested_here) {
  std::set<std::string> tested;
  for (const Family& family : families()) tested.insert(family.enumeration);
  EXPECT_EQ(enumerations_in_sources(), tested);
}

TEST(Counters, have_names_that_differ_among_all_programs) {
  std::map<std::string_view, std::string> owners;
  for (const Family& family : families()) {
    for (const CounterRow& row : family.rows) {
      const auto [owner, added] = owners.emplace(row.name, family.enumeration);
      EXPECT_TRUE(added) << row.name << " of " << owner->second << " and " << family.enumeration;
    }
  }
}

TEST(Counters, have_a_help_text_that_is_no_sentence_and_one_line) {
  for (const Family& family : families()) {
    for (const CounterRow& row : family.rows) {
      EXPECT_FALSE(row.unit.empty() || row.help.empty()) << row.name;
      EXPECT_EQ(row.help.find('\n'), std::string_view::npos) << row.name;
      EXPECT_NE(row.help.back(), '.') << row.name;
      EXPECT_LE(row.help.size(), 100u) << row.name;
    }
  }
}

TEST(Counters, of_s5066d_are_those_of_node_and_modem) {
  NoLog log;
  const runtime::Daemon daemon(config::NodeSetup{}, 1, log, {});
  expect_all(daemon.counters(), Program::s5066d);
}

TEST(Counters, of_the_file_relay_are_those_of_its_cores_and_its_client) {
  test::TemporaryFolder folder;
  NoLog log;
  file_relay::RelayConfig config;
  config.spool_directory = folder.make("spool");
  config.inbox_directory = folder.make("inbox");
  file_relay::RelayService service(config, log);
  ASSERT_TRUE(service.start());
  expect_all(service.counters(), Program::relay);
}

TEST(Counters, of_the_mail_gateway_tell_its_carriers_apart) {
  NoLog log;
  for (const bool udp : {false, true}) {
    test::TemporaryFolder folder;
    acp142::MailConfig config;
    config.spool_directory = folder.path().string();
    config.node = {0x0A010101};
    config.smtp.port = 0;
    if (udp) config.udp = acp142::MailConfig::Udp{};
    acp142::MailService service(config, *acp142::address_table(config), 1, log);
    const auto started = service.start();
    ASSERT_TRUE(started) << to_string(started.error());
    const CounterRows rows = service.counters();
    expect_all(rows, Program::acp142);
    for (const CounterRow& row : rows) {
      if (!row.name.starts_with("carrier_")) continue;
      EXPECT_EQ(row.labels, (std::vector<CounterLabel>{{"carrier", udp ? "udp" : "udop"}}));
    }
  }
}

TEST(Counters, of_the_ip_client_tell_the_directions_of_dropped_datagrams_apart) {
  const ip_client::IpClientCore core{ip_client::IpClientCore::Config()};
  CounterRows rows;
  core.list(rows);
  for (const CounterRow& row : rows) {
    EXPECT_EQ(row.labels.size(), row.name.starts_with("ip_dropped_") ? 1u : 0u) << row.name;
  }
  CounterSet<sis::ClientCounter>().list(rows);
  CounterSet<streams::StreamCounter>().list(rows);
  CounterSet<ip_client::DnsCounter>().list(rows);
  CounterSet<ip_client::ProxyCounter>().list(rows);
  expect_all(rows, Program::ip);
}

}  // namespace
}  // namespace s5066
