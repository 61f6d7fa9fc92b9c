// SPDX-License-Identifier: Apache-2.0
// Our listener and our delivery exchange mail inside TLS, with real handshakes.
#include <gtest/gtest.h>

#include <filesystem>

#include "gateways/acp142/smtp/smtp_shell.h"
#include "tests/support/certificates.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {
namespace {

class SmtpTls : public testing::Test {
 protected:
  SmtpTls() {
    EXPECT_TRUE(table.add({"far.example", {.own = false, .stations = {{2}}}}));
    config.smtp.port = 0;
    offer(authority.issue("gateway", {"mail.example"}));
    config.mail_server.tls = {.ca_file = authority.file(), .server_name = "mail.example"};
    config.mail_server.tls->required = true;
  }
  void offer(const test::CertificateFiles& files) {
    config.smtp.tls = {.certificate_file = files.certificate, .key_file = files.key};
    config.smtp.tls->required = true;
  }
  Result<void> open() {
    listener.emplace(
        io, config, table, [] { return Instant{}; },
        [this](SessionId session, SmtpServerCore::Commit commit) {
          commits.push_back(std::move(commit));
          boost::asio::post(
              io, [this, session] { listener->answer(session, CommitOutcome::committed); });
        });
    if (auto opened = listener->open(); !opened) return opened;
    listener->serve();
    config.mail_server.port = listener->port();
    return {};
  }
  /// Delivers a message from our delivery to our listener.
  RecipientOutcome deliver() {
    auto mail = std::make_shared<Mail>();
    mail->envelope.from.address = "a@b";
    mail->envelope.recipients.push_back({"x@far.example", {}});
    for (int i = 0; i < 5000; ++i) append(mail->content, kLine);
    std::optional<SmtpClientCore::Done> done;
    deliver_by_smtp(
        io, config, [] { return Instant{}; }, mail,
        [&done](const SmtpClientCore::Done& one) { done = one; });
    while (!done) io.run_one();
    return done->outcomes.at(0);
  }
  void expect_failure(const char* reason) {
    const RecipientOutcome outcome = deliver();
    EXPECT_EQ(outcome.kind, RecipientOutcome::Kind::deferred);
    EXPECT_NE(outcome.text.find(reason), std::string::npos) << outcome.text;
    EXPECT_TRUE(commits.empty());
  }

  const Bytes kLine{'.', 'h', 'i', '\r', '\n'};
  test::TemporaryFolder folder;
  test::Authority authority{folder.path().string(), "authority"};
  test::Authority other_authority{folder.path().string(), "other"};
  AddressTable table;
  MailConfig config;
  boost::asio::io_context io;
  std::vector<SmtpServerCore::Commit> commits;
  std::optional<SmtpListener> listener;
};

TEST_F(SmtpTls, a_message_goes_over_inside_tls) {
  ASSERT_TRUE(open());
  EXPECT_EQ(deliver().kind, RecipientOutcome::Kind::delivered);
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_TRUE(commits[0].secure);
  EXPECT_EQ(commits[0].mail.content.size(), 25000u);
  EXPECT_EQ(listener->counters()[SmtpCounter::tls], 1u);
}

TEST_F(SmtpTls, any_certificate_will_do_where_no_authority_is_named) {
  offer(other_authority.issue("anybody"));
  config.mail_server.tls = MailConfig::MailServerTls{};
  ASSERT_TRUE(open());
  EXPECT_EQ(deliver().kind, RecipientOutcome::Kind::delivered);
  EXPECT_TRUE(commits.at(0).secure);
}

TEST_F(SmtpTls, nothing_is_sent_to_a_server_with_a_certificate_of_another_authority) {
  offer(other_authority.issue("gateway", {"mail.example"}));
  ASSERT_TRUE(open());
  expect_failure("certificate verify failed");
}

TEST_F(SmtpTls, nothing_is_sent_to_a_server_with_a_certificate_for_another_name) {
  config.mail_server.tls->server_name = "other.example";
  ASSERT_TRUE(open());
  expect_failure("certificate verify failed");
}

TEST_F(SmtpTls, nothing_is_sent_in_the_clear_where_tls_is_required) {
  config.smtp.tls.reset();
  ASSERT_TRUE(open());
  expect_failure("does not offer STARTTLS");
}

// We have no certificate to show. With TLS 1.3 the client learns of the refusal only after it
// believes to be inside.
TEST_F(SmtpTls, a_client_without_a_certificate_is_refused_where_one_is_asked_for) {
  config.smtp.tls->ca_file = authority.file();
  ASSERT_TRUE(open());
  expect_failure("mail server: ");
  EXPECT_EQ(listener->counters()[SmtpCounter::tls_failed], 1u);
}

TEST_F(SmtpTls, a_renewed_certificate_is_used_at_once_and_a_broken_one_not) {
  ASSERT_TRUE(open());
  const test::CertificateFiles renewed = other_authority.issue("gateway", {"mail.example"});
  const auto replace = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(renewed.key, config.smtp.tls->key_file, replace);
  // Key and certificate do not belong together now.
  EXPECT_EQ(deliver().kind, RecipientOutcome::Kind::delivered);
  std::filesystem::copy_file(renewed.certificate, config.smtp.tls->certificate_file, replace);
  commits.clear();
  expect_failure("certificate verify failed");
  config.mail_server.tls->ca_file = other_authority.file();
  EXPECT_EQ(deliver().kind, RecipientOutcome::Kind::delivered);
}

TEST_F(SmtpTls, a_gateway_whose_certificate_cannot_be_read_does_not_start) {
  config.smtp.tls->certificate_file = "/nowhere";
  EXPECT_FALSE(open());
}

}  // namespace
}  // namespace s5066::acp142
