// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_relay.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gateways/acp142/mail/next_hops.h"
#include "gateways/acp142/mail/trace_fields.h"

namespace s5066::acp142 {
namespace {

// An operator who forwards by hand may bring a message here again. A message with more of our trace
// fields is in a loop, and each turn of the loop takes minutes of air time.
constexpr std::size_t kOwnTracesMax = 1;

bool has(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

std::size_t MailRelay::own_traces(const Bytes& content) const {
  std::size_t n = 0;
  for (const MailWay way : kMailWays) {
    n += count_header_fields_with(content, "Received", trace_mark(config_.node, trace_name(way)));
  }
  return n;
}

bool MailRelay::for_others(const Received& received) const {
  return std::any_of(received.destinations.begin(), received.destinations.end(),
                     [&](const NodeId one) { return one != config_.node; });
}

// A gateway of this suite tells which recipients belong to which station if there are several
// stations. It sends nothing to a station without recipients, so a field that says so is not of
// such a gateway. Without the field the gateway is an older one, or the message was for us alone;
// then it is certain for whom the message is.
MailRelay::Duties MailRelay::duties(const Received& received, Mail& mail) const {
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
  duties.certain |= has_first_trace_of(mail.content, source);
  return duties;
}

// Recipients of our mail server stay in `mail`. The others are relayed, or reported if that is
// impossible. Other stations of the transmission do not matter, because it may never reach them;
// only the station from which the message came has it. A relayed message keeps its expiry.
std::vector<NewMail> MailRelay::relay(Instant now, const Received& received, Mail& mail,
                                      std::vector<MailNews>& told, MailWay by) {
  Duties duty = duties(received, mail);
  duty.certain |= by != MailWay::p_mul;
  const bool circles =
      count_header_fields(mail.content, "Received") > config_.received_fields_max ||
      own_traces(mail.content) > kOwnTracesMax;
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
      if (duty.certain)
        fail(recipient, "5.4.4", "the station that it was sent to has no route for this address");
      continue;
    }
    const bool goes_back = std::all_of(route->stations.begin(), route->stations.end(),
                                       [&](const NodeId next) { return next == source; });
    // A sender that names no stations may have meant another station of the transmission.
    if (goes_back && !duty.certain && others) continue;
    if (circles || goes_back) {
      fail(recipient, "5.4.6", "the routes of the stations form a circle");
    } else {
      onward.envelope.recipients.push_back(recipient);
    }
  }
  mail.envelope.recipients = std::move(own);
  std::vector<NewMail> mails;
  if (!failed.empty()) {
    told.push_back({MailNews::Kind::failed,
                    {},
                    source,
                    mail.envelope.from.address,
                    failed[0].text,
                    mail.content.size()});
    MailItem item;
    item.from = mail.envelope.from;
    item.priority = received.priority;
    item.created = utc_.utc(now);
    item.expiry = received.expiry;
    item.content = std::make_shared<const Bytes>(mail.content);
    mails = reporter_.report(now, item, failed, told);
  }
  if (onward.envelope.recipients.empty()) return mails;
  onward.content = mail.content;
  router_.add_trace(now, onward.content, "", trace_name(by));
  for (NewMail& one : router_.route(now, std::move(onward), {}, received.priority)) {
    std::erase_if(one.targets, [&](const NewTarget& target) { return target.station == source; });
    if (one.targets.empty()) continue;
    one.expiry.value = std::min(one.expiry.value, received.expiry.value);
    mails.push_back(std::move(one));
  }
  return mails;
}

}  // namespace s5066::acp142
