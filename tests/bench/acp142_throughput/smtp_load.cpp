// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/acp142_throughput/smtp_load.h"

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <istream>
#include <utility>

namespace s5066::acp142 {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t kOctets = 1024;
constexpr int kAnswers = 3;  // replies to MAIL, RCPT and BDAT

std::string message(std::uint64_t number) {
  std::string text = "Message-ID: <" + std::to_string(number) +
                     "@shore.example>\r\nFrom: <a@shore.example>\r\nSubject: Load\r\n\r\n";
  while (text.size() < kOctets - 2) {
    text += static_cast<char>('a' + (number * 31 + text.size() * 7) % 26);
  }
  return text + "\r\n";
}

std::string take_line(asio::streambuf& from) {
  std::istream stream(&from);
  std::string line;
  std::getline(stream, line);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

}  // namespace

void SmtpLoadClient::start(std::uint16_t port) {
  socket_.connect({asio::ip::address_v4::loopback(), port});
  socket_.set_option(tcp::no_delay(true));
  write("EHLO load\r\n");
  read();
}

void SmtpLoadClient::send_next() {
  if (left_ == 0) {
    error_code ignored;
    socket_.close(ignored);
    return;
  }
  --left_;
  const std::string text = message(++next_);
  answers_ = 0;
  write("MAIL FROM:<a@shore.example>\r\nRCPT TO:<x@ship.example>\r\nBDAT " +
        std::to_string(text.size()) + " LAST\r\n" + text);
}

void SmtpLoadClient::write(std::string text) {
  out_ = std::move(text);
  asio::async_write(socket_, asio::buffer(out_),
                    [self = shared_from_this()](const error_code&, std::size_t) {});
}

void SmtpLoadClient::read() {
  asio::async_read_until(socket_, in_, "\r\n",
                         [self = shared_from_this()](const error_code& error, std::size_t) {
                           if (!self->socket_.is_open()) return;
                           if (error) {
                             std::fprintf(stderr, "SMTP client: %s\n", error.message().c_str());
                             std::exit(1);
                           }
                           self->on_line(take_line(self->in_));
                           if (self->socket_.is_open()) self->read();
                         });
}

void SmtpLoadClient::on_line(const std::string& line) {
  if (line.size() > 3 && line[3] == '-') return;
  if (++answers_ < 0) return;
  if (answers_ == kAnswers) {
    ++(line.rfind("250", 0) == 0 ? counts_.accepted : counts_.refused);
    send_next();
  } else if (answers_ == 0) {
    send_next();
  }
}

namespace {

class SinkSession : public std::enable_shared_from_this<SinkSession> {
 public:
  SinkSession(tcp::socket socket, LoadCounts& counts)
      : socket_(std::move(socket)), counts_(counts) {}

  void start() {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    out_ = "220 sink\r\n";
    answer();
  }

 private:
  void read() {
    asio::async_read_until(socket_, in_, "\r\n",
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (error) return;  // the peer has closed after its last reply
                             self->on_line(take_line(self->in_));
                             if (self->out_.empty()) return self->read();
                             self->answer();
                           });
  }
  void on_line(const std::string& line) {
    if (in_mail_) {
      if (line != ".") return;
      in_mail_ = false;
      ++counts_.delivered;
      out_ = "250 taken\r\n";
    } else if (line.rfind("EHLO", 0) == 0) {
      out_ = "250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n";
    } else if (line.rfind("DATA", 0) == 0) {
      in_mail_ = true;
      out_ = "354 go on\r\n";
    } else if (line.rfind("QUIT", 0) == 0) {
      out_ = "221 bye\r\n";
    } else {
      out_ = "250 ok\r\n";
    }
  }
  void answer() {
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->out_.clear();
                        if (!error) self->read();
                      });
  }

  tcp::socket socket_;
  LoadCounts& counts_;
  asio::streambuf in_;
  std::string out_;
  bool in_mail_ = false;
};

}  // namespace

SmtpSink::SmtpSink(asio::io_context& io, LoadCounts& counts)
    : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), counts_(counts) {
  accept();
}

void SmtpSink::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error) return;
    std::make_shared<SinkSession>(std::move(socket), counts_)->start();
    accept();
  });
}

}  // namespace s5066::acp142
