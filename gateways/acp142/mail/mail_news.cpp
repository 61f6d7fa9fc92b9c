// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_news.h"

#include <array>

#include "s5066d/base/assert.h"

namespace s5066::acp142 {

using Kind = MailNews::Kind;

std::string_view to_string(MailNews::Kind kind) {
  // Names of log events; a test looks for each in docs/operate/log_events.md.
  constexpr std::array<std::string_view, static_cast<std::size_t>(Kind::count)> kNames = {
      "mail_accepted",   "mail_repeated",  "mail_queued",         "mail_refused",
      "mail_submitted",  "mail_delivered", "mail_deferred",       "mail_failed",
      "mail_expired",    "mail_received",  "mail_received_again", "mail_not_for_us",
      "mail_unreadable", "mail_reported",  "mail_report_lost",    "station_dead",
      "station_heard",   "store_failed",   "mail_parked",         "spool_disk_full",
      "clock_set",       "clock_apart"};
  S5066_ASSERT(kind < Kind::count);
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace s5066::acp142
