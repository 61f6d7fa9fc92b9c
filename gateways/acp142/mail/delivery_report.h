// SPDX-License-Identifier: Apache-2.0
// Delivery reports (RFC 3464 in a multipart/report of RFC 6522). They tell a sender that a message
// could not be delivered, is late, or was passed to a system that makes no reports.
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
  std::string text;              // the reason in words
  int smtp_code = 0;     // code of the reply of a mail server in `text`; 0: the text is ours
  std::string remote{};  // the server that replied: "dns; [127.0.0.1]"; empty: none
};

struct ReportOptions {
  std::string hostname;  // name of the reporting server
  std::string id;        // unique among our reports
  UtcSeconds arrived;    // when we got the message
  UtcSeconds now;
  UtcSeconds retry_until{};  // end of the attempts for a delayed message
  std::size_t content_octets_max =
      10000;  // of a failed message returned whole, where RET=FULL asks for it
};

/// Returns the report to the sender of a message, with the null reverse path. Returns nothing if
/// the message has a null reverse path itself, or if no recipient asks for a report of this kind.
std::optional<Mail> make_report(const Path& from, ByteSpan content,
                                const std::vector<ReportedRecipient>& recipients,
                                const ReportOptions& options);

}  // namespace s5066::acp142
