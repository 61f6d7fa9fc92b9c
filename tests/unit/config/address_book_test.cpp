// SPDX-License-Identifier: Apache-2.0
#include "config/address_book.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "config/control_request.h"
#include "config/load.h"
#include "config/proto/control.pb.h"
#include "s5066d/control/station_names.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/config/problem_lines.h"

namespace s5066::config {
namespace {

const std::string kBook = R"(station { name: "shore" call_sign: "DL0ABC" address: "1.2.0.1" }
station { name: "ship-7" call_sign: "DL0XYZ/MM" address: "1.2.0.2" }
group { name: "fleet" address: "16.1.0.0" }
)";

AddressBook book() {
  return *parse_address_book("stations", kBook).value;
}

std::string problems_of(const std::string& text) {
  return all_lines(parse_address_book("stations", text).problems);
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string node(const std::string& address, const std::string& more = {}) {
  return "address: \"" + address +
         "\"\nmodem { mode: \"110a-300-long\" cable { socket: \"c\" } }\n" + more;
}

TEST(AddressBook, a_name_or_a_call_sign_stands_for_an_address_in_each_configuration) {
  const auto node_setup = parse_node("f",
                                     node("shore",
                                          "channel_access { linked_externally: \"dl0xyz/mm\" }\n"
                                          "subnet_access { groups: \"FLEET\" }"),
                                     book());
  ASSERT_TRUE(node_setup.value) << all_lines(node_setup.problems);
  EXPECT_EQ(to_string(node_setup.value->node.dts.address), "1.2.0.1");
  EXPECT_EQ(to_string(node_setup.value->node.cas.linked_externally.at(0)), "1.2.0.2");
  EXPECT_EQ(to_string(node_setup.value->node.dts.groups.at(0)), "16.1.0.0");
  EXPECT_EQ(node_setup.value->book, book());

  const auto ip = parse_ip("f",
                           "routes { prefix: \"10.2.0.0/16\" station: \"Ship-7\" }\n"
                           "routes { prefix: \"239.1.0.0/16\" group: \"fleet\" }",
                           book());
  ASSERT_TRUE(ip.value) << all_lines(ip.problems);
  EXPECT_EQ(to_string(ip.value->routes[0].station), "1.2.0.2");
  EXPECT_EQ(to_string(ip.value->routes[1].station), "16.1.0.0");

  const auto mail = parse_mail("f",
                               "spool_directory: \"s\" node_id: \"10.1.1.1\"\n"
                               "stations { name: \"x\" node_id: \"10.1.1.2\" address: \"ship-7\" }",
                               book());
  ASSERT_TRUE(mail.value) << all_lines(mail.problems);
  EXPECT_EQ(to_string(mail.value->stations[0].address), "1.2.0.2");
}

TEST(AddressBook, an_unknown_name_is_reported_with_its_place_and_the_name_that_is_meant) {
  EXPECT_EQ(
      all_lines(parse_node("f", node("shroe"), book()).problems),
      "f:1:1: address: \"shroe\" is no address: no station in the address book is called shroe; "
      "did you mean shore?\n");
  EXPECT_EQ(
      all_lines(parse_node("f", node("lighthouse"), book()).problems),
      "f:1:1: address: \"lighthouse\" is no address: no station in the address book is called "
      "lighthouse\n");
  EXPECT_EQ(
      all_lines(parse_node("f", node("shore")).problems),
      "f:1:1: address: \"shore\" is no address: there is no address book with the name shore; "
      "an address has four numbers, w.x.y.z\n");
  EXPECT_EQ(all_lines(parse_node("f", node("fleet"), book()).problems),
            "f:1:1: address: \"16.1.0.0\" is a group; the address of a station goes up to "
            "15.255.255.255\n");
  EXPECT_EQ(all_lines(parse_node("f", node("1.2.3"), book()).problems),
            "f:1:1: address: \"1.2.3\" is no address: address needs four numbers, w.x.y.z\n");
}

TEST(AddressBook, names_and_addresses_that_are_given_twice_are_reported_with_their_place) {
  EXPECT_EQ(problems_of(kBook + "station { name: \"Shore\" address: \"1.2.0.3\" }"),
            "stations:4:11: name: Shore is given twice; it already stands for shore (1.2.0.1)\n");
  EXPECT_EQ(
      problems_of(kBook + "station { name: \"x\" call_sign: \"dl0abc\" address: \"1.2.0.3\" }"),
      "stations:4:21: call_sign: dl0abc is given twice; it already stands for shore "
      "(1.2.0.1)\n");
  EXPECT_EQ(problems_of(kBook + "group { name: \"ship-7\" address: \"16.1.0.1\" }"),
            "stations:4:9: name: ship-7 is given twice; it already stands for ship-7 (1.2.0.2)\n");
  EXPECT_EQ(problems_of(kBook + "station { name: \"x\" address: \"1.2.0.2\" }"),
            "stations:4:21: address: 1.2.0.2 is given twice; it already has the name ship-7\n");
  EXPECT_EQ(problems_of(kBook + "group { name: \"x\" address: \"16.1.0.0\" }"),
            "stations:4:19: address: 16.1.0.0 is given twice; it already has the name fleet\n");
}

TEST(AddressBook, a_row_needs_a_name_and_an_address_of_the_right_kind) {
  EXPECT_EQ(problems_of("station { address: \"1.2.0.1\" }"), "stations:1:1: name: missing\n");
  EXPECT_EQ(problems_of("station { name: \"x\" }"), "stations:1:1: address: missing\n");
  const auto name = [](const std::string& text) {
    return "stations:1:11: name: \"" + text +
           "\" is no name: it has up to 32 letters, digits, '-' and '_', and at least one letter\n";
  };
  for (const std::string bad : {"1.2.0.9", "12", "two words", "-x", "a=b"}) {
    EXPECT_EQ(problems_of("station { name: \"" + bad + "\" address: \"1.2.0.1\" }"), name(bad));
  }
  EXPECT_EQ(problems_of("station { name: \"" + std::string(32, 'x') + "\" address: \"1.2.0.1\" }"),
            "");
  EXPECT_EQ(problems_of("station { name: \"" + std::string(33, 'x') + "\" address: \"1.2.0.1\" }"),
            name(std::string(33, 'x')));
  EXPECT_EQ(problems_of("station { name: \"x\" call_sign: \"D?\" address: \"1.2.0.1\" }"),
            "stations:1:21: call_sign: \"D?\" is no call sign: it has 3 to 16 letters, digits and "
            "'/', and at least one letter\n");
  EXPECT_EQ(problems_of("station { name: \"x\" address: \"16.0.0.1\" }"),
            "stations:1:21: address: \"16.0.0.1\" is a group; the address of a station goes up to "
            "15.255.255.255\n");
}

TEST(AddressBook, a_mistyped_row_is_no_configuration_of_the_mail_gateway) {
  EXPECT_NE(problems_of("stations { name: \"x\" address: \"1.2.0.1\" }")
                .find("stations:1:1: stations: unknown field; did you mean station?"),
            std::string::npos);
  EXPECT_NE(problems_of("spool_directory: \"x\"").find("this is a configuration of s5066-relay"),
            std::string::npos);
}

TEST(AddressBook, a_thousand_stations_are_the_limit) {
  std::string text;
  for (int i = 1; i <= 1000; ++i) {
    text += "station { name: \"s" + std::to_string(i) + "\" address: \"1.2." +
            std::to_string(i / 256) + "." + std::to_string(i % 256) + "\" }\n";
  }
  EXPECT_EQ(problems_of(text), "");
  EXPECT_EQ(problems_of(text + "station { name: \"x\" address: \"1.9.0.1\" }"),
            "stations:1001:1: station: is one of 1001 entries, above the limit 1000\n");
}

TEST(AddressBook, the_file_stations_beside_a_configuration_is_its_book) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "shore.textproto";
  write(path, node("shore"));
  EXPECT_FALSE(load_node(path).value);
  write(folder / "stations", kBook);
  const auto found = load_node(path);
  ASSERT_TRUE(found.value) << all_lines(found.problems);
  EXPECT_EQ(to_string(found.value->node.dts.address), "1.2.0.1");

  write(folder / "other", "station { name: \"shore\" address: \"1.2.0.9\" }");
  write(path, node("shore", "address_book: \"" + folder / "other" + "\""));
  EXPECT_EQ(to_string(load_node(path).value->node.dts.address), "1.2.0.9");

  write(path, node("shore", "address_book: \"" + folder / "none" + "\""));
  EXPECT_EQ(all_lines(load_node(path).problems),
            folder / "none" + ": cannot be read: No such file or directory\n");

  write(folder / "other", "station { name: \"shore\" }");
  write(path, node("shore", "address_book: \"" + folder / "other" + "\""));
  EXPECT_EQ(all_lines(load_node(path).problems), folder / "other" + ":1:1: address: missing\n");
}

TEST(AddressBook, a_name_of_the_book_is_a_setting_that_changes_with_the_book) {
  const auto before = parse_node("f", node("shore"), book());
  const auto after =
      parse_node("f", node("shore"),
                 AddressBook({{.name = "shore", .call_sign = {}, .address = Address{0x01020009}}}));
  ASSERT_TRUE(before.value && after.value);
  EXPECT_NE(before.value->source, after.value->source);
}

TEST(AddressBook, a_request_of_an_operator_takes_names) {
  const auto request = parse_control_request("break DL0XYZ/MM", book());
  ASSERT_TRUE(request);
  EXPECT_EQ(to_string(std::get<BreakAsked>(*request).peer), "1.2.0.2");
  const auto queue = parse_control_request("queue to=fleet", book());
  ASSERT_TRUE(queue);
  EXPECT_EQ(to_string(*std::get<QueueAsked>(*queue).filter.destination), "16.1.0.0");
  const auto unknown = parse_control_request("mode shipp-7 110a-600-long", book());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::not_found);
  EXPECT_EQ(unknown.error().detail,
            "no station in the address book is called shipp-7; did you mean ship-7?");
}

TEST(AddressBook, answers_show_names_beside_addresses) {
  proto::Status status;
  status.set_address("1.2.0.1");
  status.add_links()->set_peer("1.2.0.2");
  status.add_links()->set_peer("1.2.0.77");
  control::add_names(status, book());
  EXPECT_EQ(status.address_name(), "shore");
  EXPECT_EQ(status.links(0).peer_name(), "ship-7");
  EXPECT_EQ(status.links(1).peer_name(), "");
}

struct Lines final : LogSink {
  void write(LogLevel, std::string_view line) override { last = line; }
  std::string last;
};

TEST(AddressBook, log_lines_show_the_name_behind_the_address) {
  Lines log;
  {
    LogLine line(log, LogLevel::info, "x");
    put_station(line, "peer", Address{0x01020002}, book());
  }
  EXPECT_EQ(log.last, "x peer=1.2.0.2 peer_name=ship-7");
  {
    LogLine line(log, LogLevel::info, "x");
    put_station(line, "peer", Address{0x01020003}, book());
  }
  EXPECT_EQ(log.last, "x peer=1.2.0.3");
}

}  // namespace
}  // namespace s5066::config
