// The neighbours of a gateway under load: clients that hand in mail as fast as they are answered,
// and a mail server that takes all it is given.
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
  std::uint64_t refused = 0;    // any other answer to it
  std::uint64_t delivered = 0;  // by the mail server
};

/// One connection with one message under way: MAIL, RCPT and BDAT in one piece (RFC 2920, RFC
/// 3030), the next when the last of the three has been answered. A connection that is lost is an
/// error.
class SmtpLoadClient : public std::enable_shared_from_this<SmtpLoadClient> {
 public:
  /// Takes from `left` one message at a time until none is.
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
  int answers_ = -2;  // of the message under way; before 0 the greeting and EHLO
};

/// Takes one message after another with DATA.
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
