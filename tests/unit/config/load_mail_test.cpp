// SPDX-License-Identifier: Apache-2.0
// These tests check that each setting of a mail gateway reaches the part that uses it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.h"
#include "tests/unit/config/problem_lines.h"

namespace s5066::config {
namespace {

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
  EXPECT_EQ(all_lines(unchecked.problems),
            "f:1:62: server_name: \"mx\" is checked only with ca_file; give it, too\n");
  const auto bypassed = parse_mail(
      "f", kMail + "smtp { tls { certificate_file: \"c\" key_file: \"k\" ca_file: \"a\" } }");
  EXPECT_EQ(all_lines(bypassed.problems), "f:1:91: ca_file: \"a\" needs required: true\n");
}

TEST(ConfigLoad, a_spool_is_copied_where_it_is_configured) {
  EXPECT_EQ(parse_mail("f", kMail).value->backup.directory, "");
  const auto loaded = parse_mail(
      "f", std::string(kMail) + "\nbackup { directory: \"/backup\" interval_s: 3600 copies: 3 }");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  EXPECT_EQ(loaded.value->backup.directory, "/backup");
  EXPECT_EQ(loaded.value->backup.interval_s, 3600u);
  EXPECT_EQ(loaded.value->backup.copies, 3u);
  for (const char* bad : {"interval_s: 59", "copies: 0", "copies: 1001"}) {
    const std::string text = std::string("\nbackup { directory: \"/backup\" ") + bad + " }";
    EXPECT_FALSE(parse_mail("f", kMail + text).problems.empty()) << bad;
  }
  EXPECT_FALSE(parse_mail("f", std::string(kMail) + "\nbackup { copies: 3 }").problems.empty());
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
  std::string before;  // text before the number
  std::string after;
  std::uint64_t first;
  std::uint64_t last;
  bool none_below = false;  // true if the first good value is 0
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
  // The settings hold for all groups, and for one group.
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
            "f:2:10: pdu_octets_max: 2043 must be at most 2042 without `udp`\n");
  EXPECT_EQ(problems("rounds { parity_ahead_percent: 1 }"),
            "f:2:10: parity_ahead_percent: 1 needs coded: true\n");
  EXPECT_EQ(problems("rounds { pdu_octets_max: 512 } receiving { missing_list_max: 243 }"), "");
  EXPECT_EQ(problems("rounds { pdu_octets_max: 512 } receiving { missing_list_max: 244 }"),
            "f:2:44: missing_list_max: 244 makes an acknowledgement larger than "
            "pdu_octets_max; lower it\n");
  EXPECT_EQ(problems("smtp { message_octets_max: 16777216 } rounds { pdu_octets_max: 512 }"), "");
  EXPECT_EQ(problems("smtp { message_octets_max: 16777217 }"),
            "f:2:8: message_octets_max: 16777217 is above its limit 16777216\n");
  EXPECT_EQ(problems("udp { } nonarq_repeats: 1"),
            "f:2:9: nonarq_repeats: 1 has no effect with `udp`; remove it\n");
  EXPECT_EQ(problems("groups { name: \"g\" address: \"16.1.1.1\" rate_bps: 1200 }"),
            "f:2:40: rate_bps: 1200 needs `udp`\n");
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

// PM-080: The ports are 2751 to 2754 by default, and each has its own use.
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
            "f:2:7: ack_port: 2753 is used twice; each use needs a port of its own\n");
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
       {R"(pool { first: "239.2.0.0" last: "239.2.1.0" })",  // 257 addresses, one more than 256
        R"(pool { first: "239.2.0.0" last: "239.1.0.0" })",  // the last address is before the first
        R"(pool { first: "224.0.0.255" })", R"(pool { first: "240.0.0.0" })",
        R"(pool { first: "239.9.9.9" })", R"(pool { first: "239.1.2.3" })",
        R"(pool { first: "239.2.0.0" } pool { first: "239.2.0.0" })"}) {
    EXPECT_EQ(pool(wrong).problems.size(), 1u) << wrong << all_lines(pool(wrong).problems);
  }
}

TEST(ConfigLoad, what_a_mail_gateway_could_not_work_with_is_refused) {
  const auto problems = [](const std::string& text) {
    return all_lines(parse_mail("f", kMail + "\n" + text).problems);
  };
  EXPECT_EQ(problems("sis { port: 5066 } udp { }"),
            "f:2:1: sis: has no effect with `udp`, which replaces it; remove one of them\n");
  EXPECT_EQ(problems("hostname: \"gate way.example\""),
            "f:2:1: hostname: \"gate way.example\" is not a host name; use letters, digits, '-' "
            "and '.'\n");
  EXPECT_EQ(problems("hostname: \"gateway.example\""), "");
  EXPECT_EQ(problems("operator_mailbox: \"op at ship\""),
            "f:2:1: operator_mailbox: \"op at ship\" is no address; write it like name@domain\n");
  EXPECT_EQ(problems("operator_mailbox: \"op@ship.example\""), "");
  EXPECT_EQ(problems("smtp { port: 25 }"),
            "f:1:1: port: is the port where `smtp` of this gateway listens; give that of the mail "
            "server\n");
  EXPECT_EQ(
      problems("smtp { address: \"0.0.0.0\" allow: \"10.0.0.0/8\" }\n"
               "mail_server { port: 2525 }"),
      "f:3:15: port: 2525 is the port where `smtp` of this gateway listens; give that of the mail "
      "server\n");
  EXPECT_EQ(problems("mail_server { address: \"10.0.0.1\" port: 2525 }"), "");
  EXPECT_EQ(
      problems("smtp { precedence { from: \"a@\" mt_priority_max: 9 } }"),
      "f:2:21: from: \"a@\" is not an address pattern; write it like name@domain or domain\n");
  EXPECT_EQ(problems("smtp { precedence { mt_priority_max: 10 } }"),
            "f:2:21: mt_priority_max: 10 is above its limit 9\n");
  EXPECT_EQ(problems("smtp { priority_fields { name: \"Importance\" mt_priority: -10 } }"),
            "f:2:8: value: missing\nf:2:45: mt_priority: -10 is below its limit -9\n");
}

