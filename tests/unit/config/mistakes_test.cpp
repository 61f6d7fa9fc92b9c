// SPDX-License-Identifier: Apache-2.0
// Mistakes that people make in configurations. Each is found before the start and at the start, at
// its place, by a message with the bad value and the cure.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "config/load.h"
#include "s5066d/posix/socket.h"
#include "tests/support/certificates.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/config/problem_lines.h"

namespace s5066::config {
namespace {

enum class Program { node, relay, mail, ip };

struct Mistake {
  const char* what;
  Program program;
  std::string text;   // on line 2; the good rest is line 1; FOLDER/ is the folder of the test
  std::string place;  // "line:column"
  std::string value;
  std::string cure;
};

const std::string kNode =
    R"(address: "1.2.3.4" modem { mode: "110a-2400-short" cable { socket: "FOLDER/cable" } })";
const std::string kRelay = R"(spool_directory: "FOLDER/spool" inbox_directory: "FOLDER/inbox")";
const std::string kMail = R"(spool_directory: "FOLDER/spool" node_id: "10.1.1.1")";

std::string good_rest(Program program) {
  switch (program) {
    case Program::node:
      return kNode;
    case Program::relay:
      return kRelay;
    case Program::mail:
      return kMail;
    case Program::ip:
      return "";
  }
  return "";
}

class ConfigMistakes : public testing::Test {
 protected:
  ConfigMistakes()
      : authority_(folder_.path().string(), "authority"),
        ours_(authority_.issue("ours")),
        theirs_(authority_.issue("theirs")) {
    folder_.make("spool");
    folder_.make("inbox");
    std::ofstream(folder_ / "plain") << "text\n";
  }

  std::string filled(std::string text) const {
    const auto put = [&text](const std::string& mark, const std::string& value) {
      for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
        text.replace(at, mark.size(), value);
      }
    };
    put("OUR_CERTIFICATE", ours_.certificate);
    put("OUR_KEY", ours_.key);
    put("THEIR_KEY", theirs_.key);
    put("AUTHORITY", authority_.file());
    put("FOLDER", folder_.path().string());
    return text;
  }

  std::string problems(Program program, const std::string& text, Scope scope) const {
    switch (program) {
      case Program::node:
        return all_lines(parse_node("f", text, {}, scope).problems);
      case Program::relay:
        return all_lines(parse_relay("f", text, {}, scope).problems);
      case Program::mail:
        return all_lines(parse_mail("f", text, {}, scope).problems);
      case Program::ip:
        return all_lines(parse_ip("f", text, {}, scope).problems);
    }
    return "";
  }

  /// Returns the line that begins with the place, or an empty text.
  static std::string line_at(const std::string& lines, const std::string& place) {
    const std::string begin = "f:" + place + ": ";
    const auto at = lines.find(begin);
    return at == std::string::npos ? "" : lines.substr(at, lines.find('\n', at) - at);
  }

  void expect_found(const Mistake& mistake) const {
    const std::string text = filled(good_rest(mistake.program) + "\n" + mistake.text + "\n");
    for (const Scope scope : {Scope::before_start, Scope::start}) {
      const std::string lines = problems(mistake.program, text, scope);
      const std::string line = line_at(lines, mistake.place);
      EXPECT_NE(line, "") << mistake.what << " is not found at " << mistake.place << ":\n" << lines;
      EXPECT_NE(line.find(filled(mistake.value)), std::string::npos)
          << mistake.what << ": no value " << filled(mistake.value) << " in\n"
          << lines;
      EXPECT_NE(line.find(filled(mistake.cure)), std::string::npos)
          << mistake.what << ": no cure " << filled(mistake.cure) << " in\n"
          << lines;
    }
  }

