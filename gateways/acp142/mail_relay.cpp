// What came over the air for somebody behind another station (RFC 8494 3.3).
#include <algorithm>
#include <utility>

#include "gateways/acp142/mail_core.h"

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
  const auto octet = [&](int shift) { return std::to_string(node.value >> shift & 0xFF); };
  return "(" + std::string(with) + " " + octet(24) + "." + octet(16) + "." + octet(8) + "." +
         octet(0) + ")";
}

// Each station of a group gets the envelope with the recipients of all, so that only the operator
// can say which of them passes a message on: by `relay` at the route. Stations that were in the
// same transmission have it already, and so has the one that it came from: it is going round only
// where nobody else would get it, and it was for nobody but us. It has no more time than it had.
std::vector<NewMail> MailCore::relay(Instant now, const Received& received, const Mail& mail) {
  const bool circles =
      count_header_fields(mail.content, "Received") > config_.received_fields_max ||
      count_header_fields_with(mail.content, "Received", trace_mark(config_.node, "MULE")) >
          kOwnTracesMax;
  Mail onward;
  onward.envelope.from = mail.envelope.from;
  std::vector<ReportedRecipient> looped;
  std::vector<NodeId> have_it = received.destinations;
  have_it.push_back(received.name.source);
  const bool for_others = std::any_of(received.destinations.begin(), received.destinations.end(),
                                      [&](const NodeId one) { return one != config_.node; });
  for (const Path& recipient : mail.envelope.recipients) {
    const Route* route = table_.find(recipient.address);
    if (route == nullptr || !route->relay) continue;
    const bool all_have_it = std::all_of(route->stations.begin(), route->stations.end(),
                                         [&](const NodeId next) { return has(have_it, next); });
    const bool went_back = has(route->stations, received.name.source) && !for_others;
    if (all_have_it && !went_back) continue;
    if (circles || all_have_it) {
      looped.push_back({recipient, ReportedRecipient::Action::failed, "5.4.6",
                        "it goes in circles between stations"});
    } else {
      onward.envelope.recipients.push_back(recipient);
    }
  }
  std::vector<NewMail> mails;
  if (!looped.empty()) {
    news(Kind::failed, {}, received.name.source, mail.envelope.from.address, looped[0].text);
    MailItem item;
    item.from = mail.envelope.from;
    item.created = utc(now);
    item.expiry = received.expiry;
    item.content = std::make_shared<const Bytes>(mail.content);
    mails = report(now, item, looped);
  }
  if (onward.envelope.recipients.empty()) return mails;
  onward.content = mail.content;
  add_trace(now, onward.content, "", "MULE");
  for (NewMail& one : route(now, std::move(onward), {})) {
    std::erase_if(one.targets,
                  [&](const NewTarget& target) { return has(have_it, target.station); });
    if (one.targets.empty()) continue;
    one.expiry.value = std::min(one.expiry.value, received.expiry.value);
    mails.push_back(std::move(one));
  }
  return mails;
}

}  // namespace s5066::acp142
