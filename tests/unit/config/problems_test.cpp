// SPDX-License-Identifier: Apache-2.0
// A bad configuration gives one line for each of its problems, with the place of the problem.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.h"

namespace s5066::config {
namespace {

using Lines = std::vector<std::string>;

Lines problem_lines(const std::string& text) {
  Lines lines;
  for (const Problem& problem : parse_node("f", text).problems) lines.push_back(to_string(problem));
  return lines;
}

/// The good configuration is one line, so that text which a test adds starts on line 2.
const std::string kGood =
    R"(address: "1.2.3.4" modem { mode: "110a-2400-short" cable { socket: "/tmp/cable" } })"
    "\n";

struct Case {
  std::string text;
  Lines lines;
};

void expect_lines(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(problem_lines(c.text), c.lines) << c.text;
}

TEST(ConfigProblems, a_good_file_has_none) {
  EXPECT_EQ(problem_lines(kGood), Lines{});
}

TEST(ConfigProblems, an_empty_file_lacks_what_has_no_default) {
  EXPECT_EQ(problem_lines(""), (Lines{"f:1:1: address: missing", "f:1:1: modem: missing"}));
}

TEST(ConfigProblems, an_unknown_field_is_one_and_does_not_hide_the_next) {
  expect_lines({
      {kGood + "prot: 1\nsis { listne: \"::1\" clients_max: 0 }\nfoo { bar { baz: [1, 2] } }\n",
       {"f:2:1: prot: unknown field; did you mean port in `sis`?",
        "f:3:7: listne: unknown field; did you mean listen?",
        "f:3:21: clients_max: 0 is below its limit 1", "f:4:1: foo: unknown field"}},
      {"adress: \"1.2.3.4\"\nmodem { mode: \"110a-300-long\" cabel { socket: \"/t\" } }\n",
       {"f:1:1: adress: unknown field; did you mean address?", "f:1:1: address: missing",
        "f:2:1: cable or sound_card or remote: missing",
        "f:2:31: cabel: unknown field; did you mean cable?"}},
  });
}

TEST(ConfigProblems, a_value_of_the_wrong_type_does_not_hide_the_next) {
  expect_lines({
      {"address: 1.2.3.4\nmodem { mode: 5 cable { socket: \"/t\" } }\nsis { port: -5 listen: 1 }\n",
       {"f:1:10: address: 1.2.3.4 must be in quotes: address: \"1.2.3.4\"",
        "f:2:15: mode: 5 must be in quotes: mode: \"5\"",
        "f:3:13: port: -5 is below 0, its least value",
        "f:3:24: listen: 1 must be in quotes: listen: \"1\""}},
      {kGood + "sis { port: 99999999999 clients_max: \"many\" }\nlog_level: LOUD\nmodem: 7\n",
       {"f:2:13: port: 99999999999 is out of range",
        "f:2:38: clients_max: \"many\" is not a whole number; give one without quotes",
        "f:3:12: log_level: unknown value LOUD; it can be DEBUG, INFO, WARNING, ERROR",
        "f:4:1: modem: is given twice; remove one of them"}},
      {kGood + "subnet_access { broadcast_only: maybe queue: 3 }\n",
       {"f:2:33: broadcast_only: maybe is neither true nor false",
        "f:2:46: queue: 3 cannot stand here; this field is a section: queue { }"}},
  });
}

TEST(ConfigProblems, broken_syntax_does_not_hide_the_next) {
  expect_lines({
      {kGood + "sis { port 5066 clients_max: 17 }\n",
       {"f:2:12: port: write a colon between name and value: port: 5066",
        "f:2:17: clients_max: 17 is above its limit 16"}},
      {kGood + "sis { port: } }\nlog_level: INFO\naddress: \"1.1.1.1\"\n",
       {"f:2:13: Expected integer, got: }", "f:2:15: Expected identifier, got: }",
        "f:4:1: address: is given twice; remove one of them"}},
      {kGood + "\tsis { port: 65536 }\n", {"f:2:15: port: 65536 is above its limit 65535"}},
  });
}

TEST(ConfigProblems, a_truncated_file_says_so_and_does_not_ask_for_what_it_lost) {
  expect_lines({
      {"address: \"1.2.3.4\"\nsis { port: 70000",
       {"f:2:7: port: 70000 is above its limit 65535",
        "f:2:18: the text ends here, but a field or block is not complete"}},
      {"address:", {"f:1:9: the text ends here, but a field or block is not complete"}},
  });
}

TEST(ConfigProblems, values_are_held_to_their_rules) {
  expect_lines({
      {"address: \"16.0.0.1\" modem { mode: \"110a-50-short\" receive_modes: \"110a-600-long\"\n"
       "receive_modes: \"x\" ptt_lead_ms: 2001 cable { socket: \"\" station: 16 } }\n",
       {"f:1:1: address: \"16.0.0.1\" is a group; the address of a station goes up to "
        "15.255.255.255",
        "f:1:29: mode: \"110a-50-short\" is no mode; `hfmodem modes` lists them; did you mean "
        "110a-150-short?",
        "f:2:1: receive_modes: \"x\" is no mode; `hfmodem modes` lists them",
        "f:2:20: ptt_lead_ms: 2001 is above its limit 2000",
        "f:2:46: socket: \"\" must not be empty", "f:2:57: station: 16 is above its limit 15"}},
      {kGood +
           "sis { listen: \"localhost\" allow { address: \"::1\" saps: 1 }"
           " allow { address: \"1.2.3\" saps: 1 } }\n"
           "subnet_access { groups: \"1.2.3.4\" groups: \"1.2.3\" }\n"
           "control { socket: \"" +
           std::string(108, 'x') + "\" }\n",
       {"f:2:7: listen: \"localhost\" is not an IP address",
        "f:2:68: address: \"1.2.3\" is not an IP address or network",
        "f:3:17: groups: \"1.2.3.4\" is a station; the address of a group starts at 16.0.0.0",
        "f:3:35: groups: \"1.2.3\" is no address: address needs four numbers, w.x.y.z",
        "f:4:11: socket: \"" + std::string(99, 'x') +
            "... is too long: the path of a Unix socket has at most 107 octets"}},
  });
}

TEST(ConfigProblems, a_modem_elsewhere_has_its_own_key_and_needs_an_address) {
  const std::string begin = "address: \"1.2.3.4\"\nmodem { mode: \"110a-2400-short\"\n";
  expect_lines({
      {begin + "remote { address: \"192.0.2.7\" control_port: 1 data_port: 65535 } }\n", {}},
      {begin +
           "remote { address: \"::1\" }\nptt_lead_ms: 5 rigctld {} constraint_length_7: true }\n",
       {"f:4:1: ptt_lead_ms: 5 is not allowed with `remote`; set it on the modem's host",
        "f:4:16: rigctld: is not allowed with `remote`; set it on the modem's host",
        "f:4:27: constraint_length_7: true is not allowed with `remote`; set it on the modem's "
        "host"}},
      {begin + "remote { } }\n", {"f:3:1: address: missing"}},
      {begin + "remote { address: \"radio\" data_port: 0 } }\n",
       {"f:3:10: address: \"radio\" is not an IP address",
        "f:3:27: data_port: 0 is below its limit 1"}},
  });
}

TEST(ConfigProblems, one_mode_of_stanag_4285_is_listened_for_at_a_time) {
  const std::string begin =
      "address: \"1.2.3.4\"\nmodem { mode: \"4285-600-long\" cable { socket: \"s\" }\n"
      "receive_modes: \"4285-600-long\" receive_modes: \"110a-75-short\" ";
  expect_lines({
      {begin + "receive_modes: \"4285-600-long\" }\n", {}},
      {begin + "receive_modes: \"4285-600-short\" }\n",
       {"f:3:1: receive_modes: 4285-600-long and 4285-600-short cannot both be given, because the "
        "modem can listen for only one mode of STANAG 4285"}},
  });
}

TEST(ConfigProblems, fields_may_contradict_each_other_or_a_default) {
  expect_lines({
      {kGood + "sis { listen: \"0.0.0.0\" }\n",
       {"f:2:7: listen: \"0.0.0.0\" is not loopback and needs `allow`, because the interface has "
        "no "
        "passwords"}},
      {kGood + "sis { listen: \"0.0.0.0\" allow { address: \"10.0.0.7\" } }\n",
       {"f:2:25: allow: needs `saps`, the SAPs that its clients may bind to, because `listen` is "
        "not loopback"}},
      {kGood + "sis { listen: \"0.0.0.0\" allow { address: \"10.0.0.7\" saps: 3 } }\n", {}},
      {kGood + "sis { listen: \"127.0.0.1\" allow { address: \"127.0.0.1\" } }\n", {}},
      {kGood + "sis { listen: \"127.0.0.2\" port: 0 }\n", {}},
      {kGood + "subnet_access { queue { flow_off_percent: 40 } keep_alive_interval_s: 119 }\n",
       {"f:2:17: flow_on_percent: must be below flow_off_percent",
        "f:2:48: keep_alive_interval_s: 119 must be 0, which means never, or at least 120 "
        "(A.2.1.17)"}},
      {kGood + "subnet_access { queue { flow_off_percent: 41 } keep_alive_interval_s: 120 }\n", {}},
      {kGood + "subnet_access { queue { flow_on_percent: 0 } }\n",
       {"f:2:25: flow_on_percent: 0 is below its limit 1"}},
      {kGood + "subnet_access { queue { flow_on_percent: 1 } }\n", {}},
      {kGood + "subnet_access { soft_links { call_retry_wait_s: 601 } }\n",
       {"f:2:30: call_retry_wait_s: 601 is above call_retry_wait_max_s; lower it or raise "
        "call_retry_wait_max_s"}},
      {kGood + "subnet_access { hard_links { response_wait_s: 239 } }\n",
       {"f:2:30: response_wait_s: 239 must be at least 60 above the sum of client_wait_s and "
        "terminate_wait_s"}},
      {kGood + "subnet_access { hard_links { response_wait_s: 240 } }\n", {}},
      {kGood + "subnet_access { mtu_octets: 2049 }\n",
       {"f:2:17: mtu_octets: 2049 is above 2048 and needs broadcast_only (A.2.1.3)"}},
      {kGood + "subnet_access { mtu_octets: 2048 }\n", {}},
      {kGood + "subnet_access { mtu_octets: 4096 broadcast_only: true }\n", {}},
      {kGood + "subnet_access { mtu_octets: 4097 broadcast_only: true }\n",
       {"f:2:17: mtu_octets: 4097 is above its limit 4096"}},
      {kGood + "subnet_access { mtu_octets: 4096 broadcast_only: true\n"
               "queue { client_octets_reserved: 4223 } }\n",
       {"f:3:9: client_octets_reserved: 4223 must hold one U_PDU of mtu_octets"}},
      {kGood + "subnet_access { expedited_requests_max: 0 node_confirm_wait_max_s: 59\n"
               "management_octets_max: 255 response_octets_air: 2049 }\n",
       {"f:2:17: expedited_requests_max: 0 is below its limit 1",
        "f:2:43: node_confirm_wait_max_s: 59 is below its limit 60",
        "f:3:1: management_octets_max: 255 is below its limit 256",
        "f:3:28: response_octets_air: 2049 is above its limit 2048"}},
      {kGood + "subnet_access { queue { updus_max: 1023 } }\n",
       {"f:2:17: client_updus_reserved: times clients_max is above updus_max; lower it or raise "
        "updus_max"}},
      {kGood + "subnet_access { queue { updus_max: 1024 } }\n", {}},
      {kGood + "sis { clients_max: 15 } subnet_access { queue { updus_max: 1023 } }\n", {}},
      {kGood + "subnet_access { soft_links { drain_max_s: 9 } }\n",
       {"f:2:30: drain_max_s: 9 is below its limit 10"}},
      {kGood + "subnet_access { queue { client_octets_max: 131071 } }\n",
       {"f:2:17: client_octets_reserved: is above client_octets_max; lower it or raise "
        "client_octets_max"}},
  });
}

TEST(ConfigProblems, links_that_may_be_must_fit_into_each_other) {
  expect_lines({
      {kGood + "data_transfer { links_max: 2 }\n", {"f:2:17: links_max: 2 is below its limit 3"}},
      {kGood + "data_transfer { links_max: 3 }\n", {}},  // the defaults shrink to fit
      {kGood + "data_transfer { links_max: 8 } channel_access { nonexclusive_links_max: 6 }\n", {}},
      {kGood + "data_transfer { links_max: 8 } channel_access { nonexclusive_links_max: 7 }\n",
       {"f:2:49: nonexclusive_links_max: 7 must be at most data_transfer.links_max - 2, because "
        "two "
        "links are kept for Exclusive calls"}},
      {kGood + "channel_access { nonexclusive_links_max: 14 }\n", {}},
      {kGood + "channel_access { nonexclusive_links_max: 15 }\n",
       {"f:2:18: nonexclusive_links_max: 15 must be at most data_transfer.links_max - 2, because "
        "two "
        "links are kept for Exclusive calls"}},
      {kGood + "subnet_access { soft_links { sessions_max: 8 } }\n", {}},
      {kGood + "subnet_access { soft_links { sessions_max: 9 } }\n",
       {"f:2:30: sessions_max: 9 must be at most nonexclusive_links_max and "
        "data_transfer.links_max "
        "- 2"}},
      {kGood + "data_transfer { links_max: 6 } subnet_access { soft_links { sessions_max: 4 } }\n",
       {}},
      {kGood + "data_transfer { links_max: 6 } subnet_access { soft_links { sessions_max: 5 } }\n",
       {"f:2:61: sessions_max: 5 must be at most nonexclusive_links_max and "
        "data_transfer.links_max "
        "- 2"}},
  });
}

TEST(ConfigProblems, the_retries_of_messages_and_resets_have_their_limits) {
  const auto with = [](const std::string& field) {
    return kGood + "data_transfer { " + field + " }\n";
  };
  for (const std::string name : {"management_repeats_max", "resets_missed_max"}) {
    expect_lines({
        {with(name + ": 1"), {}},
        {with(name + ": 20"), {}},
        {with(name + ": 0"), {"f:2:17: " + name + ": 0 is below its limit 1"}},
        {with(name + ": 21"), {"f:2:17: " + name + ": 21 is above its limit 20"}},
    });
  }
}

TEST(ConfigProblems, adaptation_needs_rate_change) {
  expect_lines({
      {kGood + "data_transfer { rate_change: false }\n", {}},
      {kGood + "data_transfer { rate_change: true adaptation { enabled: true } }\n", {}},
      {kGood + "data_transfer { rate_change: false adaptation { enabled: true } }\n",
       {"f:2:49: enabled: true needs rate_change: true"}},
  });
}

TEST(ConfigProblems, who_may_connect_is_checked) {
  const auto allow = [](const std::string& entry) {
    return kGood + "sis {\nallow { " + entry + " }\n}\n";
  };
  expect_lines({
      {allow("address: \"192.0.2.0/24\" saps: [0, 3] rank_max: 15"), {}},
      {allow("address: \"192.0.2.0/32\""), {}},
      {allow("address: \"2001:db8::/128\""), {}},
      {allow("address: \"0.0.0.0/0\""), {}},
      {allow("address: \"192.0.2.0/33\""),
       {"f:3:9: address: \"192.0.2.0/33\" must have a prefix of 0 to 32 bits"}},
      {allow("address: \"2001:db8::/129\""),
       {"f:3:9: address: \"2001:db8::/129\" must have a prefix of 0 to 128 bits"}},
      {allow("address: \"192.0.2.0/\""),
       {"f:3:9: address: \"192.0.2.0/\" must have a prefix of 0 to 32 bits"}},
      {allow("address: \"192.0.2.1/31\""),
       {"f:3:9: address: \"192.0.2.1/31\" has bits set after its prefix of 31"}},
      {allow("address: \"mail.example\""),
       {"f:3:9: address: \"mail.example\" is not an IP address or network"}},
      {allow("address: \"::1\" saps: 15 saps: 16 rank_max: 16"),
       {"f:3:33: saps: 16 is above its limit 15", "f:3:42: rank_max: 16 is above its limit 15"}},
      {allow("address: \"::1\" priority_max: 15"), {}},
      {allow("address: \"::1\" priority_max: 16"),
       {"f:3:24: priority_max: 16 is above its limit 15"}},
      {allow("saps: 3"), {"f:3:1: allow: needs address, certificate or both"}},
      {allow("certificate: \"mail.example\""),
       {"f:3:9: certificate: \"mail.example\" needs the section `tls`"}},
      {allow("address: \"::1\" saps: [9, 10]"),
       {"f:3:24: saps: 10 needs subnet_access.bind.allow_reserved_saps"}},
      {allow("address: \"::1\" saps: [9, 10]") +
           "subnet_access { bind { allow_reserved_saps: true } }",
       {}},
  });
}

TEST(ConfigProblems, tls_needs_its_three_files) {
  expect_lines({
      {kGood + "sis { tls { key_file: \"/k\" } }\n",
       {"f:2:7: certificate_file: missing", "f:2:7: ca_file: missing"}},
      {kGood + "sis { tls { key_file: \"/k\" certificate_file: \"/c\" ca_file: \"/a\" }\n"
               "allow { certificate: \"mail.example\" } }\n",
       {}},
  });
}

TEST(ConfigProblems, limits_of_connections_do_not_contradict_each_other) {
  expect_lines({
      {kGood + "sis { limits { connections_max: 8 connections_per_address_max: 8 } }\n", {}},
      {kGood + "sis { limits { connections_max: 8 connections_per_address_max: 9 } }\n",
       {"f:2:35: connections_per_address_max: 9 is above connections_max; lower it or raise "
        "connections_max"}},
      {kGood + "sis { limits { connections_max: 8 } }\n", {}},
  });
}

TEST(ConfigProblems, a_relay_has_rules_too) {
  const std::string text =
      "inbox_directory: \"/i\" lifetime_s: 172801\nretry_delay_min_s: 3601 sis { rank: 16 }\n"
      "acknowledgement: MAYBE control { }\n";
  Lines lines;
  for (const Problem& p : parse_relay("r", text).problems) lines.push_back(to_string(p));
  EXPECT_EQ(lines,
            (Lines{"r:1:1: spool_directory: missing",
                   "r:1:1: duplicate_window_s: is below lifetime_s, so late repeats would "
                   "be stored twice",
                   "r:2:1: retry_delay_min_s: 3601 is above retry_delay_max_s; lower it or raise "
                   "retry_delay_max_s",
                   "r:2:31: rank: 16 is above its limit 15",
                   "r:3:18: acknowledgement: unknown value MAYBE; it can be NONE, FRAP, FRAP_V2",
                   "r:3:24: socket: missing"}));
}

TEST(ConfigProblems, the_lines_of_an_absurd_file_are_bounded) {
  const Lines lines = problem_lines(std::string(1000, '}'));
  EXPECT_LE(lines.size(), kProblemsMax + 1);
  std::string unknown;
  for (int i = 0; i < 1000; ++i) unknown += "unknown" + std::to_string(i) + ": 1\n";
  const Lines many = problem_lines(kGood + unknown);
  ASSERT_EQ(many.size(), kProblemsMax + 1);
  EXPECT_EQ(many.back(), "f: there are more than 100 problems; correct those listed first");
}

TEST(ConfigProblems, text_from_the_file_cannot_reach_the_terminal_raw) {
  for (const std::string& line : problem_lines("a\x1b[31m: \xff\x01")) {
    for (const char c : line) EXPECT_TRUE(c >= 32 && c < 127) << line;
  }
}

TEST(ConfigProblems, deep_nesting_is_refused_and_not_followed) {
  for (const char* open : {"a{", "a:[", "a<", "[", "modem{"}) {
    std::string text;
    while (text.size() < 100'000) text += open;
    EXPECT_FALSE(problem_lines(text).empty());
  }
}

TEST(ConfigProblems, a_transmission_must_hold_one_segment_in_the_mode_at_hand) {
  const std::string slow =
      R"(address: "1.2.3.4" modem { mode: "110a-300-long" cable { socket: "/tmp/cable" } })"
      "\n";
  expect_lines({
      {kGood + "data_transfer { transmission_max_ms: 1800 segment_octets: 400 }\n", {}},
      {kGood + "data_transfer { transmission_max_ms: 1799 segment_octets: 400 }\n",
       {"f:2:17: transmission_max_ms: 1799 is too short for one segment in this mode; raise it or "
        "lower segment_octets"}},
      {slow + "data_transfer { transmission_max_ms: 4800 }\n",
       {"f:2:17: transmission_max_ms: 4800 is too short for one segment in this mode; raise it or "
        "lower segment_octets"}},
      {slow + "data_transfer { transmission_max_ms: 9600 }\n", {}},
  });
}

// Every mode that adaptation may choose counts as well, and a segment may have been cut for a
// faster mode.
TEST(ConfigProblems, a_transmission_must_hold_one_segment_wherever_adaptation_may_go) {
  const auto with = [](const std::string& limit, const std::string& rates) {
    return kGood + "data_transfer { transmission_max_ms: " + limit + " segment_octets: 200 " +
           "adaptation { enabled: true " + rates + " } }\n";
  };
  expect_lines({
      {with("28800", ""), {}},
      {with("28799", ""),
       {"f:2:17: transmission_max_ms: 28799 is too short for a segment of 200 octets in "
        "110a-75-long, "
        "to which adaptation may go: raise it or adaptation.rate_min_bps, or set a smaller "
        "segment_octets"}},
      {with("9600", "rate_min_bps: 300"), {}},
      {with("9599", "rate_min_bps: 300"),
       {"f:2:17: transmission_max_ms: 9599 is too short for a segment of 200 octets in "
        "110a-300-long, "
        "to which adaptation may go: raise it or adaptation.rate_min_bps, or set a smaller "
        "segment_octets"}},
  });
}

TEST(ConfigProblems, adaptation_needs_a_modem_that_hears_every_rate) {
  const std::string some =
      R"(address: "1.2.3.4" modem { mode: "110a-300-long" receive_modes: "110a-300-long" )"
      R"(cable { socket: "/tmp/cable" } })"
      "\n";
  const std::string mute =
      R"(address: "1.2.3.4" modem { mode: "4285-300-long" cable { socket: "/tmp/cable" } })"
      "\n";
  expect_lines({
      {kGood + "data_transfer { adaptation { enabled: true } }\n", {}},
      {some + "data_transfer { adaptation { enabled: false } }\n", {}},
      {some + "data_transfer { adaptation { enabled: true } }\n",
       {"f:2:30: enabled: true needs a modem that listens for every mode; remove receive_modes"}},
      {mute + "data_transfer { adaptation { enabled: true } }\n",
       {"f:2:30: enabled: true needs a modem.mode that announces itself to receivers"}},
      {kGood +
           "data_transfer { adaptation { enabled: true rate_min_bps: 600 rate_max_bps: 600 } }\n",
       {}},
      {kGood +
           "data_transfer { adaptation { enabled: true rate_min_bps: 601 rate_max_bps: 600 } }\n",
       {"f:2:44: rate_min_bps: 601 is above rate_max_bps; lower it or raise rate_max_bps"}},
  });
}

}  // namespace
}  // namespace s5066::config
