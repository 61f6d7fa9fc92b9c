// SPDX-License-Identifier: Apache-2.0
// The end of an attempt to deliver a message: what the spool keeps, what the sender is told, and
// the lines for the log. Each end gives the spool a time for the next attempt. That time counts if
// a recipient is open in the spool, because an operator may have reopened one that has ended here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/mail/delivery_report.h"
#include "gateways/acp142/mail/mail_news.h"
#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/peers/peer_types.h"
#include "gateways/acp142/smtp/smtp_client_core.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

struct AttemptEnd {
  SaveOutcome outcome;
  std::vector<ReportedRecipient> told;
  std::vector<MailNews> news;
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;
  std::uint64_t expired = 0;
};

/// The lifetime of the message ended before an attempt began.
AttemptEnd end_expired(const MailItem& item, UtcSeconds now);
/// Call when P_MUL has refused the message. `again`: the time of the next attempt, unless P_MUL
/// will never take it.
AttemptEnd end_refused(const MailItem& item, const Error& why, UtcSeconds now, UtcSeconds again);
/// Call when P_MUL has ended its work for a station. Marks the recipients of the station in `item`.
/// If none of them is open, `outcome.changes` is empty.
AttemptEnd end_station(MailItem& item, const DestinationEnded& ended, UtcSeconds now);
/// Call when the client for the station of another make has ended its work on the message. `again`:
/// the next attempt for deferred recipients.
AttemptEnd end_by_peer(const MailItem& item, const PeerEnded& ended, UtcSeconds now,
                       UtcSeconds again);
/// Call when the mail server has answered. `again`: the next attempt for recipients that it
/// deferred.
AttemptEnd end_handed_over(const MailItem& item, const SmtpClientCore::Done& done,
                           const std::string& mail_server, UtcSeconds now, UtcSeconds again);

}  // namespace s5066::acp142
