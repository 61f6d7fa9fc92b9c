// SPDX-License-Identifier: Apache-2.0
// Answers the requests of an operator of the running mail gateway: lists and changes messages,
// shows stations and the state of the gateway.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_config.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/mail_emcon.h"
#include "gateways/acp142/store/sqlite_mail_store.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/control/verbs.h"

namespace s5066::proto {
class MailDetails;
class MailStatus;
class Program;
}  // namespace s5066::proto

namespace s5066::acp142 {

/// Returns the requests of the gateway besides the common ones, in the order of the help text.
std::vector<control::VerbInfo> mail_verbs();

class MailOperator {
 public:
  /// References to parts of the gateway, which outlive this object.
  struct Parts {
    boost::asio::io_context& io;
    const MailConfig& config;
    LogSink& log;
    MailCore& mail;
    const p_mul::PMulCore& p_mul;
    MailEmcon& emcon;
    SqliteMailStore& store;
    std::function<Instant()> now;
    std::function<void()> drain;
    std::function<bool()> bound;
    std::function<std::uint16_t()> smtp_port;
    std::function<proto::Program()> program;
  };

  explicit MailOperator(Parts parts) : parts_(std::move(parts)) {}

  /// Adds mail_verbs() to a table, which lives no longer than this object.
  void add_verbs(control::VerbTable& table);

 private:
  using Answer = Result<std::string>;
  /// A request and the function that answers it.
  struct Request;
  friend std::vector<control::VerbInfo> mail_verbs();

  static const std::vector<Request>& requests();
  std::optional<Answer> queue(const control::Words& words);
  std::optional<Answer> trace(const control::Words& words);
  std::optional<Answer> show(const control::Words& words);
  template <SpoolChange asked>
  std::optional<Answer> change(const control::Words& words);
  std::optional<Answer> stations(const control::Words& words);
  std::optional<Answer> set_station(const control::Words& words);
  std::optional<Answer> emcon(const control::Words& words);
  std::optional<Answer> status(const control::Words& words);

  std::string nothing_listed(const MailFilter& filter);
  Result<proto::MailDetails> details(MailId id);
  Answer trace(std::string_view word);
  Answer change(SpoolChange asked, MailId id);
  std::string waits_for(const MailItem& mail) const;
  std::string unheard_groups(const std::vector<NodeId>& stations) const;
  void add_clocks(proto::MailStatus& status) const;

  Parts parts_;
};

}  // namespace s5066::acp142
