// SPDX-License-Identifier: Apache-2.0
// The sockets around the SMTP cores: a listener with its sessions, and connections to the mail
// server.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_config.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/smtp/smtp_client_core.h"
#include "gateways/acp142/smtp/smtp_server_core.h"
#include "gateways/acp142/smtp/smtp_stream.h"

namespace s5066::acp142 {

using Clock = std::function<Instant()>;

class SmtpListener {
 public:
  using OnCommit = std::function<void(SessionId, SmtpServerCore::Commit)>;

  SmtpListener(boost::asio::io_context& io, const MailConfig& config, const AddressTable& table,
               Clock now, OnCommit on_commit);
  ~SmtpListener();

  /// Takes the port; who connects waits for serve().
  Result<void> open();
  void serve();
  std::uint16_t port() const;
  /// `said`: what the client reads behind 250.
  void answer(SessionId session, CommitOutcome outcome, std::string_view said = "Accepted");
  void close();
  const CounterSet<SmtpCounter>& counters() const { return counters_; }

 private:
  class Session;
  void accept();
  bool allowed(const boost::asio::ip::address& address) const;
  SmtpServerCore::Config config_for(const boost::asio::ip::address& client) const;
  TlsContext tls_context();

  const MailConfig& config_;
  const AddressTable& table_;
  Clock now_;
  OnCommit on_commit_;
  SmtpServerCore::Config core_config_;
  TlsContext tls_;  // the last that could be read; null: none is configured
  IntakeRoom room_;
  CounterSet<SmtpCounter> counters_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::uint64_t last_session_ = 0;
  std::map<SessionId, std::shared_ptr<Session>> sessions_;
};

/// Delivers one message and keeps itself alive until it is done.
void deliver_by_smtp(boost::asio::io_context& io, const MailConfig& config, Clock now,
                     std::shared_ptr<const Mail> mail,
                     std::function<void(const SmtpClientCore::Done&)> on_done);

}  // namespace s5066::acp142
