// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_reporter.h"

#include <algorithm>

namespace s5066::acp142 {

std::vector<NewMail> MailReporter::report(Instant now, const MailItem& item,
                                          const std::vector<ReportedRecipient>& recipients,
                                          std::vector<MailNews>& told) {
  if (recipients.empty()) return {};
  if (item.from.address.empty()) {
    const auto failed = [](const auto& one) {
      return one.action == ReportedRecipient::Action::failed;
    };
    if (std::any_of(recipients.begin(), recipients.end(), failed)) {
      told.push_back(
          {MailNews::Kind::report_lost, item.id, {}, recipients[0].recipient.address, {}, 0});
    }
    return {};
  }
  const auto report = make_report(item.from, *item.content, recipients,
                                  {.hostname = config_.hostname,
                                   .id = router_.next_id(now),
                                   .arrived = item.created,
                                   .now = utc_.utc(now),
                                   .retry_until = item.expiry});
  if (!report) return {};
  // The mail server of this station has a route to senders for whom the table has none.
  auto mails = router_.route(now, *report, {}, item.priority, MailRouter::Unrouted::to_mail_server);
  for (NewMail& one : mails) {
    one.about = item.id;
    if (one.transport == Transport::smtp)
      one.expiry.value = utc_.utc(now).value + kMailServerLifetimeS;
  }
  told.push_back({MailNews::Kind::reported, item.id, {}, item.from.address, {}, 0});
  return mails;
}

}  // namespace s5066::acp142
