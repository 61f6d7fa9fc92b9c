// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/delivery_report.h"

#include <algorithm>

#include "s5066d/base/printable.h"

namespace s5066::acp142 {
namespace {

using Action = ReportedRecipient::Action;

/// Text of others goes into a header field as one line, printable and not too long.
std::string one_line(std::string_view text) {
  return text.empty() ? "no reason given" : printable(text, 200);
}

bool wanted(const ReportedRecipient& one) {
  const Notify notify = notify_of(one.recipient.parameters);
  switch (one.action) {
    case Action::failed:
      return notify.failure;
    case Action::delayed:
      return notify.delay;
    case Action::relayed:
      return notify.success;
  }
  return false;
}

std::string_view name_of(Action action) {
  constexpr std::string_view kNames[] = {"failed", "delayed", "relayed"};
  return kNames[static_cast<std::size_t>(action)];
}

/// Returns the subject: the worst that is reported, and of which message.
std::string subject_of(const std::vector<ReportedRecipient>& told, ByteSpan content) {
  constexpr std::string_view kSubjects[] = {"Mail could not be delivered", "Mail is delayed",
                                            "Mail was handed to another mail server"};
  Action worst = Action::relayed;
  for (const ReportedRecipient& one : told) worst = std::min(worst, one.action);
  const std::string subject(kSubjects[static_cast<std::size_t>(worst)]);
  const std::string original = header_field(content, "Subject");
  if (original.empty()) return subject;
  // An encoded word that was cut could not be read, so a long subject ends with a whole word.
  std::string shown = one_line(original);
  if (original.size() > shown.size()) shown.resize(std::min(shown.rfind(' '), shown.size()));
  return subject + ":\r\n " + shown;
}

/// Returns what the user can do about it, by the status code of RFC 3463.
std::string_view advice_for(const ReportedRecipient& one) {
  if (one.action == Action::delayed) return "You need not send it again.";
  if (one.action == Action::relayed) return "You will get no report of the delivery.";
  const std::string_view status = one.status;
  const auto is = [&](std::string_view class_of) { return status.substr(1).starts_with(class_of); };
  if (is(".4.7"))
    return "The gateway has stopped trying. Send the message again if it is still needed.";
  if (is(".4.4"))
    return "Check the address, or ask the operator of your station to add a route for it.";
  if (is(".4.6"))
    return "Tell the operator of your station that the routes of the stations form a circle.";
  if (is(".3.4")) return "Send the message in smaller parts, or without attachments.";
  if (is(".1.")) return "Check the address.";
  return "The gateway has stopped trying.";
}

std::string sentence_for(const ReportedRecipient& one, const ReportOptions& options) {
  const std::string who = one.smtp_code != 0 ? "the mail server of the recipient answered: " : "";
  switch (one.action) {
    case Action::failed:
      return "The message was not delivered: " + who + one_line(one.text);
    case Action::delayed:
      return "The message is not delivered yet, and the gateway tries until " +
             mail_date(options.retry_until) + ": " + who + one_line(one.text);
    case Action::relayed:
      return "The message was handed to a mail server that does not report delivery.";
  }
  return {};
}

/// Returns the text for people: the message, and for each recipient what happened and what to do.
std::string words_for(const std::vector<ReportedRecipient>& told, ByteSpan content,
                      const ReportOptions& options) {
  std::string text =
      "The radio mail gateway " + options.hostname + " reports on your message\r\n\r\n";
  for (const char* name : {"Subject", "Date", "Message-ID"}) {
    const std::string value = header_field(content, name);
    if (!value.empty()) text += std::string("    ") + name + ": " + one_line(value) + "\r\n";
  }
  text += "    Accepted here: " + mail_date(options.arrived) + "\r\n\r\n";
  for (const ReportedRecipient& one : told) {
    text += "<" + one.recipient.address + ">:\r\n    " + sentence_for(one, options) + "\r\n    ";
    text.append(advice_for(one)).append("\r\n");
  }
  return text;
}

/// RFC 3464 2.3.6: "smtp" is only for the reply of a mail server, with its code.
std::string diagnostic_of(const ReportedRecipient& one) {
  if (one.smtp_code == 0) return "X-ACP142; " + one_line(one.text);
  return "smtp; " + std::to_string(one.smtp_code) + " " + one_line(one.text);
}

void put_recipient(std::string& out, const ReportedRecipient& one, const ReportOptions& options) {
  out += "\r\n";
  if (const std::string* original = find_parameter(one.recipient.parameters, "ORCPT")) {
    out += "Original-Recipient: " + *original + "\r\n";
  }
  out += "Final-Recipient: rfc822;" + one.recipient.address + "\r\n";
  out.append("Action: ").append(name_of(one.action)).append("\r\n");
  out += "Status: " + one.status + "\r\n";
  if (one.action != Action::relayed) {
    if (!one.remote.empty()) out += "Remote-MTA: " + one.remote + "\r\n";
    out += "Diagnostic-Code: " + diagnostic_of(one) + "\r\n";
  }
  if (one.action == Action::delayed) {
    out += "Will-Retry-Until: " + mail_date(options.retry_until) + "\r\n";
  }
}

}  // namespace

std::optional<Mail> make_report(const Path& from, ByteSpan content,
                                const std::vector<ReportedRecipient>& recipients,
                                const ReportOptions& options) {
  if (from.address.empty()) return std::nullopt;
  std::vector<ReportedRecipient> told;
  std::copy_if(recipients.begin(), recipients.end(), std::back_inserter(told), wanted);
  if (told.empty()) return std::nullopt;
  const bool failed = std::any_of(told.begin(), told.end(), [](const ReportedRecipient& one) {
    return one.action == Action::failed;
  });

  const std::string boundary = "report-" + options.id;
  std::string text =
      "Date: " + mail_date(options.now) + "\r\nFrom: Mail gateway <postmaster@" + options.hostname +
      ">\r\nTo: <" + from.address + ">\r\nSubject: " + subject_of(told, content) +
      "\r\nMessage-ID: <report." + options.id + "@" + options.hostname +
      ">\r\nAuto-Submitted: auto-replied\r\nMIME-Version: 1.0\r\n"
      "Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary=\"" +
      boundary + "\"\r\n\r\n--" + boundary +
      "\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n";
  text += words_for(told, content, options);
  text += "\r\n--" + boundary + "\r\nContent-Type: message/delivery-status\r\n\r\n";
  if (const std::string* id = find_parameter(from.parameters, "ENVID")) {
    text += "Original-Envelope-Id: " + *id + "\r\n";
  }
  text += "Reporting-MTA: dns; " + options.hostname +
          "\r\nArrival-Date: " + mail_date(options.arrived) + "\r\n";
  for (const ReportedRecipient& one : told) put_recipient(text, one, options);

  // RET is about failures (RFC 3461 4.3). A text with lines that cannot be embedded as they are is
  // represented by its header.
  const std::string* ret = find_parameter(from.parameters, "RET");
  const LineCheck lines = check_lines(content);
  const bool whole = failed && ret != nullptr && same_but_for_case(*ret, "FULL") && !lines.bare &&
                     !lines.zero && content.size() <= options.content_octets_max;
  const std::size_t octets =
      whole ? content.size() : std::min(header_octets(content), options.content_octets_max);
  std::string returned(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(octets));
  if (!whole) {
    // A long header ends at the end of a line.
    const LineCheck header = check_lines(content.first(octets));
    if (header.bare || header.zero) returned.clear();
    returned.resize(std::min(returned.size(), returned.rfind("\r\n") + 2));
  }
  text += "\r\n--" + boundary +
          "\r\nContent-Type: " + (whole ? "message/rfc822" : "text/rfc822-headers") + "\r\n";
  if (check_lines({reinterpret_cast<const std::uint8_t*>(returned.data()), returned.size()})
          .eight_bit) {
    text += "Content-Transfer-Encoding: 8bit\r\n";
  }
  text += "\r\n" + returned + "\r\n--" + boundary + "--\r\n";

  Mail report;
  report.envelope.recipients.push_back({from.address, {{"NOTIFY", "NEVER"}}});
  if (const std::string* priority = find_parameter(from.parameters, "MT-PRIORITY")) {
    report.envelope.from.parameters.push_back({"MT-PRIORITY", *priority});
  }
  report.content.assign(text.begin(), text.end());
  return report;
}

}  // namespace s5066::acp142
