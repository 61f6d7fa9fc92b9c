// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_client_core.h"

#include <gtest/gtest.h>

#include <tuple>

namespace s5066::acp142 {
namespace {

using Kind = RecipientOutcome::Kind;

constexpr const char* kHello =
    "250-mx\r\n250-PIPELINING\r\n250-SIZE 100\r\n250-8BITMIME\r\n250 DSN\r\n";

class SmtpClient : public testing::Test {
 protected:
  void begin(std::string_view content = "S: x\r\n\r\n.hi\r\n", const char* from = "<a@b> RET=HDRS",
             int recipients = 2) {
    Mail mail;
    mail.envelope.from = *parse_path(from, PathUse::reverse);
    for (int i = 0; i < recipients; ++i) {
      mail.envelope.recipients.push_back(
          *parse_path("<r" + std::to_string(i) + "@x> NOTIFY=NEVER", PathUse::forward));
    }
    mail.content.assign(content.begin(), content.end());
    core.emplace(config, std::make_shared<const Mail>(std::move(mail)));
    done.reset();
    closed = false;
    core->on_connected(now);
  }
  std::string hear(std::string_view text) {
    core->on_bytes(now, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    return drain();
  }
  std::string drain() {
    std::string said;
    while (auto action = core->poll_action()) {
      if (auto* send = std::get_if<SmtpClientCore::Send>(&*action)) said += send->text;
      if (auto* end = std::get_if<SmtpClientCore::Done>(&*action)) {
        EXPECT_FALSE(done);
        done = *end;
      }
      if (std::holds_alternative<SmtpClientCore::StartTls>(*action)) said += "(handshake)";
      if (std::holds_alternative<SmtpClientCore::Close>(*action)) closed = true;
    }
    return said;
  }
  Kind kind(std::size_t i) { return done.value().outcomes.at(i).kind; }
  std::string status(std::size_t i) { return done.value().outcomes.at(i).status; }

  SmtpClientCore::Config config;
  Instant now{};
  std::optional<SmtpClientCore> core;
  std::optional<SmtpClientCore::Done> done;
  bool closed = false;
};

TEST_F(SmtpClient, the_whole_envelope_goes_out_in_one_piece_where_pipelining_is_offered) {
  begin();
  EXPECT_EQ(hear("220 mx\r\n"), "EHLO localhost\r\n");
  EXPECT_EQ(hear(kHello),
            "MAIL FROM:<a@b> RET=HDRS SIZE=13\r\nRCPT TO:<r0@x> NOTIFY=NEVER\r\n"
            "RCPT TO:<r1@x> NOTIFY=NEVER\r\nDATA\r\n");
  EXPECT_EQ(hear("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n"), "S: x\r\n\r\n..hi\r\n.\r\n");
  EXPECT_EQ(hear("250 2.0.0 queued\r\n"), "QUIT\r\n");
  EXPECT_EQ(kind(0), Kind::delivered);
  EXPECT_EQ(kind(1), Kind::delivered);
  EXPECT_TRUE(done->reports && closed);
}

TEST_F(SmtpClient, a_plain_server_gets_one_command_at_a_time_and_no_parameters) {
  begin();
  hear("220 mx\r\n");
  EXPECT_EQ(hear("502 what\r\n"), "HELO localhost\r\n");
  EXPECT_EQ(hear("250 mx\r\n"), "MAIL FROM:<a@b>\r\n");
  EXPECT_EQ(hear("250 ok\r\n"), "RCPT TO:<r0@x>\r\n");
  EXPECT_EQ(hear("550 5.1.1 no such user\r\n"), "RCPT TO:<r1@x>\r\n");
  EXPECT_EQ(hear("250 ok\r\n"), "DATA\r\n");
  hear("354 go\r\n");
  hear("250 ok\r\n");
  EXPECT_EQ(kind(0), Kind::failed);
  EXPECT_EQ(status(0), "5.1.1");
  EXPECT_EQ(done->outcomes[0].text, "5.1.1 no such user");
  EXPECT_EQ(kind(1), Kind::delivered);
  EXPECT_FALSE(done->reports);
}

TEST_F(SmtpClient, each_recipient_has_its_own_outcome) {
  begin("\r\n", "<>", 3);
  hear("220 mx\r\n");
  hear(kHello);
  hear("250 ok\r\n550 5.1.1 no\r\n450 4.2.1 later\r\n250 ok\r\n354 go\r\n");
  hear("250 ok\r\n");
  EXPECT_EQ(kind(0), Kind::failed);
  EXPECT_EQ(kind(1), Kind::deferred);
  EXPECT_EQ(kind(2), Kind::delivered);
}

TEST_F(SmtpClient, nothing_is_sent_when_no_recipient_is_taken) {
  begin();
  hear("220 mx\r\n");
  hear(kHello);
  EXPECT_EQ(hear("250 ok\r\n550 no\r\n550 no\r\n354 go\r\n"), "");
  EXPECT_EQ(kind(0), Kind::failed);
  EXPECT_TRUE(closed);
}

TEST_F(SmtpClient, a_refusal_at_any_step_is_for_all_who_have_no_outcome_yet) {
  const std::pair<const char*, Kind> replies[] = {{"452 4.3.1 full\r\n", Kind::deferred},
                                                  {"552 5.3.4 large\r\n", Kind::failed}};
  for (const auto& [reply, expected] : replies) {
    for (int step = 0; step < 4; ++step) {
      begin();
      if (step > 0) hear("220 mx\r\n");
      if (step > 1) hear(kHello);
      if (step > 2) hear("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n");
      hear(reply);
      if (step == 1 && expected == Kind::failed) hear(reply);  // answers HELO
      EXPECT_EQ(kind(0), expected) << step;
      EXPECT_EQ(kind(1), expected) << step;
    }
  }
}

TEST_F(SmtpClient, a_lost_connection_or_silence_means_try_again) {
  for (int step = 0; step < 4; ++step) {
    for (const bool silent : {false, true}) {
      begin();
      if (step > 0) hear("220 mx\r\n");
      if (step > 1) hear(kHello);
      if (step > 2) hear("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n");
      if (silent) {
        core->on_deadline(*core->next_deadline() - Duration(1));
        EXPECT_FALSE(done);
        core->on_deadline(*core->next_deadline());
      } else {
        core->on_disconnected(now, "reset");
      }
      drain();
      EXPECT_EQ(kind(0), Kind::deferred);
      EXPECT_TRUE(closed);
      core->on_disconnected(now, "again");
      EXPECT_EQ(drain(), "");
    }
  }
}

// The content may still be in transit then, and nothing could be written after it.
TEST_F(SmtpClient, says_quit_only_where_the_content_was_answered) {
  for (const bool answered : {true, false}) {
    begin("S: x\r\n\r\nhi\r\n", "<a@b>", 1);
    hear("220 mx\r\n");
    hear(kHello);
    hear("250 ok\r\n250 ok\r\n354 go\r\n");
    if (answered) {
      EXPECT_EQ(hear("451 later\r\n"), "QUIT\r\n");
    } else {
      now += config.final_wait;
      core->on_deadline(now);
      EXPECT_EQ(drain(), "");
    }
    EXPECT_EQ(kind(0), Kind::deferred);
    EXPECT_TRUE(closed);
  }
}

// PM-113
TEST_F(SmtpClient, content_that_the_server_does_not_take_fails_before_the_envelope) {
  begin("caf\xC3\xA9\r\n");
  hear("220 mx\r\n");
  hear("250 mx\r\n");
  EXPECT_EQ(status(0), "5.6.3");
  for (const char* text : {"a\nb\r\n", "a\r\n.\nMAIL FROM:<x@y>\r\n", "a\r.\r\n"}) {
    begin(text);
    hear("220 mx\r\n");
    hear(kHello);
    EXPECT_EQ(status(0), "5.6.0") << text;
  }
  begin("a\nb", "<a@b> BODY=BINARYMIME");
  hear("220 mx\r\n");
  hear(kHello);
  EXPECT_EQ(status(0), "5.6.1");
}

// PM-113
TEST_F(SmtpClient, binary_content_goes_by_chunk_where_that_is_offered) {
  begin("a\nb", "<a@b> BODY=BINARYMIME", 1);
  hear("220 mx\r\n");
  EXPECT_EQ(hear("250-mx\r\n250-8BITMIME\r\n250-BINARYMIME\r\n250 CHUNKING\r\n"),
            "MAIL FROM:<a@b> BODY=BINARYMIME\r\n");
  hear("250 ok\r\n");
  EXPECT_EQ(hear("250 ok\r\n"), "BDAT 3 LAST\r\na\nb");
  hear("250 ok\r\n");
  EXPECT_EQ(kind(0), Kind::delivered);
}

TEST_F(SmtpClient, eight_bit_content_is_announced) {
  begin("caf\xC3\xA9\r\n", "<a@b>", 1);
  hear("220 mx\r\n");
  EXPECT_EQ(hear(kHello).substr(0, 38), "MAIL FROM:<a@b> SIZE=7 BODY=8BITMIME\r\n");
}

TEST_F(SmtpClient, lmtp_has_an_outcome_for_each_accepted_recipient) {
  config.lmtp = true;
  begin("\r\n", "<>", 3);
  EXPECT_EQ(hear("220 mx\r\n"), "LHLO localhost\r\n");
  hear(kHello);
  hear("250 ok\r\n250 ok\r\n550 no\r\n250 ok\r\n354 go\r\n");
  hear("250 ok\r\n");
  EXPECT_FALSE(done);
  hear("452 4.2.2 quota\r\n");
  EXPECT_EQ(kind(0), Kind::delivered);
  EXPECT_EQ(kind(1), Kind::failed);
  EXPECT_EQ(kind(2), Kind::deferred);
}

TEST_F(SmtpClient, replies_without_end_or_sense_are_given_up) {
  for (const std::string& reply :
       {std::string(5000, '2'), std::string("hello\r\n"), std::string("600 x\r\n")}) {
    begin();
    hear(reply);
    EXPECT_EQ(kind(0), Kind::deferred);
  }
  begin();
  for (int i = 0; i < 101 && !done; ++i) hear("220-x\r\n");
  EXPECT_EQ(kind(0), Kind::deferred);
}

TEST_F(SmtpClient, good_news_before_the_content_is_not_believed) {
  begin();
  hear("220 mx\r\n");
  hear(kHello);
  hear("250 ok\r\n250 ok\r\n250 ok\r\n250 ok\r\n");
  EXPECT_EQ(kind(0), Kind::deferred);
}

constexpr const char* kTlsHello = "250-mx\r\n250-STARTTLS\r\n250 DSN\r\n";

// RFC 3207 4.2: the client ignores offers that the server made before TLS.
TEST_F(SmtpClient, begins_anew_inside_tls_where_the_server_offers_it) {
  config.tls = SmtpClientCore::Tls::where_offered;
  begin();
  hear("220 mx\r\n");
  EXPECT_EQ(hear(kTlsHello), "STARTTLS\r\n");
  EXPECT_EQ(hear("220 go\r\n"), "(handshake)");
  EXPECT_FALSE(core->reading());
  core->on_tls(now);
  EXPECT_TRUE(core->reading());
  EXPECT_EQ(drain(), "EHLO localhost\r\n");
  EXPECT_EQ(hear("250 mx\r\n"), "MAIL FROM:<a@b>\r\n");  // DSN is no longer offered
}

TEST_F(SmtpClient, does_without_tls_where_it_may_and_defers_where_it_may_not) {
  using Tls = SmtpClientCore::Tls;
  for (const auto& [tls, hello, refusal] : {std::tuple(Tls::never, kTlsHello, ""),
                                            {Tls::where_offered, kHello, ""},
                                            {Tls::where_offered, kTlsHello, "454 not now\r\n"},
                                            {Tls::required, kHello, ""},
                                            {Tls::required, kTlsHello, "454 not now\r\n"},
                                            {Tls::required, kTlsHello, "501 no\r\n"}}) {
    config.tls = tls;
    begin();
    hear("220 mx\r\n");
    std::string said = hear(hello);
    if (*refusal != 0) said = hear(refusal);
    if (tls == Tls::required) {
      EXPECT_EQ(kind(0), Kind::deferred);
      EXPECT_TRUE(closed);
    } else {
      EXPECT_EQ(said.substr(0, 10), "MAIL FROM:");
    }
  }
  config.tls = Tls::required;
  begin();
  hear("220 mx\r\n");
  hear("500 what\r\n");
  hear("250 mx\r\n");  // answers HELO
  EXPECT_EQ(kind(0), Kind::deferred);
}

TEST_F(SmtpClient, octets_in_the_clear_behind_the_answer_to_starttls_end_the_attempt) {
  config.tls = SmtpClientCore::Tls::where_offered;
  begin();
  hear("220 mx\r\n");
  hear(kTlsHello);
  EXPECT_EQ(hear("220 go\r\n250 mx\r\n"), "");
  EXPECT_EQ(kind(0), Kind::deferred);
  EXPECT_TRUE(closed);
}

TEST_F(SmtpClient, a_handshake_without_end_defers_the_message) {
  config.tls = SmtpClientCore::Tls::where_offered;
  begin();
  hear("220 mx\r\n");
  hear(kTlsHello);
  hear("220 go\r\n");
  core->on_deadline(now + config.reply_wait);
  drain();
  EXPECT_EQ(kind(0), Kind::deferred);
  EXPECT_TRUE(closed);
}

// RFC 6758 3.3
TEST_F(SmtpClient, a_precedence_that_the_server_does_not_take_goes_on_in_the_header) {
  const auto content = [&](const char* from, const std::string& header, const char* hello) {
    begin(header + "S: x\r\n\r\nhi\r\n", from, 1);
    hear("220 mx\r\n");
    hear(hello);
    return hear("250 ok\r\n250 ok\r\n354 go\r\n");
  };
  const char* offered = "250-mx\r\n250-PIPELINING\r\n250 MT-PRIORITY\r\n";
  const std::string rest = "S: x\r\n\r\nhi\r\n.\r\n";
  EXPECT_EQ(content("<a@b> MT-PRIORITY=4", "", kHello), "MT-Priority: 4\r\n" + rest);
  EXPECT_EQ(content("<a@b> MT-PRIORITY=4", "mt-priority: 9\r\n", kHello),
            "MT-Priority: 4\r\n" + rest);
  EXPECT_EQ(content("<a@b>", "MT-Priority: -2 (routine)\r\nMT-Priority: 9\r\n", kHello),
            "MT-Priority: -2\r\n" + rest);
  EXPECT_EQ(content("<a@b>", "", kHello), rest);
  EXPECT_EQ(content("<a@b> MT-PRIORITY=4", "", offered), rest);
}

}  // namespace
}  // namespace s5066::acp142
