// SPDX-License-Identifier: Apache-2.0
// Answers the commands of an operator of the running mail gateway: lists and changes messages,
// shows stations and counters.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_config.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/mail_emcon.h"
#include "gateways/acp142/sqlite_mail_store.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/log.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

class MailOperator {
 public:
  /// All of these outlive it.
  struct Links {
    boost::asio::io_context& io;
    const MailConfig& config;
    LogSink& log;
    MailCore& mail;
    const p_mul::PMulCore& p_mul;
    MailEmcon& emcon;
    SqliteMailStore& store;
    std::function<Instant()> now;
    std::function<void()> drain;
    std::function<std::string()> bound;  // "yes", "no" or "udp"
    std::function<std::uint16_t()> smtp_port;
    std::function<CounterRows()> counters;  // of the process
  };

  explicit MailOperator(Links links) : links_(std::move(links)) {}

  /// Takes one line and returns the answer.
  std::string answer(std::string_view request);

 private:
  std::string queue(std::istringstream& words);
  std::string none_listed(const MailFilter& filter);
  std::string show(MailId id);
  std::string trace(const std::string& word);
  std::string stations();
  std::string status();
  std::string set_station(std::istringstream& words);
  std::string set_emcon(std::istringstream& words);
  std::string change_one(const std::string& verb, std::istringstream& words);
  std::string change(OperatorVerb verb, const std::string& word, MailId id);
  std::string waits_for(const MailItem& mail) const;
  std::string unheard_groups(const std::vector<NodeId>& stations) const;

  Links links_;
};

}  // namespace s5066::acp142
