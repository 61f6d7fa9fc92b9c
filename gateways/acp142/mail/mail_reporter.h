// SPDX-License-Identifier: Apache-2.0
// Writes delivery reports and finds their way to the sender.
#pragma once

#include <vector>

#include "gateways/acp142/mail/delivery_report.h"
#include "gateways/acp142/mail/mail_core_config.h"
#include "gateways/acp142/mail/mail_news.h"
#include "gateways/acp142/mail/mail_router.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::acp142 {

class MailReporter {
 public:
  /// The arguments outlive the reporter.
  MailReporter(const MailCoreConfig& config, MailRouter& router, const UtcClock& utc)
      : config_(config), router_(router), utc_(utc) {}

  /// Returns the report on these recipients as the spool is to keep it; empty if the sender wants
  /// none or has no address. `told` gets the lines for the log.
  std::vector<NewMail> report(Instant now, const MailItem& item,
                              const std::vector<ReportedRecipient>& recipients,
                              std::vector<MailNews>& told);

 private:
  const MailCoreConfig& config_;
  MailRouter& router_;
  const UtcClock& utc_;
};

}  // namespace s5066::acp142
