// SPDX-License-Identifier: Apache-2.0
// Tests the two halves of HMTP alone: the dialogue of the client and the session of the server.
#include <gtest/gtest.h>

#include "gateways/acp142/peers/hmtp_dialogue.h"
#include "gateways/acp142/peers/hmtp_session.h"

namespace s5066::acp142 {
namespace {

using Kind = RecipientOutcome::Kind;
using std::chrono::seconds;

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

std::shared_ptr<const Mail> mail(std::vector<std::string> to, std::string_view content,
                                 const std::string& from = "a@ship1.hf") {
  auto made = std::make_shared<Mail>();
  made->envelope.from.address = from;
  for (std::string& one : to) made->envelope.recipients.push_back({std::move(one), {}});
  made->content = octets(content);
  return made;
}

/// The example of the reference, and what a server says to it.
const char* const kExample =
    "45 48 4C 4F 20 73 68 69 70 31 2E 68 66 0D 0A "
    "4D 41 49 4C 20 46 52 4F 4D 3A 3C 61 40 73 68 69 70 31 2E 68 66 3E 20 42 4F 44 59 3D 38 42 49 "
    "54 4D 49 4D 45 0D 0A "
    "52 43 50 54 20 54 4F 3A 3C 62 40 73 68 6F 72 65 2E 68 66 3E 0D 0A 44 41 54 41 0D 0A "
    "53 75 62 6A 65 63 74 3A 20 74 0D 0A 0D 0A 68 69 0D 0A 2E 0D 0A 51 55 49 54 0D 0A";
const char* const kReplies =
    "250-shore.hf\r\n250-PIPELINING\r\n250 8BITMIME\r\n250 ok\r\n250 ok\r\n354 go on\r\n"
    "250 2.0.0 kept\r\n221 bye\r\n";

// --- The client ----------------------------------------------------------------------------------

// F.5.2(2): the octets are the example of the reference, without BODY, which 7-bit mail needs not.
TEST(HmtpDialogueTest, all_is_sent_at_once_as_in_the_worked_example) {
  const HmtpDialogue dialogue("ship1.hf", {mail({"b@shore.hf"}, "Subject: t\r\n\r\nhi\r\n")},
                              false);
  std::string example;
  const auto octets = from_hex(kExample);
  ASSERT_TRUE(octets);
  for (const std::uint8_t octet : *octets) example.push_back(static_cast<char>(octet));
  const std::size_t body = example.find(" BODY=8BITMIME");
  EXPECT_EQ(dialogue.text(), example.substr(0, body) + example.substr(body + 14));
}

// F.5.2(4)
TEST(HmtpDialogueTest, mail_of_eight_bits_says_so_and_dots_are_stuffed) {
  const HmtpDialogue dialogue("h", {mail({"b@c"}, ".\xC3\xA4\r\n")}, false);
  EXPECT_NE(dialogue.text().find("> BODY=8BITMIME\r\n"), std::string::npos);
  EXPECT_NE(dialogue.text().find("DATA\r\n..\xC3\xA4\r\n.\r\nQUIT\r\n"), std::string::npos);
}

// F.5.2(3)
TEST(HmtpDialogueTest, replies_are_matched_in_order_however_they_are_cut) {
  for (const std::string greeting : {"", "220 shore.hf\r\n"}) {
    const std::string replies = greeting + kReplies;
    for (std::size_t cut = 0; cut <= replies.size(); ++cut) {
      HmtpDialogue dialogue("ship1.hf", {mail({"b@shore.hf"}, "hi\r\n")}, false);
      dialogue.on_octets(replies.substr(0, cut));
      dialogue.on_octets(replies.substr(cut));
      EXPECT_TRUE(dialogue.over());
      const auto ended = dialogue.poll_ended();
      ASSERT_TRUE(ended) << cut;
      EXPECT_EQ(ended->done.outcomes.at(0).kind, Kind::delivered);
    }
  }
}

// F.5.2(3)
TEST(HmtpDialogueTest, each_recipient_of_each_message_has_an_outcome_of_its_own) {
  HmtpDialogue dialogue(
      "h", {mail({"a@x", "b@x", "c@x"}, "1\r\n"), mail({"d@x"}, "2\r\n"), mail({"e@x"}, "3\r\n")},
      false);
  dialogue.on_octets(
      "250 h\r\n250 ok\r\n250 ok\r\n550 5.1.1 who\r\n452 later\r\n354 go\r\n250 kept\r\n"
      "250 ok\r\n550 5.1.1 who\r\n354 go\r\n554 none\r\n"
      "451 4.3.0 full\r\n503 no\r\n354 go\r\n554 none\r\n221 bye\r\n");
  EXPECT_TRUE(dialogue.over());
  EXPECT_TRUE(dialogue.open().empty());
  const auto first = dialogue.poll_ended()->done.outcomes;
  EXPECT_EQ(first.at(0).kind, Kind::delivered);
  EXPECT_EQ(first.at(1).status, "5.1.1");
  EXPECT_EQ(first.at(2).kind, Kind::deferred);
  EXPECT_EQ(dialogue.poll_ended()->done.outcomes.at(0).code, 550);
  EXPECT_EQ(dialogue.poll_ended()->done.outcomes.at(0).status, "4.3.0");
}

TEST(HmtpDialogueTest, a_server_without_ehlo_gets_helo_the_next_time) {
  HmtpDialogue dialogue("h", {mail({"a@x"}, "1\r\n")}, false);
  dialogue.on_octets("502 what\r\n503 first\r\n");
  EXPECT_TRUE(dialogue.over());
  EXPECT_TRUE(dialogue.wants_plain());
  EXPECT_EQ(dialogue.open().size(), 1u);
  HmtpDialogue plain("h", {mail({"a@x"}, "1\r\n")}, true);
  EXPECT_TRUE(plain.text().starts_with("HELO h\r\n"));
  plain.on_octets("500 what\r\n503 first\r\n");
  EXPECT_FALSE(plain.wants_plain());
}

TEST(HmtpDialogueTest, a_server_that_refuses_ehlo_and_takes_the_mail_has_delivered_it) {
  HmtpDialogue dialogue("h", {mail({"a@x"}, "1\r\n")}, false);
  dialogue.on_octets("502 what\r\n");
  EXPECT_FALSE(dialogue.over());
  dialogue.on_octets("250 ok\r\n250 ok\r\n354 go\r\n250 kept\r\n221 bye\r\n");
  EXPECT_TRUE(dialogue.over());
  EXPECT_FALSE(dialogue.wants_plain());
  EXPECT_EQ(dialogue.poll_ended()->done.outcomes.at(0).kind, Kind::delivered);
}

TEST(HmtpDialogueTest, a_server_that_refuses_data_or_speaks_no_smtp_ends_the_session) {
  HmtpDialogue refused("h", {mail({"a@x"}, "1\r\n"), mail({"b@x"}, "2\r\n")}, false);
  refused.on_octets("250 h\r\n250 ok\r\n550 who\r\n554 none\r\n500 what is 1\r\n");
  EXPECT_TRUE(refused.over());
  EXPECT_TRUE(refused.data_refused());
  EXPECT_EQ(refused.poll_ended()->done.outcomes.at(0).code, 550);
  EXPECT_FALSE(refused.poll_ended());
  EXPECT_EQ(refused.open(), std::vector<std::size_t>{1});
  HmtpDialogue strange("h", {mail({"a@x"}, "1\r\n")}, false);
  strange.on_octets("hello\r\n");
  EXPECT_TRUE(strange.over());
  HmtpDialogue endless("h", {mail({"a@x"}, "1\r\n")}, false);
  endless.on_octets(std::string(2048, '2'));
  EXPECT_FALSE(endless.over());
  endless.on_octets("2");
  EXPECT_TRUE(endless.over());
}

// --- The server ----------------------------------------------------------------------------------

class HmtpSessionTest : public testing::Test {
 protected:
  HmtpSessionTest() {
    EXPECT_TRUE(table.add({"shore.hf", {.own = true, .stations = {}}}));
    config.server.hostname = "shore.hf";
    config.server.content_follows = true;
  }
  void start() { session.emplace(config, table, room, counters); }
  void give(std::string_view text) { session->on_updu(now, octets(text)); }
  std::string replies() { return session->poll_replies().value_or(""); }