  test::TemporaryFolder folder_;
  test::Authority authority_;
  test::CertificateFiles ours_;
  test::CertificateFiles theirs_;
};

/// The whole text is the mistake; the good rest is not in front of it.
struct WrongFile {
  const char* what;
  std::string text;
  std::string line;
};

TEST_F(ConfigMistakes, are_found_in_the_text_with_place_value_and_cure) {
  for (const Mistake& mistake : std::vector<Mistake>{
           {"a mistyped field", Program::node, "sis { listne: \"::1\" }", "2:7", "listne",
            "did you mean listen?"},
           {"a field in the wrong section", Program::node, "sis { rate_change: true }", "2:7",
            "rate_change", "belongs in `data_transfer`"},
           {"a field of another section at the top", Program::node, "turnaround_ms: 90", "2:1",
            "turnaround_ms", "belongs in `data_transfer`"},
           {"a mistyped level", Program::node, "log_level: INFOO", "2:12", "INFOO",
            "did you mean INFO?"},
           {"an unknown acknowledgement", Program::relay, "acknowledgement: MAYBE", "2:18", "MAYBE",
            "it can be NONE, FRAP, FRAP_V2"},
           {"a field that is given twice", Program::node, "address: \"1.1.1.1\"", "2:1", "address",
            "remove one of them"},
           {"a missing colon", Program::node, "sis { port 5066 }", "2:12", "5066", "port: 5066"},
           {"an address without quotes", Program::node, "sis { listen: 127.0.0.1 }", "2:15",
            "127.0", "must be in quotes"},
           {"a number in quotes", Program::node, "sis { port: \"5066\" }", "2:13", "\"5066\"",
            "without quotes"},
           {"a switch that is neither on nor off", Program::node,
            "subnet_access { broadcast_only: maybe }", "2:33", "maybe", "neither true nor false"},
           {"a number above its limit", Program::node, "sis { clients_max: 17 }", "2:7", "17",
            "its limit 16"},
           {"a host name for an address", Program::node, "sis { listen: \"localhost\" }", "2:7",
            "\"localhost\"", "is not an IP address"},
           {"a group where a station is needed", Program::node,
            "channel_access { linked_externally: \"16.0.0.1\" }", "2:18", "\"16.0.0.1\"",
            "goes up to 15.255.255.255"},
           {"a network with bits behind its prefix", Program::node,
            "sis { allow { address: \"192.0.2.1/24\" } }", "2:15", "\"192.0.2.1/24\"",
            "prefix of 24"},
           {"clients of the network without a list", Program::node, "sis { listen: \"0.0.0.0\" }",
            "2:7", "\"0.0.0.0\"", "needs `allow`"},
           {"adaptation without rate changes", Program::node,
            "data_transfer { rate_change: false adaptation { enabled: true } }", "2:49", "true",
            "needs rate_change: true"},
           {"limits the wrong way round", Program::relay, "retry_delay_min_s: 3601", "2:1", "3601",
            "lower it or raise retry_delay_max_s"},
           {"a route to an unknown station", Program::mail,
            "stations { name: \"ship\" node_id: \"10.1.1.2\" address: \"1.2.0.2\" }"
            " routes { pattern: \"ship.example\" stations: \"shp\" }",
            "2:99", "\"shp\"", "did you mean ship?"},
           {"a mail server that is ourselves", Program::mail, "mail_server { port: 2525 }", "2:15",
            "2525", "give that of the mail server"},
           {"a route that is given twice", Program::ip,
            "routes { prefix: \"10.2.0.0/16\" station: \"1.2.3.4\" }"
            " routes { prefix: \"10.2.0.0/16\" station: \"1.2.3.5\" }",
            "2:62", "\"10.2.0.0/16\"", "each needs its own"},
       }) {
    expect_found(mistake);
  }
}

TEST_F(ConfigMistakes, are_found_on_the_machine_with_place_value_and_cure) {
  for (const Mistake& mistake : std::vector<Mistake>{
           {"a file in place of a folder", Program::relay, "backup { directory: \"FOLDER/plain\" }",
            "2:10", "\"FOLDER/plain\"", "is not a folder; name one"},
           {"copies in the spool itself", Program::relay,
            "backup { directory: \"FOLDER/spool/.\" }", "2:10", "\"FOLDER/spool/.\"",
            "give each a folder of its own"},
           {"a socket where a file is", Program::node, "control { socket: \"FOLDER/plain\" }",
            "2:11", "\"FOLDER/plain\"", "remove it or name another path"},
           {"two sockets with one path", Program::node,
            "control { socket: \"FOLDER/c\" }\nsis { local { socket: \"FOLDER//c\" } }", "3:15",
            "\"FOLDER//c\"", "give each socket a path of its own"},
           {"our control socket for the server's", Program::relay,
            "control { socket: \"FOLDER/c\" }\nnode_control { socket: \"FOLDER/c\" }", "3:16",
            "\"FOLDER/c\"", "name the socket of the other program"},
           {"one port for the server and for mail", Program::mail,
            "sis { port: 2525 }\nsmtp { port: 2525 }", "3:8", "2525", "give each its own"},
           {"no certificate", Program::mail,
            "smtp { tls { certificate_file: \"FOLDER/none\" key_file: \"OUR_KEY\" } }", "2:14",
            "\"FOLDER/none\"", "does not exist"},
           {"a certificate that is none", Program::mail,
            "smtp { tls { certificate_file: \"FOLDER/plain\" key_file: \"OUR_KEY\" } }", "2:14",
            "\"FOLDER/plain\"", "BEGIN CERTIFICATE"},
           {"a key of another certificate", Program::mail,
            "smtp { tls { key_file: \"THEIR_KEY\" certificate_file: \"OUR_CERTIFICATE\" } }",
            "2:14", "\"THEIR_KEY\"", "give the key with which it was requested"},
           {"a certificate for a key", Program::mail,
            "smtp { tls { key_file: \"OUR_CERTIFICATE\" certificate_file: \"OUR_CERTIFICATE\" } }",
            "2:14", "\"OUR_CERTIFICATE\"", "BEGIN PRIVATE KEY"},
           {"a key for the authorities", Program::mail,
            "mail_server { tls { ca_file: \"OUR_KEY\" } }", "2:21", "\"OUR_KEY\"",
            "BEGIN CERTIFICATE"},
           {"a capture into a folder", Program::node, "capture { file: \"FOLDER/spool\" }", "2:11",
            "\"FOLDER/spool\"", "name a file in it"},
           {"loopback as the interface", Program::ip, "interface { name: \"lo\" }", "2:13", "lo",
            "choose another name"},
       }) {
    expect_found(mistake);
  }
}

TEST_F(ConfigMistakes, files_of_another_kind_get_one_helpful_line) {
  const std::string form = "; a configuration has lines like `address: \"1.2.3.4\"`\n";
  for (const WrongFile& wrong : std::vector<WrongFile>{
           {"JSON", "{\n  \"address\": \"1.2.3.4\"\n}",
            "f:1:1: this is JSON: remove the outer braces, the commas and the quotes around names" +
                form},
           {"XML", "<?xml version=\"1.0\"?>", "f:1:1: this is XML" + form},
           {"a key", "-----BEGIN PRIVATE KEY-----\nMC4=",
            "f:1:1: this is a certificate or key in PEM form" + form},
           {"a unit", "# s5066d\n[Unit]\nDescription=x", "f:1:1: this is a unit of systemd" + form},
           {"an INI file", "[modem]\nmode=x", "f:1:1: this is an INI file, TOML or JSON" + form},
           {"shell variables", "OPTIONS='--listen ::1'",
            "f:1:1: this is a file of shell variables, as hfmodem@.service reads" + form},
           {"a database", std::string("SQLite format 3\0", 16),
            "f:1:1: this is a database, such as a spool, not a configuration; give the "
            ".textproto\n"},
           {"a binary file", std::string("a: 1\nb\0c", 8),
            "f:2:2: a zero octet: this is a binary file, not a configuration; give the "
            ".textproto\n"},
           {"typographic quotes",
            "address: \xE2\x80\x9C"
            "1.2.3.4\xE2\x80\x9D\n",
            "f:1:10: U+201C is a typographic quotation mark; type a plain one, \"; 1 more of that "
            "kind follow\n"},
           {"a space that does not break", "address:\xC2\xA0\"1.2.3.4\"",
            "f:1:9: U+00A0 is a space that does not break; type a plain space\n"},
           {"a relay's configuration", kRelay,
            "f:1:1: spool_directory: this is a configuration of s5066-relay, not of s5066d; give "
            "it to s5066-relay\n"},
       }) {
    EXPECT_EQ(all_lines(parse_node("f", wrong.text).problems), wrong.line) << wrong.what;
  }
  EXPECT_EQ(all_lines(parse_relay("f", kNode).problems),
            "f:1:1: address: this is a configuration of s5066d, not of s5066-relay; give it to "
            "s5066d\n");
}

TEST_F(ConfigMistakes, typographic_characters_in_comments_and_texts_do_no_harm) {
  EXPECT_EQ(
      all_lines(parse_node("f", filled(kNode + "\n# \xE2\x80\x9Cquoted\xE2\x80\x9D \xE2\x80\x93\n"
                                               "modem { sound_card { input: \"\xE2\x80\x9C\" } }"))
                    .problems)
          .find("U+"),
      std::string::npos);
}

TEST_F(ConfigMistakes, a_good_configuration_has_none_on_this_machine) {
  for (const Scope scope : {Scope::before_start, Scope::start}) {
    EXPECT_EQ(problems(Program::node,
                       filled(kNode + "\ncontrol { socket: \"FOLDER/c\" } capture { file: "
                                      "\"FOLDER/x.pcap\" } sis { port: 0 tls { certificate_file: "
                                      "\"OUR_CERTIFICATE\" key_file: \"OUR_KEY\" ca_file: "
                                      "\"AUTHORITY\" } }"),
                       scope),
              "");
    EXPECT_EQ(
        problems(Program::relay, filled(kRelay + "control { socket: \"FOLDER/spool/c\" }"), scope),
        "");
  }
}

// A disk may come late, and a start that fails is tried again, unlike one with a bad configuration.
TEST_F(ConfigMistakes, a_folder_that_does_not_exist_is_left_to_the_start) {
  const std::string backup = filled(kRelay + "\nbackup { directory: \"FOLDER/none\" }");
  EXPECT_NE(problems(Program::relay, backup, Scope::before_start).find("mkdir -p"),
            std::string::npos);
  const auto relay = parse_relay("f", backup, {}, Scope::start);
  EXPECT_EQ(all_lines(relay.problems), "");
  EXPECT_NE(all_lines(relay.warnings).find("mkdir -p"), std::string::npos);
  const std::string control = filled(kNode + "\ncontrol { socket: \"FOLDER/none/c\" }");
  EXPECT_NE(problems(Program::node, control, Scope::before_start).find("mkdir -p"),
            std::string::npos);
  EXPECT_EQ(problems(Program::node, control, Scope::start), "");
}

TEST_F(ConfigMistakes, a_folder_of_another_user_names_both_users) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  ASSERT_EQ(::seteuid(65534), 0);
  const std::string lines = problems(Program::relay, filled(kRelay), Scope::start);
  const std::string before = problems(Program::relay, filled(kRelay), Scope::before_start);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(before.find("chown"), std::string::npos) << "another user than the service may check";
  EXPECT_EQ(line_at(lines, "1:1"),
            filled("f:1:1: spool_directory: \"FOLDER/spool\" belongs to root and cannot be written "
                   "by nobody; run this as root, or: chown nobody FOLDER/spool"));
}