TEST(ConfigLoad, what_is_probably_a_mistake_in_a_mail_gateway_is_a_warning) {
  const std::string ship = R"(stations { name: "a" node_id: "10.1.1.2" address: "1.1.1.1" } )";
  const auto doubtful =
      parse_mail("f", kMail + ship + "\ngroups { name: \"g\" address: \"16.1.1.1\" }");
  ASSERT_TRUE(doubtful.value) << all_lines(doubtful.problems);
  EXPECT_EQ(all_lines(doubtful.warnings),
            "f:1:1: warning: routes: no route is `own`, so no mail from the air reaches the mail "
            "server\n"
            "f:2:1: warning: stations: the group has no stations, so nothing is ever sent to it\n");
  const auto good = parse_mail("f", kMail + ship + R"(
groups { name: "g" address: "16.1.1.1" stations: "a" }
routes { pattern: "shore.example" own: true }
)");
  ASSERT_TRUE(good.value) << all_lines(good.problems);
  EXPECT_TRUE(good.warnings.empty());
}

TEST(ConfigLoad, a_station_takes_mail_by_the_protocol_that_is_configured) {
  const std::string stations = R"(
stations { name: "a" node_id: "10.1.1.2" address: "1.1.1.1" by: CFTP files_max: 256 }
stations { name: "b" node_id: "10.1.1.3" address: "1.1.1.2" by: HMTP }
stations { name: "c" node_id: "10.1.1.4" address: "1.1.1.3" }
)";
  const auto loaded = parse_mail(
      "f", kMail + stations +
               "peer_mail { cftp: true hmtp: true answer_wait_s: 60 updu_lifetime_s: 86400 }");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  const acp142::MailConfig& config = *loaded.value;
  EXPECT_EQ(config.stations.at(0).by, acp142::MailWay::cftp);
  EXPECT_EQ(config.stations.at(0).files_max, 256u);
  EXPECT_EQ(config.stations.at(1).by, acp142::MailWay::hmtp);
  EXPECT_EQ(config.stations.at(1).files_max, 1u);
  EXPECT_EQ(config.stations.at(2).by, acp142::MailWay::p_mul);
  EXPECT_TRUE(config.peer_mail.cftp && config.peer_mail.hmtp);
  EXPECT_EQ(config.peer_mail.answer_wait_s, 60u);
  EXPECT_EQ(config.peer_mail.updu_lifetime_s, 86400u);
  for (const char* wrong : {"answer_wait_s: 59", "answer_wait_s: 86401", "updu_lifetime_s: 59"}) {
    EXPECT_FALSE(parse_mail("f", kMail + "peer_mail { " + wrong + " }").value) << wrong;
  }
}

TEST(ConfigLoad, a_protocol_that_a_station_could_not_take_mail_by_is_refused) {
  const std::string begin = "stations { name: \"a\" node_id: \"10.1.1.2\" address: \"1.1.1.1\" ";
  for (const char* wrong :
       {"files_max: 2", "by: HMTP files_max: 2", "by: CFTP silent: true", "by: CFTP files_max: 257",
        "by: CFTP files_max: 0", "by: CFTP explicit_tags: true"}) {
    EXPECT_FALSE(parse_mail("f", kMail + begin + wrong + " }").value) << wrong;
  }
  EXPECT_FALSE(parse_mail("f", kMail + "udp { } " + begin + "by: CFTP }").value);
  EXPECT_FALSE(parse_mail("f", kMail + "udp { } peer_mail { cftp: true }").value);
  EXPECT_TRUE(parse_mail("f", kMail + begin + "by: CFTP }").value);
}

TEST(ConfigLoad, precedence_and_tags_of_a_mail_gateway_are_what_is_configured) {
  const auto loaded = parse_mail("f", kMail + R"(
stations { name: "a" node_id: "10.1.1.2" address: "1.1.1.1" explicit_tags: true }
stations { name: "b" node_id: "10.1.1.3" address: "1.1.1.2" }
smtp {
  precedence { client: "10.0.0.0/8" from: "*.ops.example" mt_priority_max: 6 }
  precedence { mt_priority_max: -2 }
  priority_fields { name: "Importance" value: "high" mt_priority: 2 }
}
)");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  EXPECT_TRUE(loaded.value->stations.at(0).explicit_tags);
  EXPECT_FALSE(loaded.value->stations.at(1).explicit_tags);
  const auto& smtp = loaded.value->smtp;
  EXPECT_EQ(smtp.precedence.at(0).client, "10.0.0.0/8");
  EXPECT_EQ(smtp.precedence.at(0).from, "*.ops.example");
  EXPECT_EQ(smtp.precedence.at(0).mt_priority_max, 6);
  EXPECT_EQ(smtp.precedence.at(1).mt_priority_max, -2);
  EXPECT_EQ(smtp.priority_fields.at(0).name, "Importance");
  EXPECT_EQ(smtp.priority_fields.at(0).value, "high");
  EXPECT_EQ(smtp.priority_fields.at(0).mt_priority, 2);
}

}  // namespace
}  // namespace s5066::config