  HmtpSession::Config config;
  AddressTable table;
  IntakeRoom room;
  CounterSet<SmtpCounter> counters;
  std::optional<HmtpSession> session;
  Instant now{seconds(1)};
};

// F.5.2(1), F.5.2(3): the octets are the example of the reference.
TEST_F(HmtpSessionTest, the_worked_example_is_answered_at_once_after_the_mail_is_kept) {
  start();
  session->on_updu(now, *from_hex(kExample));
  const auto commit = session->poll_commit();
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->mail.content, octets("Subject: t\r\n\r\nhi\r\n"));
  EXPECT_EQ(commit->mail.envelope.from.address, "a@ship1.hf");
  EXPECT_EQ(replies(), "");
  session->on_committed(now, CommitOutcome::committed);
  const std::string said = replies();
  EXPECT_TRUE(said.starts_with("250-shore.hf\r\n250-PIPELINING\r\n")) << said;
  EXPECT_NE(said.find("\r\n354 "), std::string::npos);
  EXPECT_TRUE(said.ends_with("221 2.0.0 Good bye\r\n")) << said;
  EXPECT_TRUE(session->idle());
}

// F.5.2(5)
TEST_F(HmtpSessionTest, the_stream_may_be_cut_anywhere) {
  const Bytes whole = *from_hex(kExample);
  for (std::size_t cut = 5; cut < whole.size(); ++cut) {
    start();
    session->on_updu(now, ByteSpan(whole).first(cut));
    session->on_updu(now, ByteSpan(whole).subspan(cut));
    ASSERT_TRUE(session->poll_commit()) << cut;
  }
}

// F.5.2(6)
TEST_F(HmtpSessionTest, content_is_swallowed_when_no_recipient_was_accepted) {
  start();
  give(
      "EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@nowhere>\r\nDATA\r\nRCPT TO:<b@shore.hf>\r\n"
      "QUIT\r\n.\r\nMAIL FROM:<a@b>\r\nRCPT TO:<b@shore.hf>\r\nDATA\r\ntwo\r\n.\r\nQUIT\r\n");
  const auto commit = session->poll_commit();
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->mail.content, octets("two\r\n"));
  session->on_committed(now, CommitOutcome::full);
  const std::string said = replies();
  EXPECT_NE(said.find("550 5.1.2"), std::string::npos) << said;
  EXPECT_NE(said.find("\r\n354 The message will be refused\r\n554 5.5.1 No valid recipients\r\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("452 4.3.1"), std::string::npos) << said;
}

TEST_F(HmtpSessionTest, content_without_mail_from_is_swallowed_too) {
  start();
  give("EHLO x\r\nDATA\r\nMAIL FROM:<a@b>\r\n.\r\nNOOP\r\nQUIT\r\n");
  EXPECT_FALSE(session->poll_commit());
  const std::string said = replies();
  EXPECT_NE(said.find("554 5.5.1 No valid recipients\r\n250 2.0.0 OK\r\n221"), std::string::npos)
      << said;
}

TEST_F(HmtpSessionTest, without_quit_the_replies_go_after_a_while) {
  start();
  give("EHLO x\r\nNOOP\r\n");
  EXPECT_EQ(replies(), "");
  now += config.reply_after - seconds(1);
  session->on_deadline(now);
  EXPECT_EQ(replies(), "");
  now += seconds(1);
  session->on_deadline(now);
  EXPECT_TRUE(replies().ends_with("250 2.0.0 OK\r\n"));
  EXPECT_TRUE(session->under_way());
}

TEST_F(HmtpSessionTest, no_reply_goes_within_the_content_of_a_message) {
  start();
  give("EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<b@shore.hf>\r\nDATA\r\nhalf a mess");
  now += config.reply_after;
  session->on_deadline(now);
  EXPECT_EQ(replies(), "");
  give("age\r\n.\r\nQUIT\r\n");
  ASSERT_TRUE(session->poll_commit());
  session->on_committed(now, CommitOutcome::committed);
  EXPECT_TRUE(replies().ends_with("221 2.0.0 Good bye\r\n"));
}

// A part that was lost cannot be seen; its sender begins again.
TEST_F(HmtpSessionTest, a_hello_at_the_start_of_a_u_pdu_begins_anew_also_within_a_message) {
  start();
  give("EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<b@shore.hf>\r\nDATA\r\nhalf a mess");
  session->on_updu(now, *from_hex(kExample));
  const auto commit = session->poll_commit();
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->mail.content, octets("Subject: t\r\n\r\nhi\r\n"));
}

TEST_F(HmtpSessionTest, the_rest_of_a_session_that_ended_with_an_error_is_not_taken_for_commands) {
  start();
  give("EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<b@shore.hf>\r\nDATA\r\nbare\nend\r\n.\r\n");
  EXPECT_NE(replies().find("521 5.5.2"), std::string::npos);
  give("MAIL FROM:<a@b>\r\nRCPT TO:<b@shore.hf>\r\nDATA\r\nx\r\n.\r\n");
  EXPECT_FALSE(session->poll_commit());
  EXPECT_EQ(replies(), "");
  EXPECT_TRUE(session->idle());
}

TEST_F(HmtpSessionTest, a_session_that_stands_still_is_forgotten) {
  start();
  give("EHLO x\r\nMAIL FROM:<a@b>\r\n");
  now += config.server.idle_max;
  session->on_deadline(now);
  static_cast<void>(replies());
  EXPECT_TRUE(session->idle());
  EXPECT_EQ(room.octets, 0u);
}

}  // namespace
}  // namespace s5066::acp142
