// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_server_core.h"

#include <gtest/gtest.h>

namespace s5066::acp142 {
namespace {

using std::chrono::seconds;

class SmtpServer : public testing::Test {
 protected:
  SmtpServer() {
    static_cast<void>(table.add({"far.example", {.own = false, .stations = {{2}}}}));
    config.hostname = "gw";
    config.message_octets_max = 10000;
  }
  /// Starts a new session and sends the greeting.
  void greet(const char* hello = "EHLO me\r\n") {
    core.emplace(config, table, room, counters);
    core->on_connected(now);
    say(hello);
  }
  /// Sends the text and returns all replies.
  std::string say(std::string_view text) {
    core->on_bytes(now, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    return drain();
  }
  std::string drain() {
    std::string said;
    while (auto action = core->poll_action()) {
      if (auto* send = std::get_if<SmtpServerCore::Send>(&*action)) said += send->text;
      if (auto* commit = std::get_if<SmtpServerCore::Commit>(&*action)) commits.push_back(*commit);
      if (std::holds_alternative<SmtpServerCore::StartTls>(*action)) said += "(handshake)";
      if (std::holds_alternative<SmtpServerCore::Close>(*action)) closed = true;
    }
    return said;
  }
  std::string commit(CommitOutcome outcome = CommitOutcome::committed) {
    core->on_committed(now, outcome);
    return drain();
  }
  std::string content(std::size_t i = 0) const {
    return {commits.at(i).mail.content.begin(), commits.at(i).mail.content.end()};
  }
  void begin() {
    greet();
    say("MAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\n");
  }

  SmtpServerCore::Config config;
  AddressTable table;
  IntakeRoom room;
  CounterSet<SmtpCounter> counters;
  Instant now{};
  std::optional<SmtpServerCore> core;
  std::vector<SmtpServerCore::Commit> commits;
  bool closed = false;
};

// PM-105, PM-113
TEST_F(SmtpServer, a_message_is_answered_with_250_only_after_the_spool_has_it) {
  greet();
  EXPECT_EQ(say("MAIL FROM:<a@b> BODY=8BITMIME RET=HDRS\r\n"), "250 2.1.0 Sender accepted\r\n");
  EXPECT_EQ(say("RCPT TO:<x@far.example> NOTIFY=NEVER\r\n"), "250 2.1.5 Recipient accepted\r\n");
  EXPECT_EQ(say("DATA\r\n").substr(0, 4), "354 ");
  EXPECT_EQ(say("S: x\r\n\r\n..dot\r\n.\r\n"), "");
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(content(), "S: x\r\n\r\n.dot\r\n");
  EXPECT_EQ(to_string(commits[0].mail.envelope.from), "<a@b> BODY=8BITMIME RET=HDRS");
  EXPECT_EQ(to_string(commits[0].mail.envelope.recipients[0]), "<x@far.example> NOTIFY=NEVER");
  EXPECT_EQ(commits[0].client, "me");
  EXPECT_FALSE(core->reading());
  EXPECT_EQ(commit(), "250 2.0.0 Accepted\r\n");
  EXPECT_TRUE(core->reading());
  EXPECT_EQ(counters[SmtpCounter::messages], 1u);
  EXPECT_EQ(room.octets, 0u);
}

// PM-113
TEST_F(SmtpServer, everything_may_come_in_one_piece_or_octet_by_octet) {
  const std::string all =
      "EHLO me\r\nMAIL FROM:<>\r\nRCPT TO:<x@far.example>\r\nRCPT TO:<y@far.example>\r\nDATA\r\n"
      "A: b\r\n\r\nhi\r\n.\r\nMAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\nBDAT 3\r\n.\r\n"
      "BDAT 4 LAST\r\nab\r\nQUIT\r\n";
  greet("");
  std::string whole = say(all);
  whole += commit();
  whole += commit();
  EXPECT_TRUE(closed);
  ASSERT_EQ(commits.size(), 2u);
  EXPECT_EQ(content(0), "A: b\r\n\r\nhi\r\n");
  EXPECT_EQ(content(1), ".\r\nab\r\n");
  commits.clear();
  greet("");
  std::string pieces;
  for (const char c : all) {
    pieces += say({&c, 1});
    if (!core->reading()) pieces += commit();
  }
  EXPECT_EQ(pieces, whole);
  EXPECT_EQ(commits.size(), 2u);
}

// PM-110, PM-113
TEST_F(SmtpServer, offers_what_a_mule_gateway_must_offer) {  // RFC 8494 6.2
  greet("");
  const std::string hello = say("EHLO me\r\n");
  for (const char* keyword : {"PIPELINING", "SIZE 10000", "8BITMIME", "BINARYMIME", "CHUNKING",
                              "DSN", "MT-PRIORITY", "DELIVERBY", "ENHANCEDSTATUSCODES"}) {
    EXPECT_NE(hello.find(keyword), hello.npos) << keyword;
  }
}

TEST_F(SmtpServer, a_full_spool_is_a_temporary_refusal) {
  begin();
  say("DATA\r\n\r\n.\r\n");
  EXPECT_EQ(commit(CommitOutcome::full).substr(0, 9), "452 4.3.1");
  EXPECT_EQ(counters[SmtpCounter::no_room], 1u);
  say("MAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\nDATA\r\n\r\n.\r\n");
  EXPECT_EQ(commit(CommitOutcome::failed).substr(0, 9), "451 4.3.0");
}

TEST_F(SmtpServer, a_line_feed_or_carriage_return_alone_ends_the_session) {
  for (const char* text : {"NOOP\n", "NO\rOP\r\n", "DATA\r\na\nb\r\n.\r\n", "DATA\r\na\r\n.\n",
                           "DATA\r\na\n.\r\n", "DATA\r\na\rb\r\n", "DATA\r\na\r\r\n"}) {
    begin();
    closed = false;
    const std::string said = say(text);
    EXPECT_NE(said.find("521 5.5.2"), said.npos) << text;
    EXPECT_TRUE(closed);
    EXPECT_TRUE(commits.empty());
    EXPECT_EQ(say("NOOP\r\n"), "");
  }
  EXPECT_EQ(counters[SmtpCounter::bare_line_ends], 7u);
}

TEST_F(SmtpServer, what_an_end_of_data_could_smuggle_in_by_chunks_is_refused) {
  begin();
  EXPECT_EQ(say("BDAT 7 LAST\r\na\n.\nb\r\n").substr(0, 9), "554 5.6.0");
  say("MAIL FROM:<a@b> BODY=BINARYMIME\r\nRCPT TO:<x@far.example>\r\n");
  EXPECT_EQ(say("DATA\r\n").substr(0, 3), "503");
  say("BDAT 7 LAST\r\na\n.\nb\r\n");
  EXPECT_EQ(commits.size(), 1u);
}

TEST_F(SmtpServer, recipients_without_a_station_are_refused_one_by_one) {
  greet();
  say("MAIL FROM:<a@b>\r\n");
  EXPECT_EQ(say("RCPT TO:<x@elsewhere>\r\n").substr(0, 9), "550 5.1.2");
  EXPECT_EQ(say("DATA\r\n").substr(0, 9), "554 5.5.1");
  EXPECT_EQ(say("RCPT TO:<Postmaster>\r\n").substr(0, 3), "250");
}

TEST_F(SmtpServer, commands_out_of_order_are_refused) {
  greet("");
  EXPECT_EQ(say("MAIL FROM:<a@b>\r\n").substr(0, 3), "503");
  EXPECT_EQ(say("LHLO me\r\n").substr(0, 3), "500");
  say("EHLO me\r\n");
  EXPECT_EQ(say("RCPT TO:<x@far.example>\r\n").substr(0, 3), "503");
  EXPECT_EQ(say("DATA\r\n").substr(0, 3), "503");
  EXPECT_EQ(say("BDAT 2\r\nxy").substr(0, 3), "503");
  EXPECT_EQ(say("BDAT 2 LAST\r\nxyNOOP\r\n"),
            "503 5.5.1 BDAT needs MAIL and RCPT before it\r\n250 2.0.0 OK\r\n");
  say("MAIL FROM:<a@b>\r\n");
  EXPECT_EQ(say("MAIL FROM:<a@b>\r\n").substr(0, 3), "503");
  say("RCPT TO:<x@far.example>\r\nBDAT 1\r\na");
  EXPECT_EQ(say("DATA\r\n").substr(0, 3), "503");
}

// PM-110
TEST_F(SmtpServer, parameters_nobody_knows_are_refused) {
  greet();
  EXPECT_EQ(say("MAIL FROM:<a@b> SMTPUTF8\r\n").substr(0, 3), "555");
  EXPECT_EQ(say("MAIL FROM:<a@b> BODY=9BIT\r\n").substr(0, 3), "555");
  say("MAIL FROM:<a@b>\r\n");
  EXPECT_EQ(say("RCPT TO:<x@far.example> NOTIFY=NEVER,DELAY\r\n").substr(0, 3), "555");
}

TEST_F(SmtpServer, takes_the_largest_message_and_not_one_octet_more) {
  const auto send = [&](std::size_t octets) {
    begin();
    std::string text = "DATA\r\n";
    for (std::size_t left = octets; left > 0;) {
      const std::size_t line = std::min<std::size_t>(left, 100);
      text += std::string(line - 2, 'x') + "\r\n";
      left -= line;
    }
    return say(text + ".\r\n");
  };
  EXPECT_EQ(send(10000).substr(0, 3), "354");
  EXPECT_EQ(commits.size(), 1u);
  EXPECT_NE(send(10010).find("552 5.3.4"), std::string::npos);
  EXPECT_EQ(commits.size(), 1u);
  greet();
  EXPECT_EQ(say("MAIL FROM:<a@b> SIZE=10001\r\n").substr(0, 9), "552 5.3.4");
  EXPECT_EQ(say("MAIL FROM:<a@b> SIZE=10000\r\n").substr(0, 3), "250");
}

TEST_F(SmtpServer, all_sessions_share_the_room_for_content) {
  room.octets_max = 10000;
  room.octets = 4000;
  begin();
  EXPECT_EQ(say("BDAT 6001 LAST\r\n" + std::string(6001, 'x')).substr(0, 9), "452 4.3.1");
  EXPECT_EQ(room.octets, 4000u);
  begin();
  say("BDAT 6000\r\n" + std::string(6000, 'x'));
  EXPECT_EQ(room.octets, 10000u);
  core.reset();
  EXPECT_EQ(room.octets, 4000u);
}

TEST_F(SmtpServer, the_longest_lines_are_taken_and_longer_ones_are_not) {
  begin();
  say("DATA\r\n" + std::string(998, 'x') + "\r\n." + "." + std::string(997, 'x') + "\r\n.\r\n");
  EXPECT_EQ(commits.size(), 1u);
  commit();
  say("MAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\n");
  EXPECT_NE(say("DATA\r\n" + std::string(999, 'x') + "\r\n.\r\n").find("554 5.6.0"),
            std::string::npos);
  say("MAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\n");
  EXPECT_NE(say("DATA\r\n" + std::string(100000, 'x') + "\r\n.\r\n").find("554 5.6.0"),
            std::string::npos);
  EXPECT_EQ(say("NOOP " + std::string(2041, 'x') + "\r\n").substr(0, 3), "250");
  EXPECT_EQ(say("NOOP " + std::string(2042, 'x') + "\r\n").substr(0, 3), "500");
  EXPECT_TRUE(closed);
}

TEST_F(SmtpServer, takes_the_most_recipients_and_says_452_to_one_more) {
  config.recipients_max = 100;
  greet();
  say("MAIL FROM:<a@b>\r\n");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(say("RCPT TO:<x@far.example>\r\n").substr(0, 3), "250");
  EXPECT_EQ(say("RCPT TO:<x@far.example>\r\n").substr(0, 9), "452 4.5.3");
}

TEST_F(SmtpServer, errors_and_idle_commands_have_an_end) {
  greet();
  for (std::size_t i = 0; i < config.errors_max; ++i) say("WHAT\r\n");
  EXPECT_FALSE(closed);
  EXPECT_EQ(say("WHAT\r\n").substr(0, 3), "421");
  EXPECT_TRUE(closed);
  closed = false;
  greet();
  for (std::size_t i = 1; i < config.commands_without_mail_max; ++i) say("NOOP\r\n");
  EXPECT_FALSE(closed);
  say("NOOP\r\n");
  EXPECT_TRUE(closed);
}

TEST_F(SmtpServer, a_trickle_of_octets_does_not_keep_a_session_open) {
  greet();
  const Instant end = now + config.idle_max;
  while (now < end) {
    EXPECT_EQ(core->next_deadline(), end);
    say("N");
    now += seconds(10);
  }
  core->on_deadline(now - Duration(1));
  EXPECT_FALSE(closed);
  core->on_deadline(now);
  EXPECT_EQ(drain().substr(0, 9), "421 4.4.2");
  EXPECT_TRUE(closed);
  EXPECT_EQ(counters[SmtpCounter::timeouts], 1u);
}

TEST_F(SmtpServer, content_that_comes_too_slowly_ends_the_session_and_a_slow_spool_does_not) {
  begin();
  say("DATA\r\n");
  const Instant begun = now;
  for (int i = 0; i < 1000; ++i) {
    now += seconds(1);
    if (i == 200) say(std::string(998, 'x') + "\r\n" + std::string(98, 'x') + "\r\n");
    if (i > 200 && i < 300) say("a\r\n");
    core->on_deadline(now);
    drain();
    if (closed) break;
  }
  EXPECT_EQ(now - begun, seconds(201) + config.idle_max);
  closed = false;
  begin();
  say("DATA\r\n\r\n.\r\n");
  EXPECT_FALSE(core->next_deadline());
}

// PM-115
TEST_F(SmtpServer, a_message_that_goes_in_circles_is_refused) {  // RFC 5321 6.3
  const auto send = [&](int fields) {
    begin();
    std::string text = "DATA\r\n";
    for (int i = 0; i < fields; ++i) text += "Received: x\r\n";
    return say(text + "\r\n.\r\n");
  };
  send(100);
  EXPECT_EQ(commits.size(), 1u);
  EXPECT_NE(send(101).find("554 5.4.6"), std::string::npos);
}

TEST_F(SmtpServer, lmtp_answers_for_each_recipient) {  // RFC 2033 4.2
  config.lmtp = true;
  greet("LHLO me\r\n");
  say("MAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\nRCPT TO:<no@where>\r\n"
      "RCPT TO:<y@far.example>\r\nDATA\r\n\r\n.\r\n");
  EXPECT_EQ(commit(), "250 2.0.0 Accepted\r\n250 2.0.0 Accepted\r\n");
  EXPECT_EQ(say("EHLO me\r\n").substr(0, 3), "500");
}

TEST_F(SmtpServer, octets_outside_ascii_and_sizes_that_are_none_are_refused) {
  begin();
  EXPECT_EQ(say("RCPT TO:<\xC3\xA9@far.example>\r\n").substr(0, 3), "500");
  EXPECT_EQ(say(std::string("NO\0P\r\n", 6)).substr(0, 3), "500");
  EXPECT_EQ(say("BDAT 99999999999999999999\r\n").substr(0, 3), "501");
  EXPECT_TRUE(closed);
}

// RFC 3207 4.2: the server forgets commands from before TLS, and does not offer STARTTLS again.
TEST_F(SmtpServer, begins_anew_inside_tls) {
  greet();
  EXPECT_EQ(say("STARTTLS\r\n").substr(0, 3), "502");
  config.starttls = true;
  core.emplace(config, table, room, counters);
  core->on_connected(now);
  drain();
  EXPECT_EQ(say("STARTTLS\r\n").substr(0, 3), "503");
  EXPECT_NE(say("EHLO me\r\n").find("250-STARTTLS\r\n"), std::string::npos);
  EXPECT_EQ(say("STARTTLS now\r\n").substr(0, 3), "501");
  say("MAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\n");
  EXPECT_EQ(say("STARTTLS\r\n"), "220 2.0.0 Ready to start TLS\r\n(handshake)");
  EXPECT_FALSE(core->reading());
  core->on_tls(now);
  EXPECT_TRUE(core->reading());
  EXPECT_EQ(say("DATA\r\n").substr(0, 3), "503");
  EXPECT_EQ(say("MAIL FROM:<a@b>\r\n").substr(0, 3), "503");
  EXPECT_EQ(say("EHLO me\r\n").find("STARTTLS"), std::string::npos);
  EXPECT_EQ(say("STARTTLS\r\n").substr(0, 3), "503");
  say("MAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\nDATA\r\n");
  say("S: 1\r\n\r\n.\r\n");
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_TRUE(commits[0].secure);
  EXPECT_EQ(counters[SmtpCounter::tls], 1u);
}

// An attacker in between could insert commands there, which would be obeyed as if they came from
// inside TLS.
TEST_F(SmtpServer, what_follows_starttls_in_the_clear_ends_the_session) {
  config.starttls = true;
  greet();
  EXPECT_EQ(say("STARTTLS\r\nMAIL FROM:<evil@x>\r\n").substr(0, 3), "503");
  EXPECT_TRUE(closed);
  closed = false;
  greet();
  say("STARTTLS\r\n");
  say("EHLO evil\r\nMAIL FROM:<evil@x>\r\n");  // before the handshake is over
  core->on_tls(now);
  EXPECT_EQ(say("RCPT TO:<x@far.example>\r\n").substr(0, 3), "503");
}

TEST_F(SmtpServer, takes_no_mail_in_the_clear_where_tls_is_required) {
  config.starttls = config.tls_required = true;
  greet();
  EXPECT_EQ(say("MAIL FROM:<a@b>\r\n").substr(0, 3), "530");
  say("STARTTLS\r\n");
  core->on_tls(now);
  say("EHLO me\r\n");
  EXPECT_EQ(say("MAIL FROM:<a@b>\r\n").substr(0, 3), "250");
}

TEST_F(SmtpServer, a_handshake_that_fails_or_takes_too_long_ends_the_session_without_a_word) {
  config.starttls = true;
  for (const bool late : {false, true}) {
    closed = false;
    greet();
    say("STARTTLS\r\n");
    if (late) {
      core->on_deadline(now + config.handshake_max - seconds(1));
      EXPECT_TRUE(drain().empty());
      EXPECT_FALSE(closed);
      core->on_deadline(now + config.handshake_max);
    } else {
      core->on_tls_failed();
    }
    EXPECT_TRUE(drain().empty());
    EXPECT_TRUE(closed);
  }
  EXPECT_EQ(counters[SmtpCounter::tls_failed], 2u);
}

// RFC 6710: the status code 2.3.6 says that the precedence is not what was asked for.
TEST_F(SmtpServer, a_sender_gets_no_higher_precedence_than_the_first_rule_that_fits_him_allows) {
  config.precedence = {{"chief@ops.example", 6}, {"ops.example", 2}, {"*.shore.example", -2}};
  config.mt_priority_max = 0;
  const auto said = [&](const std::string& from) {
    greet();
    const std::string answer = say("MAIL FROM:" + from + "\r\n");
    say("RCPT TO:<x@far.example>\r\nBDAT 0 LAST\r\n");
    return answer.substr(0, answer.find(' ', 10));
  };
  const auto kept = [&] { return mt_priority(commits.back().mail.envelope.from.parameters); };
  EXPECT_EQ(said("<Chief@OPS.example> MT-PRIORITY=6"), "250 2.1.0 Sender");
  EXPECT_EQ(kept(), 6);
  EXPECT_EQ(commits.back().mt_priority_max, 6);
  EXPECT_EQ(said("<chief@ops.example> MT-PRIORITY=7"), "250 2.3.6 6");
  EXPECT_EQ(kept(), 6);
  EXPECT_EQ(said("<clerk@ops.example> MT-PRIORITY=6"), "250 2.3.6 2");
  EXPECT_EQ(kept(), 2);
  EXPECT_EQ(said("<a@b.shore.example> MT-PRIORITY=-1"), "250 2.3.6 -2");
  EXPECT_EQ(kept(), -2);
  EXPECT_EQ(said("<a@b> MT-PRIORITY=1"), "250 2.3.6 0");
  EXPECT_EQ(kept(), 0);
  EXPECT_EQ(said("<>"), "250 2.1.0 Sender");
  EXPECT_EQ(counters[SmtpCounter::precedences_lowered], 4u);
  config = {};
  EXPECT_EQ(said("<a@b> MT-PRIORITY=9"), "250 2.1.0 Sender");
  EXPECT_EQ(kept(), 9);
}

}  // namespace
}  // namespace s5066::acp142
