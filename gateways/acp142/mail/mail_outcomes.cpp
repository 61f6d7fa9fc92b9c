// How an attempt ends: refused, answered by stations or by the mail server, or taken back by an
// operator; and what its sender is told.
#include <algorithm>
#include <utility>

#include "gateways/acp142/mail/delivery_report.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/next_hops.h"
#include "s5066d/base/assert.h"

namespace s5066::acp142 {

using Kind = MailNews::Kind;

// Each end of an attempt gives the spool a time for the next. It counts where something is open
// there, which an operator may have made of what has ended here.

// What P_MUL has, or may have, is ended by it; what it has not been given yet, here.
void MailCore::on_operator(Instant now, MailId id, OperatorVerb verb) {
  if (verb == OperatorVerb::requeue) delay_at_ = now;  // its sender may have to be told of it again
  const auto found = active_.find(id);
  if (found == active_.end()) return;
  Active& active = found->second;
  active.withdrawn = verb != OperatorVerb::release;
  active.removed = verb == OperatorVerb::remove;
  if (active.withdrawn && active.submitted) {
    actions_.emplace_back(Cancel{{static_cast<std::uint64_t>(id.value)}});
  }
}

void MailCore::end_withdrawn(Instant now, MailId id) {
  const auto found = active_.find(id);
  S5066_ASSERT(found != active_.end());
  const MailItem item = std::move(found->second.item);
  active_.erase(found);
  save(now, SaveOutcome{.id = id, .changes = {}, .next_try = utc(now), .now = utc(now)}, item);
}

void MailCore::end_suspended(Instant now, MailId id) {
  const auto found = active_.find(id);
  S5066_ASSERT(found != active_.end());
  const MailItem item = std::move(found->second.item);
  active_.erase(found);
  const auto stations = open_stations(item);
  const bool silent = std::all_of(stations.begin(), stations.end(), [this](NodeId station) {
    return silent_stations_.contains(station);
  });
  const bool heard = std::any_of(stations.begin(), stations.end(), [this](NodeId station) {
    return !suspended_stations_.contains(station);
  });
  const UtcSeconds again = heard    ? utc(now)
                           : silent ? item.expiry
                                    : utc(now + config_.suspended_for);
  save(now, SaveOutcome{.id = id, .changes = {}, .next_try = again, .now = utc(now)}, item);
}

void MailCore::on_unanswered(const Unanswered& unanswered) {
  const auto found = active_.find(MailId{static_cast<std::int64_t>(unanswered.key.value)});
  if (found != active_.end()) found->second.unanswered.insert(unanswered.node);
}

MailCore::InHand MailCore::in_hand(MailId id) const {
  if (active_.contains(id)) return InHand::under_way;
  const auto ends = [id](const Pending& one) {
    return one.asked == Asked::outcome && one.id == id;
  };
  const bool ending = std::any_of(pending_.begin(), pending_.end(),
                                  [&](const auto& entry) { return ends(entry.second); }) ||
                      std::any_of(retries_.begin(), retries_.end(),
                                  [&](const auto& entry) { return ends(entry.second); });
  return ending ? InHand::ending : InHand::no;
}

std::vector<NodeId> MailCore::waits_for(MailId id) const {
  const auto found = active_.find(id);
  return found == active_.end() ? std::vector<NodeId>() : open_stations(found->second.item);
}

void MailCore::on_submit_refused(Instant now, MessageKey key, const Error& why) {
  const auto found = active_.find(MailId{static_cast<std::int64_t>(key.value)});
  if (found == active_.end()) return;
  if (found->second.withdrawn) return end_withdrawn(now, found->first);
  const MailItem item = std::move(found->second.item);
  active_.erase(found);
  SaveOutcome outcome{.id = item.id, .changes = {}, .now = utc(now)};
  outcome.counts_as_attempt = true;
  if (why.code == ErrorCode::too_large) {
    std::vector<ReportedRecipient> told;
    for (const MailTarget& target : item.targets) {
      if (!is_open(target)) continue;
      outcome.changes.push_back({target.number, SpoolState::failed, why.detail});
      told.push_back({target.recipient, ReportedRecipient::Action::failed, "5.3.4", why.detail});
    }
    ++stats_.failed;
    news(Kind::failed, item.id, {}, item.from.address, why.detail);
    add_report(now, outcome, item, told);
  } else {
    const Duration wait = back_off(item.attempts, config_.retry_min, config_.retry_max);
    outcome.next_try = utc(now + wait);
    news(Kind::deferred, item.id, {}, item.from.address, to_string(why));
  }
  save(now, std::move(outcome), item);
}

void MailCore::on_destination_ended(Instant now, const DestinationEnded& ended) {
  const auto found = active_.find(MailId{static_cast<std::int64_t>(ended.key.value)});
  if (found == active_.end()) return;
  Active& active = found->second;
  MailItem& item = active.item;
  if (ended.outcome == Outcome::cancelled || ended.outcome == Outcome::suspended) {
    active.waiting_for -= std::min<std::size_t>(active.waiting_for, 1);
    if (active.waiting_for > 0) return;
    return active.withdrawn ? end_withdrawn(now, item.id) : end_suspended(now, item.id);
  }
  SaveOutcome outcome{.id = item.id, .changes = {}, .now = utc(now)};
  std::vector<ReportedRecipient> told;
  const bool reached = ended.outcome == Outcome::delivered || ended.outcome == Outcome::sent;
  const SpoolState state = reached                             ? SpoolState::delivered
                           : ended.outcome == Outcome::expired ? SpoolState::expired
                           : ended.outcome == Outcome::failed  ? SpoolState::deferred
                                                               : SpoolState::failed;
  for (MailTarget& target : item.targets) {
    if (target.station != ended.node || !is_open(target)) continue;
    target.state = state;
    target.reason = ended.reason;
    outcome.changes.push_back({target.number, state, ended.reason});
    if (state == SpoolState::expired || state == SpoolState::failed) {
      told.push_back({target.recipient, ReportedRecipient::Action::failed, "5.4.7",
                      ended.reason.empty() ? "the station did not answer in time" : ended.reason, 0,
                      "X-ACP142; " + dotted(ended.node)});
    }
  }
  if (outcome.changes.empty()) return;
  active.waiting_for -= std::min<std::size_t>(active.waiting_for, 1);
  news(reached                         ? Kind::delivered
       : state == SpoolState::expired  ? Kind::expired
       : state == SpoolState::deferred ? Kind::deferred
                                       : Kind::failed,
       item.id, ended.node, item.from.address, ended.reason, item.size);
  stats_.delivered += reached ? 1 : 0;
  stats_.expired += state == SpoolState::expired ? 1 : 0;
  note_station(now, ended, active.begun);
  if (!active.removed) add_report(now, outcome, item, told);
  const bool last = active.waiting_for == 0;
  const bool open = std::any_of(item.targets.begin(), item.targets.end(), is_open);
  if (last) outcome.next_try = utc(now);
  if (last && open) {
    outcome.counts_as_attempt = true;
    // Whose time was up may have it all the same, and is asked again under this number, if at all.
    outcome.forget_submission =
        std::none_of(item.targets.begin(), item.targets.end(),
                     [](const MailTarget& target) { return target.state == SpoolState::expired; });
    outcome.next_try = utc(now + back_off(item.attempts, config_.retry_min, config_.retry_max));
  }
  save(now, std::move(outcome), item);
  if (last) active_.erase(found);
}

// A station that let a message expire is asked again only now and then, so that the air is free
// for those who answer. That needs a question that it could have answered: something was sent to
// it, the time for its answer has passed, and no PDU of it has come since. A station in EMCON, or a
// time when we may not transmit, does not count.
void MailCore::note_station(Instant now, const DestinationEnded& ended, Instant begun) {
  const NodeId node = ended.node;
  const bool reached = ended.outcome == Outcome::delivered || ended.outcome == Outcome::sent;
  if (!reached && (silent_ || silent_stations_.contains(node))) return;
  const auto heard = heard_at_.find(node);
  const bool heard_since = heard != heard_at_.end() && heard->second > begun;
  if (!reached && (!ended.unanswered || heard_since)) return;
  StationRow& row = stations_[node];
  row.station = node;
  if (reached && row.failures == 0) return;
  row.failures = reached ? 0 : row.failures + 1;
  row.reason = reached ? std::string() : ended.reason;
  row.dead_until = {};
  if (!reached) {
    row.dead_until = utc(now + back_off(row.failures - 1, config_.dead_min, config_.dead_max));
    news(Kind::station_dead, {}, node, {}, ended.reason);
  }
  save_station(node);
}

// As it is now: what could not be written before is older.
void MailCore::save_station(NodeId node) {
  Pending pending;
  pending.asked = Asked::station;
  pending.node = node;
  unsaved_stations_.erase(node);
  ask(SaveStation{stations_[node]}, std::move(pending));
}

void MailCore::on_delivered(Instant now, MailId id, const SmtpClientCore::Done& done) {
  const auto found = active_.find(id);
  if (found == active_.end()) return;
  const MailItem item = std::move(found->second.item);
  const bool withdrawn = found->second.withdrawn;
  const bool removed = found->second.removed;
  active_.erase(found);
  SaveOutcome outcome{.id = id, .changes = {}, .next_try = utc(now), .now = utc(now)};
  outcome.counts_as_attempt = true;
  std::vector<ReportedRecipient> told;
  std::size_t i = 0;
  for (const MailTarget& target : item.targets) {
    if (!is_open(target)) continue;
    S5066_ASSERT(i < done.outcomes.size());
    const RecipientOutcome& one = done.outcomes[i++];
    const bool delivered = one.kind == RecipientOutcome::Kind::delivered;
    const bool failed = one.kind == RecipientOutcome::Kind::failed;
    outcome.changes.push_back({target.number,
                               delivered ? SpoolState::delivered
                               : failed  ? SpoolState::failed
                                         : SpoolState::deferred,
                               delivered ? std::string() : one.text});
    news(delivered ? Kind::delivered
         : failed  ? Kind::failed
                   : Kind::deferred,
         id, {}, target.recipient.address, one.text, item.size);
    stats_.delivered += delivered ? 1 : 0;
    stats_.failed += failed ? 1 : 0;
    if (!delivered && !failed) {
      const Duration wait = back_off(item.attempts, config_.retry_min, config_.retry_max);
      outcome.next_try = utc(withdrawn ? now : now + wait);
    } else if (failed || !done.reports) {
      told.push_back(
          {target.recipient,
           failed ? ReportedRecipient::Action::failed : ReportedRecipient::Action::relayed,
           one.status, one.text, one.code,
           one.code != 0 ? "dns; " + config_.mail_server : std::string()});
    }
  }
  if (!removed) add_report(now, outcome, item, told);
  save(now, std::move(outcome), item);
}

void MailCore::add_report(Instant now, SaveOutcome& outcome, const MailItem& item,
                          const std::vector<ReportedRecipient>& recipients) {
  std::vector<MailNews> told;
  outcome.reports = report(now, item, recipients, told);
  for (MailNews& one : told) tell(std::move(one));
}

// RFC 3461 5.2.7: nobody is told that it is late unless he asked for it.
void MailCore::tell_delay(Instant now, const MailItem& item) {
  std::vector<ReportedRecipient> told;
  for (const MailTarget& target : item.targets) {
    const bool listed = std::any_of(told.begin(), told.end(), [&](const ReportedRecipient& one) {
      return one.recipient.address == target.recipient.address;
    });
    if (!is_open(target) || listed) continue;
    told.push_back({target.recipient, ReportedRecipient::Action::delayed, "4.4.7",
                    target.reason.empty() ? "it has not been delivered yet" : target.reason});
  }
  Pending pending;
  pending.asked = Asked::told;
  pending.id = item.id;
  ++telling_;
  std::vector<MailNews> reported;
  ask(SaveDelayed{item.id, utc(now), report(now, item, told, reported)}, std::move(pending));
  for (MailNews& one : reported) tell(std::move(one));
}

std::vector<NewMail> MailCore::report(Instant now, const MailItem& item,
                                      const std::vector<ReportedRecipient>& recipients,
                                      std::vector<MailNews>& told) {
  if (recipients.empty()) return {};
  if (item.from.address.empty()) {
    const auto failed = [](const auto& one) {
      return one.action == ReportedRecipient::Action::failed;
    };
    if (std::any_of(recipients.begin(), recipients.end(), failed)) {
      told.push_back({Kind::report_lost, item.id, {}, recipients[0].recipient.address, {}, 0});
    }
    return {};
  }
  const auto report =
      make_report(item.from, *item.content, recipients,
                  {.hostname = config_.hostname,
                   .id = std::to_string(utc(now).value) + "." + std::to_string(++last_trace_),
                   .arrived = item.created,
                   .now = utc(now),
                   .retry_until = item.expiry});
  if (!report) return {};
  // The mail server of this station knows the way to senders that have no route here.
  auto mails = route(now, *report, {}, item.priority, Unrouted::to_mail_server);
  for (NewMail& one : mails) {
    one.about = item.id;
    if (one.road == Road::smtp) one.expiry.value = utc(now).value + kMailServerLifetimeS;
  }
  told.push_back({Kind::reported, item.id, {}, item.from.address, {}, 0});
  return mails;
}

}  // namespace s5066::acp142
