// SPDX-License-Identifier: Apache-2.0
// Relays mail from the air to stations behind this one (RFC 8494 3.3), and reports recipients that
// cannot be relayed.
#pragma once

#include <vector>

#include "gateways/acp142/mail/address_table.h"
#include "gateways/acp142/mail/mail_core_config.h"
#include "gateways/acp142/mail/mail_news.h"
#include "gateways/acp142/mail/mail_reporter.h"
#include "gateways/acp142/mail/mail_router.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::acp142 {

class MailRelay {
 public:
  /// The arguments outlive the relay.
  MailRelay(const MailCoreConfig& config, const AddressTable& table, const UtcClock& utc,
            MailRouter& router, MailReporter& reporter)
      : config_(config), table_(table), utc_(utc), router_(router), reporter_(reporter) {}

  /// Leaves the recipients of our mail server in `mail`. Returns messages for other stations, and
  /// reports; `told` gets the lines for the log. `by`: the protocol by which the message came; if
  /// it is not P_MUL, the message was for us alone.
  std::vector<NewMail> relay(Instant now, const Received& received, Mail& mail,
                             std::vector<MailNews>& told, MailWay by = MailWay::p_mul);

 private:
  /// Tells which recipients of a message from the air are ours to deliver or to pass on.
  struct Duties {
    std::vector<bool> ours;
    /// The sender has named the stations, and makes no reports on these recipients.
    bool certain = false;
  };
  Duties duties(const Received& received, Mail& mail) const;
  bool for_others(const Received& received) const;
  std::size_t own_traces(const Bytes& content) const;

  const MailCoreConfig& config_;
  const AddressTable& table_;
  const UtcClock& utc_;
  MailRouter& router_;
  MailReporter& reporter_;
};

}  // namespace s5066::acp142
