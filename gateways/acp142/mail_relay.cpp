// What came over the air: for our mail server, and for somebody behind another station (RFC 8494
// 3.3).
#include <algorithm>
#include <utility>

#include "gateways/acp142/mail_core.h"
#include "gateways/acp142/next_hops.h"
#include "gateways/acp142/repeat_marks.h"

namespace s5066::acp142 {

using Kind = MailNews::Kind;

namespace {

// Who forwards by hand may bring a message here again; what comes more often goes in circles, and
// each circle is minutes of air time.
constexpr std::size_t kOwnTracesMax = 1;

bool has(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

std::string trace_mark(NodeId node, std::string_view with) {
  return "(" + std::string(with) + " " + dotted(node) + ")";
}

bool MailCore::for_others(const Received& received) const {
  return std::any_of(received.destinations.begin(), received.destinations.end(),
                     [&](const NodeId one) { return one != config_.node; });
}

// A gateway of ours says which recipients are whose where there is more than one station. It sends
// nothing to a station that nothing is for, so a field that says so is not by it. Where it has not
// said anything it is an older one, or only we were meant: what it means for whom is certain then.
MailCore::Duties MailCore::duties(const Received& received, Mail& mail) const {
  const NodeId source = received.name.source;
  const std::size_t recipients = mail.envelope.recipients.size();
  const auto hops = take_next_hops(source, recipients, mail.content);
  Duties duties{.ours = std::vector<bool>(recipients, true), .certain = hops.has_value()};
  if (hops) {
    const auto is_ours = [&](const auto& stations) { return has(stations, config_.node); };
    duties.certain = std::any_of(hops->begin(), hops->end(), is_ours);
    for (std::size_t i = 0; duties.certain && i < recipients; ++i) {
      duties.ours[i] = is_ours((*hops)[i]);
    }
    return duties;
  }
  if (for_others(received)) return duties;
  const std::string trace = header_field(mail.content, "Received");
  for (const char* with : {"MULE", "ESMTP", "ESMTPS"}) {
    duties.certain |= trace.find(trace_mark(source, with)) != std::string::npos;
  }
  return duties;
}

void MailCore::on_received(Instant now, const Received& received) {
  if (!started_ || receiving_ == config_.received_max) {
    actions_.emplace_back(ConfirmReceived{received.name, false});
    return;
  }
  AcceptMail accept;
  accept.now = utc(now);
  accept.name = received.name;
  accept.name_expiry = received.expiry;
  auto payload = decode_cdt(received.content, config_.inflate);
  accept.name_content = payload ? *payload : received.content;
  auto mail = payload ? decode_mule(*payload, config_.mule) : payload.error();
  Pending pending;
  MailNews& came = pending.came;
  came.station = received.name.source;
  came.name = received.name;
  if (!mail) {
    // It would be the same again; so it is taken, and dropped (RFC 8494 5.1).
    came.kind = Kind::unreadable;
    came.detail = to_string(mail.error());
    came.octets = received.content.size();
  } else {
    came.address = mail->envelope.from.address;
    came.octets = mail->content.size();
    came.label = header_field(mail->content, "Message-ID").substr(0, kLabelOctetsMax);
    for (const Path& one : mail->envelope.recipients) came.recipients.push_back(one.address);
    accept.mails = relay(now, received, *mail, pending.more);
    if (!mail->envelope.recipients.empty()) {
      const auto marks = repeat_marks(*mail, "air");
      add_trace(now, mail->content, "", "MULE");
      for (NewMail& one : route(now, *std::move(mail), marks, received.priority)) {
        // Once here it has the time that a mail server has.
        one.expiry.value = accept.now.value + kMailServerLifetimeS;
        accept.mails.push_back(std::move(one));
      }
    }
    came.kind = accept.mails.empty() && pending.more.empty() ? Kind::not_for_us : Kind::received;
  }
  for (NewMail& one : accept.mails) one.heard = received.name;
  pending.parts = parts_of(accept.mails);
  pending.asked = Asked::received;
  pending.name = received.name;
  ++receiving_;
  ask(std::move(accept), std::move(pending));
}

void MailCore::on_kept(Pending pending, const MailKept& kept) {
  MailNews& came = pending.came;
  const auto none = [](MailId id) { return id.value == 0; };
  if (kept.repeat != MailKept::Repeat::none) {
    came.kind = Kind::received_again;
    came.detail = kept.repeat == MailKept::Repeat::other
                      ? "dropped: other content under a number that is still in use"
                      : "";
    pending.more.clear();
  } else if (!kept.ids.empty() && std::all_of(kept.ids.begin(), kept.ids.end(), none)) {
    came.kind = Kind::received_again;
    came.detail = "by another way";
  }
  stats_.received += came.kind == Kind::received ? 1 : 0;
  stats_.received_again += came.kind == Kind::received_again ? 1 : 0;
  stats_.unreadable += came.kind == Kind::unreadable ? 1 : 0;
  MailId first;
  std::vector<MailNews> others;
  for (std::size_t i = 0; came.kind == Kind::received && i < kept.ids.size(); ++i) {
    if (none(kept.ids[i])) continue;
    if (first.value == 0) {
      first = kept.ids[i];
      continue;
    }
    MailNews& other = others.emplace_back(std::move(pending.parts.at(i)));
    other.kind = Kind::queued;
    other.mail = kept.ids[i];
    other.first = first;
  }
  came.mail = first;
  actions_.emplace_back(std::move(came));
  for (MailNews& one : others) tell(std::move(one));
  for (MailNews& one : pending.more) tell(std::move(one));
}

// What is for us and goes to our mail server stays in `mail`; the rest is what goes on, and reports
// of what cannot. Whom the transmission was for besides us is no matter: it may never get there.
// Only the station that it came from has it. What goes on has no more time than it had.
std::vector<NewMail> MailCore::relay(Instant now, const Received& received, Mail& mail,
                                     std::vector<MailNews>& told) {
  const Duties duty = duties(received, mail);
  const bool circles =
      count_header_fields(mail.content, "Received") > config_.received_fields_max ||
      count_header_fields_with(mail.content, "Received", trace_mark(config_.node, "MULE")) >
          kOwnTracesMax;
  const NodeId source = received.name.source;
  const bool others = for_others(received);
  std::vector<Path> own;
  Mail onward;
  onward.envelope.from = mail.envelope.from;
  std::vector<ReportedRecipient> failed;
  const auto fail = [&](const Path& recipient, const char* status, const char* text) {
    failed.push_back({recipient, ReportedRecipient::Action::failed, status, text});
  };
  for (std::size_t i = 0; i < mail.envelope.recipients.size(); ++i) {
    const Path& recipient = mail.envelope.recipients[i];
    const Route* route = table_.find(recipient.address);
    if (!duty.ours[i]) continue;
    if (route != nullptr && route->own) {
      own.push_back(recipient);
      continue;
    }
    if (route == nullptr || !route->relay) {
      if (duty.certain) fail(recipient, "5.4.4", "no way on from the station it was sent to");
      continue;
    }
    const bool goes_back = std::all_of(route->stations.begin(), route->stations.end(),
                                       [&](const NodeId next) { return next == source; });
    // Who does not say for whom it is may have meant another of them.
    if (goes_back && !duty.certain && others) continue;
    if (circles || goes_back) {
      fail(recipient, "5.4.6", "it goes in circles between stations");
    } else {
      onward.envelope.recipients.push_back(recipient);
    }
  }
  mail.envelope.recipients = std::move(own);
  std::vector<NewMail> mails;
  if (!failed.empty()) {
    told.push_back({Kind::failed,
                    {},
                    source,
                    mail.envelope.from.address,
                    failed[0].text,
                    mail.content.size()});
    MailItem item;
    item.from = mail.envelope.from;
    item.priority = received.priority;
    item.created = utc(now);
    item.expiry = received.expiry;
    item.content = std::make_shared<const Bytes>(mail.content);
    mails = report(now, item, failed, told);
  }
  if (onward.envelope.recipients.empty()) return mails;
  onward.content = mail.content;
  add_trace(now, onward.content, "", "MULE");
  for (NewMail& one : route(now, std::move(onward), {}, received.priority)) {
    std::erase_if(one.targets, [&](const NewTarget& target) { return target.station == source; });
    if (one.targets.empty()) continue;
    one.expiry.value = std::min(one.expiry.value, received.expiry.value);
    mails.push_back(std::move(one));
  }
  return mails;
}

}  // namespace s5066::acp142
