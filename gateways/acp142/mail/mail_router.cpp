// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_router.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "gateways/acp142/mail/trace_fields.h"

namespace s5066::acp142 {

/// The precedence of the envelope comes first, then a field MT-Priority (RFC 6758), then the
/// configured fields. Without any of them it is 0.
void MailRouter::settle_precedence(Mail& mail, int most) const {
  Parameters& said = mail.envelope.from.parameters;
  if (!find_parameter(said, "MT-PRIORITY")) {
    std::optional<int> level = mt_priority_field(mail.content);
    for (const PriorityField& one : config_.priority_fields) {
      if (level) break;
      const std::string value = header_field(mail.content, one.name);
      const std::string_view word = std::string_view(value).substr(0, value.find_first_of(" (;,"));
      if (word.size() == one.value.size() && same_but_for_case(word, one.value)) {
        level = one.mt_priority;
      }
    }
    if (level.value_or(0) != 0) set_mt_priority(said, *level);
  }
  if (mt_priority(said) > most) set_mt_priority(said, most);
}

// The air and the mail server are two ways, so a message for both becomes two in the spool.
std::vector<NewMail> MailRouter::route(Instant now, Mail mail,
                                       const std::vector<std::string>& marks, std::uint8_t priority,
                                       Unrouted unrouted) const {
  NewMail air;
  if (!find_parameter(mail.envelope.from.parameters, "MT-PRIORITY")) {
    // RFC 6758: a server without the extension put the precedence into this field.
    const int level = mt_priority_field(mail.content).value_or(0);
    if (level != 0) set_mt_priority(mail.envelope.from.parameters, level);
  }
  const bool said = find_parameter(mail.envelope.from.parameters, "MT-PRIORITY") != nullptr;
  air.priority = said ? p_mul_priority(mt_priority(mail.envelope.from.parameters)) : priority;
  air.expiry = expiry_of(now, mail.envelope.from.parameters, air.priority);
  air.label = header_field(mail.content, "Message-ID").substr(0, kLabelOctetsMax);
  air.from = std::move(mail.envelope.from);
  air.content = std::make_shared<const Bytes>(std::move(mail.content));
  NewMail own = air;
  own.transport = Transport::smtp;
  for (std::size_t i = 0; i < mail.envelope.recipients.size(); ++i) {
    const Path& recipient = mail.envelope.recipients[i];
    const Route* route = table_.find(recipient.address);
    if (route == nullptr) {
      if (unrouted == Unrouted::to_mail_server) own.targets.push_back({recipient, {}, {}});
      continue;
    }
    const std::string mark = i < marks.size() ? marks[i] : std::string();
    if (route->own) own.targets.push_back({recipient, {}, mark});
    for (const NodeId station : route->stations) {
      // Each row has a mark of its own, because the second station of a group would otherwise count
      // as a repeat.
      const std::string row_mark = mark.empty() ? mark : mark + std::to_string(station.value);
      air.targets.push_back({recipient, station, row_mark});
    }
  }
  std::vector<NewMail> mails = by_transmission(air);
  if (!own.targets.empty()) mails.push_back(std::move(own));
  for (NewMail& one : mails) {
    const bool wanted = std::any_of(
        one.targets.begin(), one.targets.end(),
        [](const NewTarget& target) { return notify_of(target.recipient.parameters).delay; });
    if (!wanted || one.from.address.empty()) continue;
    one.delay = utc_.utc(now + config_.delay_after);
  }
  return mails;
}

// Stations get a message by one transmission only if they are to get the same octets.
std::vector<NewMail> MailRouter::by_transmission(const NewMail& air) const {
  std::vector<NewMail> mails;
  for (const auto& [node, way] : config_.ways) {
    NewMail alone = air;
    std::erase_if(alone.targets, [n = node](const NewTarget& one) { return one.station != n; });
    if (!alone.targets.empty()) mails.push_back(std::move(alone));
  }
  for (const bool explicit_tags : {false, true}) {
    NewMail part = air;
    std::erase_if(part.targets, [&](const NewTarget& target) {
      return config_.ways.contains(target.station) ||
             config_.explicit_tags.contains(target.station) != explicit_tags;
    });
    if (part.targets.empty()) continue;
    for (NewMail& one : by_group(part)) mails.push_back(std::move(one));
  }
  return mails;
}

// Several stations get a message by one transmission only if a group reaches them; all others get
// it one by one. The group that reaches most stations comes first, and of two such groups the
// smaller.
std::vector<NewMail> MailRouter::by_group(const NewMail& air) const {
  std::set<NodeId> left;
  for (const NewTarget& target : air.targets) left.insert(target.station);
  const auto has_all = [&left](const std::vector<NodeId>& group) {
    return std::all_of(left.begin(), left.end(), [&](const NodeId node) {
      return std::find(group.begin(), group.end(), node) != group.end();
    });
  };
  const auto& groups = config_.groups;
  if (config_.any_group && std::none_of(groups.begin(), groups.end(), has_all)) return {air};
  std::vector<NewMail> mails;
  while (!left.empty()) {
    std::set<NodeId> together{*left.begin()};
    std::size_t best_size = 0;
    for (const auto& group : config_.groups) {
      std::set<NodeId> reached;
      for (const NodeId node : group) {
        if (left.contains(node)) reached.insert(node);
      }
      const bool better = reached.size() > together.size() ||
                          (reached.size() == together.size() && group.size() < best_size);
      if (reached.size() < 2 || !better) continue;
      together = std::move(reached);
      best_size = group.size();
    }
    NewMail one = air;
    std::erase_if(one.targets, [&](const NewTarget& t) { return !together.contains(t.station); });
    mails.push_back(std::move(one));
    for (const NodeId node : together) left.erase(node);
  }
  return mails;
}

UtcSeconds MailRouter::expiry_of(Instant now, const Parameters& from, std::uint8_t priority) const {
  const std::size_t last = config_.lifetime_s.size() - 1;
  const std::int64_t most = config_.lifetime_s[std::min<std::size_t>(priority, last)];
  const auto by = deliver_by(from);
  const std::int64_t seconds = by && by->returned ? by->seconds : most;
  return {utc_.utc(now).value + std::clamp<std::int64_t>(seconds, 1, most)};
}

void MailRouter::add_trace(Instant now, Bytes& content, const std::string& from, const char* with) {
  const UtcSeconds at = utc_.utc(now);
  const std::string field = "Received: " + from + "by " + config_.hostname + " with " + with +
                            " id " + next_id(now) + " " + trace_mark(config_.node, with) +
                            ";\r\n\t" + mail_date(at) + "\r\n";
  content.insert(content.begin(), field.begin(), field.end());
}

MailWay MailRouter::way_of(NodeId station) const {
  const auto found = config_.ways.find(station);
  return found == config_.ways.end() ? MailWay::p_mul : found->second;
}

/// All stations of a row take the same form, unless the configuration has changed since.
CdtTags MailRouter::tags_for(const MailItem& item) const {
  const bool all = std::all_of(item.targets.begin(), item.targets.end(), [&](const auto& target) {
    return config_.explicit_tags.contains(target.station);
  });
  return all ? CdtTags::explicit_ : CdtTags::implicit_;
}

std::string MailRouter::next_id(Instant now) {
  return std::to_string(utc_.utc(now).value) + "." + std::to_string(++last_id_);
}

}  // namespace s5066::acp142
