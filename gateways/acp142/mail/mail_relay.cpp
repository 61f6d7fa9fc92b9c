// What came over the air: for our mail server, and for somebody behind another station (RFC 8494
// 3.3).
#include <algorithm>
#include <charconv>
#include <utility>

#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/next_hops.h"
#include "gateways/acp142/mail/repeat_marks.h"
#include "s5066d/base/duration_text.h"

namespace s5066::acp142 {

using Kind = MailNews::Kind;

namespace {

// Who forwards by hand may bring a message here again; what comes more often goes in circles, and
// each circle is minutes of air time.
constexpr std::size_t kOwnTracesMax = 1;

constexpr std::size_t kTracesOctetsMax = 64u << 10;  // of a content, searched for trace fields
constexpr std::size_t kClocksMax = 4096;

/// Returns the time in the first trace field of the node, as its gateway writes it: "id SECONDS.N
/// (MULE 10.1.1.1)". `at`: where to begin; then the place behind the field's mark.
std::optional<UtcSeconds> next_trace_time(std::string_view content, NodeId node, std::size_t& at) {
  std::size_t mark = std::string_view::npos;
  std::size_t octets = 0;
  for (const char* with : {"MULE", "ESMTP", "ESMTPS"}) {
    const std::string text = " " + trace_mark(node, with);
    const std::size_t found = content.find(text, at);
    if (found >= mark) continue;
    mark = found;
    octets = text.size();
  }
  if (mark == std::string_view::npos) return std::nullopt;
  at = mark + octets;
  const std::size_t id = content.substr(0, mark).rfind(" id ");
  std::int64_t seconds = 0;
  if (id == std::string_view::npos) return UtcSeconds{};
  const char* begin = content.data() + id + 4;
  const auto [end, bad] = std::from_chars(begin, content.data() + mark, seconds);
  return UtcSeconds{bad == std::errc() && *end == '.' ? seconds : 0};
}

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

// No PDU carries the time of day, but the trace field of a gateway of ours does. A message that
// came to us was written to by the station before; a report, or a message that comes back, was sent
// by us before the station wrote to it. Both show a difference that is at least so large.
void MailCore::note_clock(Instant now, NodeId source, ByteSpan content) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()),
                              std::min(content.size(), kTracesOctetsMax));
  std::size_t at = 0;
  const auto theirs = next_trace_time(text.substr(0, header_octets(content)), source, at);
  if (!theirs || theirs->value <= 0) return;
  const auto tolerance = std::chrono::duration_cast<std::chrono::seconds>(config_.clock_tolerance);
  std::chrono::seconds ahead(theirs->value - utc(now).value);
  if (ahead <= tolerance) {
    std::int64_t ours = 0;
    while (const auto one = next_trace_time(text, config_.node, at)) {
      if (one->value <= utc(now).value) ours = std::max(ours, one->value);
    }
    if (ours == 0 || ours - theirs->value <= tolerance.count()) return;
    ahead = std::chrono::seconds(theirs->value - ours);
  }
  if (clocks_apart_.size() >= kClocksMax) clocks_apart_.clear();
  clocks_apart_[source] = {ahead, now};
  if (!clock_news_.due(now, source)) return;
  news(Kind::clock_apart, {}, source, {},
       "our clock is " + std::string(ahead.count() > 0 ? "behind by " : "ahead by ") +
           duration_text(ahead) + " or more");
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
    note_clock(now, received.name.source, mail->content);
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