// A unit makes the folders of its station when it starts, and no others.
TEST_F(ConfigMistakes, a_folder_that_the_unit_makes_may_be_missing_before_the_start) {
  const std::string text =
      "spool_directory: \"/var/lib/s5066/none-such/spool\" inbox_directory: \"FOLDER/inbox\"";
  const auto before = parse_relay("f", filled(text), {}, Scope::before_start);
  EXPECT_EQ(all_lines(before.problems), "");
  EXPECT_NE(all_lines(before.warnings).find("the systemd unit makes that"), std::string::npos);
  const auto start = parse_relay("f", filled(text), {}, Scope::start);
  EXPECT_NE(all_lines(start.warnings).find("mkdir -p"), std::string::npos);
  for (const auto& [folder, made] :
       {std::pair("/run/s5066/none-such", true), std::pair("/run/s5066-none-such", false),
        std::pair("/run/s5066/none-such/deeper", false)}) {
    const std::string socket = std::string("\ncontrol { socket: \"") + folder + "/c\" }";
    const auto node = parse_node("f", filled(kNode + socket), {}, Scope::before_start);
    EXPECT_EQ(all_lines(node.problems).empty(), made) << folder;
    EXPECT_EQ(all_lines(node.warnings).find("the systemd unit makes that") != std::string::npos,
              made)
        << folder;
  }
  const std::string other =
      "spool_directory: \"/var/lib/s5066/none-such/spol\" inbox_directory: \"FOLDER/inbox\"";
  EXPECT_NE(problems(Program::relay, filled(other), Scope::before_start).find("mkdir -p"),
            std::string::npos);
}

