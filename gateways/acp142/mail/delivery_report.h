// SPDX-License-Identifier: Apache-2.0
// Delivery reports (RFC 3464 in a multipart/report of RFC 6522): what a sender is told about a
// message that could not be delivered, is late, or left the world of reports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/mail/mail_types.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

struct ReportedRecipient {
  enum class Action : std::uint8_t { failed, delayed, relayed };
  Path recipient;
  Action action = Action::failed;
  std::string status = "5.0.0";  // RFC 3463
  std::string text;              // why, in words
  int smtp_code = 0;             // of the reply of a mail server that `text` is; 0: ours
  std::string remote{};          // who said it: "dns; [127.0.0.1]"; empty: nobody but us
};

struct ReportOptions {
  std::string hostname;  // who reports
  std::string id;        // unique among our reports
  UtcSeconds arrived;    // when we got the message
  UtcSeconds now;
  UtcSeconds retry_until{};  // of what is delayed
  std::size_t content_octets_max =
      10000;  // of a failed message returned whole, where RET=FULL asks for it
};

/// The report to the sender of a message, from the null reverse path; nothing where nobody may be
/// told: the message has a null reverse path itself, or no recipient wants to hear about this.
std::optional<Mail> make_report(const Path& from, ByteSpan content,
                                const std::vector<ReportedRecipient>& recipients,
                                const ReportOptions& options);

}  // namespace s5066::acp142
