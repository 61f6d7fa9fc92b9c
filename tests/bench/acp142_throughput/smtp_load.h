// SPDX-License-Identifier: Apache-2.0
// The load on a gateway: clients that submit mail as fast as the gateway answers, and a mail server
// that accepts all mail.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/streambuf.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace s5066::acp142 {

struct LoadCounts {
  std::uint64_t accepted = 0;   // 250 after the message
  std::uint64_t refused = 0;    // any other reply to the message
  std::uint64_t delivered = 0;  // messages that the mail server accepted
};

/// One connection with one message under way: it sends MAIL, RCPT and BDAT in one piece (RFC 2920,
/// RFC 3030), and the next message when all three have been answered. A lost connection is an
/// error.
class SmtpLoadClient : public std::enable_shared_from_this<SmtpLoadClient> {
 public:
  /// Takes one message at a time from `left` until it is 0.
  SmtpLoadClient(boost::asio::io_context& io, std::uint64_t& next, std::uint64_t& left,
                 LoadCounts& counts)
      : socket_(io), next_(next), left_(left), counts_(counts) {}
  void start(std::uint16_t port);

 private:
  void send_next();
  void write(std::string text);
  void read();
  void on_line(const std::string& line);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::streambuf in_;
  std::string out_;
  std::uint64_t& next_;
  std::uint64_t& left_;
  LoadCounts& counts_;
  int answers_ = -2;  // replies for this message; below 0 the greeting and EHLO
};

/// A mail server that accepts one message after another with DATA.
class SmtpSink {
 public:
  SmtpSink(boost::asio::io_context& io, LoadCounts& counts);
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  LoadCounts& counts_;
};

}  // namespace s5066::acp142
