#include "gateways/acp142/smtp_shell.h"

#include <gtest/gtest.h>

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace s5066::acp142 {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// The session has nothing under way with its socket while the spool works.
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

// A read that is under way keeps its session until the io_context is gone. That such a session
// touches nothing of its listener any more is for the sanitizers to see.
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
  while (listener->stats().commands == 0) io.run_one();
  // The answer has been written, and more is awaited.
  io.poll();
  listener.reset();
}

}  // namespace
}  // namespace s5066::acp142
