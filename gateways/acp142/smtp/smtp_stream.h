// SPDX-License-Identifier: Apache-2.0
// A TCP connection of SMTP, on which TLS may begin (RFC 3207), and what TLS needs of our files.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gateways/acp142/mail/mail_config.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

Result<TlsContext> load_tls(const MailConfig::SmtpTls& config);
Result<TlsContext> load_tls(const MailConfig::MailServerTls& config);

class SmtpStream {
 public:
  explicit SmtpStream(boost::asio::io_context& io) : socket_(io) {}
  explicit SmtpStream(boost::asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}

  boost::asio::ip::tcp::socket& socket() { return socket_; }
  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  template <typename Buffer, typename Then>
  void read_some(const Buffer& buffer, Then&& then) {
    if (tls_) {
      tls_->async_read_some(buffer, std::forward<Then>(then));
    } else {
      socket_.async_read_some(buffer, std::forward<Then>(then));
    }
  }
  template <typename Buffer, typename Then>
  void write(const Buffer& buffer, Then&& then) {
    if (tls_) {
      boost::asio::async_write(*tls_, buffer, std::forward<Then>(then));
    } else {
      boost::asio::async_write(socket_, buffer, std::forward<Then>(then));
    }
  }
  /// `name` is what a server's certificate must be for; empty: not asked for.
  template <typename Then>
  void start_tls(TlsContext context, boost::asio::ssl::stream_base::handshake_type side,
                 const std::string& name, Then&& then) {
    context_ = std::move(context);
    tls_.emplace(socket_, *context_);
    expect(name);
    tls_->async_handshake(side, std::forward<Then>(then));
  }

 private:
  void expect(const std::string& name);

  boost::asio::ip::tcp::socket socket_;
  TlsContext context_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
};

}  // namespace s5066::acp142
