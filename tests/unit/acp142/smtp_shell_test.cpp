// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_shell.h"

#include <gtest/gtest.h>

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace s5066::acp142 {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// The session has no operation pending on its socket while the spool works.
TEST(SmtpListener, a_session_that_waits_for_the_spool_is_kept_and_answered) {
  asio::io_context io;
  MailConfig config;
  config.smtp.port = 0;
  AddressTable table;
  ASSERT_TRUE(table.add({"far.example", {.own = false, .stations = {{2}}}}));
  std::optional<SessionId> committing;
  SmtpListener listener(
      io, config, table, [] { return Instant{}; },
      [&](SessionId session, SmtpServerCore::Commit) { committing = session; });
  ASSERT_TRUE(listener.open());
  listener.serve();

  tcp::socket client(io);
  client.connect({asio::ip::make_address("127.0.0.1"), listener.port()});
  asio::write(client, asio::buffer(std::string_view(
                          "EHLO me\r\nMAIL FROM:<a@b>\r\nRCPT TO:<x@far.example>\r\nBDAT 2 LAST\r\n"
                          "\r\n")));
  std::string said;
  bool closed = false;
  bool answered = false;
  asio::async_read_until(client, asio::dynamic_buffer(said), "2.0.0 Accepted",
                         [&](boost::system::error_code error, std::size_t) {
                           closed = static_cast<bool>(error);
                           answered = !error;
                         });
  while (!committing && !closed) io.run_one();
  io.poll();
  ASSERT_FALSE(closed);
  listener.answer(*committing, CommitOutcome::committed);
  while (!answered && !closed) io.run_one();
  EXPECT_TRUE(answered);
  listener.close();
}

// A pending read keeps its session until the io_context is gone. The sanitizers check that such a
// session no longer touches its listener.
TEST(SmtpListener, a_session_may_outlive_its_listener) {
  MailConfig config;
  config.smtp.port = 0;
  AddressTable table;
  asio::io_context io;
  auto listener = std::make_unique<SmtpListener>(
      io, config, table, [] { return Instant{}; }, [](SessionId, SmtpServerCore::Commit) {});
  ASSERT_TRUE(listener->open());
  listener->serve();
  tcp::socket client(io);
  client.connect({asio::ip::make_address("127.0.0.1"), listener->port()});
  asio::write(client, asio::buffer(std::string_view("NOOP\r\n")));
  while (listener->counters()[SmtpCounter::commands] == 0) io.run_one();
  // The answer has been written, and the session waits for more.
  io.poll();
  listener.reset();
}

/// Shrinks the send buffer of the one listening socket of this process. Its connections inherit
/// that size.
void shrink_send_buffer() {
  int found = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    const int octets = 4096;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    ++found;
    ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &octets, sizeof octets), 0);
  }
  ASSERT_EQ(found, 1);
}

TEST(SmtpListener, a_client_that_does_not_take_the_last_word_is_left) {
  asio::io_context io;
  MailConfig config;
  config.smtp.port = 0;
  AddressTable table;
  constexpr std::uint64_t kCommands = 901;
  Instant now{};
  SmtpListener* said_all = nullptr;
  SmtpListener listener(
      io, config, table,
      [&] {
        // After the last command, each look at the clock is an hour later.
        if (said_all != nullptr && said_all->counters()[SmtpCounter::commands] == kCommands) {
          now += std::chrono::hours(1);
        }
        return now;
      },
      [](SessionId, SmtpServerCore::Commit) {});
  ASSERT_TRUE(listener.open());
  said_all = &listener;
  shrink_send_buffer();
  listener.serve();
  tcp::socket client(io);
  client.open(tcp::v4());
  client.set_option(asio::socket_base::receive_buffer_size(4096));
  client.connect({asio::ip::make_address("127.0.0.1"), listener.port()});
  std::string text;
  for (std::uint64_t i = 1; i < kCommands; ++i) text += "EHLO me\r\n";
  asio::write(client, asio::buffer(text + "QUIT\r\n"));
  while (listener.counters()[SmtpCounter::commands] < kCommands) io.run_one();
  for (int i = 0; i < 1000; ++i) io.poll();
  std::string said;
  bool over = false;
  asio::async_read(client, asio::dynamic_buffer(said),
                   [&](boost::system::error_code, std::size_t) { over = true; });
  while (!over) io.run_one();
  EXPECT_EQ(said.find("221 "), std::string::npos);
  EXPECT_EQ(said.rfind("220 ", 0), 0u);
}

TEST(SmtpDelivery, a_mail_server_that_stops_reading_is_left_with_nothing_behind) {
  for (const bool answers : {false, true}) {
    asio::io_context io;
    tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
    MailConfig config;
    config.mail_server.address = "127.0.0.1";
    config.mail_server.port = acceptor.local_endpoint().port();
    auto mail = std::make_shared<Mail>();
    mail->envelope.recipients.push_back({"x@y", {}});
    const Bytes kLine{104, 105, 13, 10};
    for (int i = 0; i < 5'000'000; ++i) append(mail->content, kLine);
    Instant now{};
    bool late = false;
    std::optional<SmtpClientCore::Done> done;
    deliver_by_smtp(
        io, config,
        [&] {
          if (late) now += std::chrono::hours(1);
          return now;
        },
        mail, [&](const SmtpClientCore::Done& one) { done = one; });
    tcp::socket server(io);
    bool accepted = false;
    acceptor.async_accept(server, [&](boost::system::error_code) { accepted = true; });
    while (!accepted) io.run_one();
    const auto say = [&](std::string_view text) { asio::write(server, asio::buffer(text)); };
    say("220 mx\r\n250-mx\r\n250 PIPELINING\r\n250 ok\r\n250 ok\r\n");
    while (server.available() < 50) io.run_one();
    late = !answers;
    say("354 go\r\n");
    if (answers) {
      while (server.available() < 10'000) io.run_one();
      late = true;
      say("552 too much\r\n");
    }
    while (!done) io.run_one();
    EXPECT_EQ(done->outcomes.at(0).kind,
              answers ? RecipientOutcome::Kind::failed : RecipientOutcome::Kind::deferred);
    for (int i = 0; i < 1000; ++i) io.poll();
    EXPECT_TRUE(io.stopped());  // the session has ended
  }
}

}  // namespace
}  // namespace s5066::acp142
