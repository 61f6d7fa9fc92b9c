#include "gateways/acp142/delivery_report.h"

#include <algorithm>

namespace s5066::acp142 {
namespace {

using Action = ReportedRecipient::Action;

/// What others wrote goes into a header field: in one line, printable, not too long.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, 200)) {
    line.push_back(
        static_cast<unsigned char>(c) >= 32 && static_cast<unsigned char>(c) < 127 ? c : '?');
  }
  return line.empty() ? "no reason given" : line;
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

/// The worst that is reported.
std::string_view subject_of(const std::vector<ReportedRecipient>& told) {
  constexpr std::string_view kSubjects[] = {"Mail could not be delivered", "Mail is late",
                                            "Mail was handed on"};
  Action worst = Action::relayed;
  for (const ReportedRecipient& one : told) worst = std::min(worst, one.action);
  return kSubjects[static_cast<std::size_t>(worst)];
}

std::string sentence_for(const ReportedRecipient& one, const ReportOptions& options) {
  switch (one.action) {
    case Action::failed:
      return "not delivered: " + one_line(one.text);
    case Action::delayed:
      return "not delivered yet, tried until " + mail_date(options.retry_until) + ": " +
             one_line(one.text);
    case Action::relayed:
      return "handed to a mail server that does not report delivery";
  }
  return {};
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
    out += "Diagnostic-Code: X-s5066; " + one_line(one.text) + "\r\n";
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
      ">\r\nTo: <" + from.address + ">\r\nSubject: " + std::string(subject_of(told)) +
      "\r\nMessage-ID: <report." + options.id + "@" + options.hostname +
      ">\r\nAuto-Submitted: auto-replied\r\nMIME-Version: 1.0\r\n"
      "Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary=\"" +
      boundary + "\"\r\n\r\n--" + boundary +
      "\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n";
  for (const ReportedRecipient& one : told) {
    text += "<" + one.recipient.address + ">: " + sentence_for(one, options) + "\r\n";
  }
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
