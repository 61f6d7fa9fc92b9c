// SPDX-License-Identifier: Apache-2.0
// How an attempt to deliver a message ends: what the spool is to keep, what its sender is to be
// told, and the lines for the log. Each end gives the spool a time for the next attempt. That time
// counts where a recipient is open there, which an operator may have made of one that has ended
// here.
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
/// P_MUL has not taken the message. `again`: the next attempt, unless it never will.
AttemptEnd end_refused(const MailItem& item, const Error& why, UtcSeconds now, UtcSeconds again);
/// P_MUL is done with a station. Marks its recipients in `item`; without recipients of the station
/// that are open, `outcome.changes` is empty.
AttemptEnd end_station(MailItem& item, const DestinationEnded& ended, UtcSeconds now);
/// The station of another make is done with the message. `again`: the next attempt for recipients
/// that are deferred.
AttemptEnd end_by_peer(const MailItem& item, const PeerEnded& ended, UtcSeconds now,
                       UtcSeconds again);
/// The mail server has answered. `again`: the next attempt for recipients that it deferred.
AttemptEnd end_handed_over(const MailItem& item, const SmtpClientCore::Done& done,
                           const std::string& mail_server, UtcSeconds now, UtcSeconds again);

}  // namespace s5066::acp142