TEST_F(ConfigMistakes, what_is_in_use_is_a_warning_because_the_service_itself_may_have_it) {
  const auto socket = posix::listen_unix(folder_ / "c", 1, posix::LocalAccess::owner);
  ASSERT_TRUE(socket) << socket.error().detail;
  const auto listener = posix::listen_tcp("127.0.0.1", 0, 1);
  ASSERT_TRUE(listener);
  const std::string port = std::to_string(*posix::local_port(listener->get()));
  const auto loaded = parse_node(
      "f", filled(kNode + "\ncontrol { socket: \"FOLDER/c\" }\nsis { port: " + port + " }"), {},
      Scope::before_start);
  EXPECT_EQ(all_lines(loaded.problems), "");
  EXPECT_EQ(all_lines(loaded.warnings),
            filled("f:2:11: warning: socket: \"FOLDER/c\" is in use; that is right only while this "
                   "service itself runs\nf:3:7: warning: port: " +
                   port +
                   " on 127.0.0.1 is in use; that is right only while this service itself runs\n"));
}

TEST_F(ConfigMistakes, an_address_of_another_machine_is_found_before_the_start) {
  const std::string lines =
      problems(Program::node,
               filled(kNode + "\nsis { listen: \"192.0.2.99\" allow { address: \"192.0.2.1\" saps: "
                              "3 } }"),
               Scope::before_start);
  EXPECT_NE(line_at(lines, "2:7").find("192.0.2.99 is not an address of this machine"),
            std::string::npos)
      << lines;
}

TEST_F(ConfigMistakes, a_long_value_is_cut_off) {
  const std::string lines =
      problems(Program::node, filled(kNode + "\nsis { listen: \"" + std::string(250, 'x') + "\" }"),
               Scope::text);
  EXPECT_NE(lines.find("x... is not an IP address"), std::string::npos) << lines;
  EXPECT_EQ(lines.find(std::string(101, 'x')), std::string::npos) << lines;
}

}  // namespace
}  // namespace s5066::config
