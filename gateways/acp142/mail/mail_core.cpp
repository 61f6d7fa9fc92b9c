// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_core.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gateways/acp142/mail/cdt.h"
#include "gateways/acp142/mail/mule.h"
#include "gateways/acp142/mail/next_hops.h"
#include "gateways/acp142/mail/repeat_marks.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/base/take_front.h"

namespace s5066::acp142 {

namespace {

constexpr CounterTable<MailCounter> kMailCounters({
    {MailCounter::accepted, "mail_accepted", "messages", "messages taken over from mail programs"},
    {MailCounter::delivered, "mail_delivered", "deliveries",
     "deliveries to a recipient or station that were completed"},
    {MailCounter::failed, "mail_failed", "deliveries", "deliveries given up"},
    {MailCounter::expired, "mail_expired", "deliveries", "deliveries whose time ended"},
    {MailCounter::received, "mail_received", "messages",
     "messages received from other stations and kept"},
    {MailCounter::received_again, "mail_received_again", "messages",
     "messages received that were in the spool already"},
    {MailCounter::unreadable, "mail_unreadable", "messages",
     "messages received that could not be read"},
    {MailCounter::reports, "mail_reports", "reports", "reports about deliveries that were written"},
    {MailCounter::store_errors, "mail_store_errors", "errors",
     "requests that the spool could not carry out"},
    {MailCounter::parked, "mail_parked", "messages",
     "messages put aside because the spool has other octets than were accepted"},
});

using Kind = MailNews::Kind;

constexpr std::uint32_t kDelayedAtATime = 4;          // each message is in memory with its content
constexpr std::uint64_t kTakenOctetsMax = 64u << 20;  // content in the answer to one request
constexpr std::uint8_t kFlashPriorityMax = 3;         // priority of P_MUL; 0 is the most urgent

NextHops next_hops(const Envelope& envelope, const MailItem& item) {
  std::map<std::string_view, std::set<NodeId>> stations;
  for (const MailTarget& target : item.targets) {
    stations[target.recipient.address].insert(target.station);
  }
  NextHops hops;
  for (const Path& recipient : envelope.recipients) {
    const auto& of = stations[recipient.address];
    hops.emplace_back(of.begin(), of.end());
  }
  return hops;
}

}  // namespace

const CounterTable<MailCounter>& counter_table(MailCounter) {
  return kMailCounters;
}

MailCore::MailCore(const Config& config, const AddressTable& table)
    : config_(config),
      router_(config_, table, utc_),
      reporter_(config_, router_, utc_),
      relay_(config_, table, utc_, router_, reporter_),
      trace_clocks_(config.node,
                    std::chrono::duration_cast<std::chrono::seconds>(config.clock_tolerance)) {
  S5066_ASSERT(!config_.lifetime_s.empty());
}

// --- The spool -----------------------------------------------------------------------------------

void MailCore::on_start(Instant now) {
  ask(Resume{utc(now)}, SpoolOpened{});
  purge_at_ = now + config_.purge_every;
  delay_at_ = now + config_.delay_poll;
}

void MailCore::on_clock(Instant now, UtcSeconds utc) {
  const std::chrono::seconds step = utc_.set(now, utc);
  if (step.count() != 0) {
    stepped_ += step;
    for (auto& [node, station] : stations_) {
      for (UtcSeconds* time : {&station.dead_until, &station.heard}) {
        if (time->value != 0) time->value = std::max<std::int64_t>(0, time->value + step.count());
      }
    }
    for (auto& [id, active] : active_) move_times(active.item, step);
    trace_clocks_.clear();  // they were compared with the clock before it was set
    news(Kind::clock_set, {}, {}, {},
         (step.count() > 0 ? "forward by " : "back by ") + duration_text(step));
  }
  unnoted_ += step;
  if (!started_) return;
  const auto unnoted = std::exchange(unnoted_, std::chrono::seconds(0));
  ask(NoteClock{utc, unnoted}, ClockNoted{unnoted});
}

void MailCore::move_times(MailItem& item, std::chrono::seconds step) {
  item.created.value += step.count();
  item.expiry.value += step.count();
  item.next_try.value += step.count();
}

void MailCore::move_times(SaveOutcome& outcome, std::chrono::seconds step) {
  outcome.now.value += step.count();
  if (outcome.next_try) outcome.next_try->value += step.count();
  for (NewMail& report : outcome.reports) {
    report.expiry.value += step.count();
    if (report.delay.value != 0) report.delay.value += step.count();
  }
}

bool MailCore::must_be_kept(const Then& then) {
  return std::holds_alternative<SubmissionSaved>(then) ||
         std::holds_alternative<BlocksSaved>(then) || std::holds_alternative<OutcomeSaved>(then) ||
         std::holds_alternative<DelayTold>(then) || std::holds_alternative<SpoolOpened>(then);
}

MailId MailCore::mail_of(const Then& then) {
  if (const auto* one = std::get_if<SubmissionSaved>(&then)) return one->id;
  if (const auto* one = std::get_if<OutcomeSaved>(&then)) return one->id;
  if (const auto* one = std::get_if<DelayTold>(&then)) return one->id;
  return {};
}

void MailCore::ask(MailOperation operation, Then then) {
  const StoreTicket ticket{++last_ticket_};
  Pending pending{.then = std::move(then), .again = std::nullopt, .stepped = stepped_};
  if (must_be_kept(pending.then)) pending.again = operation;
  pending_.emplace(ticket, std::move(pending));
  actions_.push_back(MailRequest{ticket, std::move(operation)});
}

void MailCore::on_store_result(Instant now, const MailResult& result) {
  const auto found = pending_.find(result.ticket);
  S5066_ASSERT(found != pending_.end());
  Pending pending = std::move(found->second);
  pending_.erase(found);
  note_troubles(result);
  const bool is_new = std::holds_alternative<MailAccepted>(pending.then) ||
                      std::holds_alternative<ReceivedKept>(pending.then);
  const bool ok = result.answer.ok();
  if (!ok && !(is_new && result.answer.error().code == ErrorCode::queue_full)) {
    counters_.add(MailCounter::store_errors);
    news(Kind::store_failed, mail_of(pending.then), {}, {}, to_string(result.answer.error()));
  }
  const Next next =
      std::visit([&](auto& then) { return after(now, then, result.answer); }, pending.then);
  if (next == Next::ask_again) {
    retries_.emplace_back(now + config_.store_retry, std::move(pending));
  }
}

void MailCore::note_troubles(const MailResult& result) {
  for (const MailTrouble& parked : result.parked) {
    counters_.add(MailCounter::parked);
    news(Kind::parked, parked.id, {}, {}, parked.reason);
  }
  if (result.reserve_used) {
    news(Kind::disk_full, {}, {}, {},
         "the gateway accepts no new message until the disk has room again");
  }
}

// --- After the spool has answered ----------------------------------------------------------------

MailCore::Next MailCore::after(Instant now, MailAccepted& then, const Answer& answer) {
  --commits_;
  if (answer.ok()) {
    tell_accepted(then, std::get<MailKept>(*answer));
    on_new_mail(now);
    return Next::done;
  }
  const bool full = answer.error().code == ErrorCode::queue_full;
  news(Kind::refused, {}, {}, then.address, to_string(answer.error()));
  actions_.push_back(
      AnswerSession{then.session, full ? CommitOutcome::full : CommitOutcome::failed, {}, false});
  return Next::done;
}

MailCore::Next MailCore::after(Instant now, ReceivedKept& then, const Answer& answer) {
  if (answer.ok() && try_next_number(then, std::get<MailKept>(*answer))) return Next::done;
  --receiving_;
  const bool full = !answer.ok() && answer.error().code == ErrorCode::queue_full;
  confirm(then, answer.ok() ? CommitOutcome::committed
                : full      ? CommitOutcome::full
                            : CommitOutcome::failed);
  if (answer.ok()) {
    tell_received(then, std::get<MailKept>(*answer));
    on_new_mail(now);
    return Next::done;
  }
  then.came.kind = Kind::refused;
  then.came.detail = to_string(answer.error());
  tell(std::move(then.came));
  return Next::done;
}

MailCore::Next MailCore::after(Instant now, Taken& then, const Answer& answer) {
  (then.late ? taking_late_ : taking_)[static_cast<std::size_t>(then.transport)] = false;
  if (!answer.ok()) {
    poll_at_ = now + config_.store_retry;
    return Next::done;
  }
  auto items = std::get<TakenMail>(*answer).items;
  const bool some = !items.empty();
  for (MailItem& item : items) {
    move_times(item, stepped_ - then.stepped);
    begin(now, std::move(item));
  }
  poll_at_ = now + config_.spool_poll;
  if (!some) return Next::done;
  make_room(now);
  then.late ? take_late(now, then.transport) : take_more(now, then.transport);
  return Next::done;
}

MailCore::Next MailCore::after(Instant now, SubmissionSaved& then, const Answer& answer) {
  const auto active = active_.find(then.id);
  if (active == active_.end()) return Next::done;
  if (active->second.withdrawn) {
    end_withdrawn(now, then.id);
    return Next::done;
  }
  if (!answer.ok() && answer.error().code == ErrorCode::refused) {  // the message is parked
    active_.erase(active);
    on_spool_changed(now);
    return Next::done;
  }
  if (!answer.ok()) return Next::ask_again;
  active->second.submitted = true;
  actions_.push_back(Submit{std::move(active->second.submission)});
  return Next::done;
}

// A message that was parked while P_MUL has it goes on from memory, because the spool keeps no more
// of it.
MailCore::Next MailCore::after(Instant, BlocksSaved&, const Answer& answer) {
  const bool parked = !answer.ok() && answer.error().code == ErrorCode::refused;
  return answer.ok() || parked ? Next::done : Next::ask_again;
}

MailCore::Next MailCore::after(Instant now, OutcomeSaved&, const Answer& answer) {
  if (!answer.ok()) return Next::ask_again;
  on_spool_changed(now);
  return Next::done;
}

MailCore::Next MailCore::after(Instant now, DelayedTaken&, const Answer& answer) {
  --telling_;
  if (answer.ok()) on_delayed(now, std::get<TakenMail>(*answer));
  return Next::done;
}

MailCore::Next MailCore::after(Instant now, DelayTold&, const Answer& answer) {
  if (!answer.ok()) return Next::ask_again;
  if (--telling_ == 0 && !told_all_) delay_at_ = now;
  on_spool_changed(now);
  return Next::done;
}

// The station is in memory; only a start needs its row.
MailCore::Next MailCore::after(Instant, StationSaved& then, const Answer& answer) {
  if (!answer.ok()) unsaved_stations_.insert(then.node);
  return Next::done;
}

// A request that failed is not repeated, because the messages still wait for their own next try.
MailCore::Next MailCore::after(Instant now, Woken&, const Answer&) {
  on_spool_changed(now);
  return Next::done;
}

// A purge that failed is due again later; one that was done in part goes on.
MailCore::Next MailCore::after(Instant now, Purged& then, const Answer& answer) {
  if (answer.ok() && std::holds_alternative<PurgedInPart>(*answer)) purge(now, then.part);
  return Next::done;
}

MailCore::Next MailCore::after(Instant, ClockNoted& then, const Answer& answer) {
  if (!answer.ok()) unnoted_ += then.step;
  return Next::done;
}

MailCore::Next MailCore::after(Instant now, SpoolOpened&, const Answer& answer) {
  if (!answer.ok()) return answer.error().code == ErrorCode::refused ? Next::done : Next::ask_again;
  on_resumed(now, std::get<Resumed>(*answer));
  return Next::done;
}

void MailCore::confirm(const ReceivedKept& then, CommitOutcome outcome) {
  if (then.peer) {
    actions_.push_back(ConfirmPeer{*then.peer, outcome});
  } else {
    actions_.push_back(ConfirmReceived{then.name, outcome == CommitOutcome::committed});
  }
}

// The number of a message from a peer is made of its identity. Another message may have the same
// number by chance; then the next one is asked for.
bool MailCore::try_next_number(ReceivedKept& then, const MailKept& kept) {
  constexpr std::uint32_t kNumbersMax = 8;
  if (!then.again || kept.repeat != MailKept::Repeat::other) return false;
  if (then.numbers_tried == kNumbersMax) return false;
  ++then.numbers_tried;
  ++then.again->name->message_id;
  AcceptMail accept = *then.again;
  ask(std::move(accept), std::move(then));
  return true;
}

/// One line names the message with its sender, recipients and Message-ID; all later lines have its
/// number.
void MailCore::tell_accepted(MailAccepted& then, const MailKept& kept) {
  MailId first;
  for (std::size_t i = 0; i < kept.ids.size(); ++i) {
    MailNews one = std::move(then.parts.at(i));
    one.mail = kept.ids[i];
    one.kind = one.mail.value == 0 ? Kind::repeated
               : first.value == 0  ? Kind::accepted
                                   : Kind::queued;
    one.first = one.kind == Kind::queued ? first : MailId{};
    if (one.mail.value == 0) one.mail = kept.repeat_of;
    if (one.kind == Kind::accepted) first = one.mail;
    tell(std::move(one));
  }
  counters_.add(MailCounter::accepted);
  const bool repeated = first.value == 0;
  actions_.push_back(AnswerSession{then.session, CommitOutcome::committed,
                                   repeated ? kept.repeat_of : first, repeated});
}

void MailCore::tell_received(ReceivedKept& then, const MailKept& kept) {
  MailNews& came = then.came;
  const auto none = [](MailId id) { return id.value == 0; };
  if (kept.repeat != MailKept::Repeat::none) {
    came.kind = Kind::received_again;
    came.detail =
        kept.repeat == MailKept::Repeat::other
            ? "dropped, because its number is still in use for a message with other content"
            : "";
    then.more.clear();
  } else if (!kept.ids.empty() && std::all_of(kept.ids.begin(), kept.ids.end(), none)) {
    came.kind = Kind::received_again;
    came.detail = "the message had arrived by another route before";
  }
  if (came.kind == Kind::received) counters_.add(MailCounter::received);
  if (came.kind == Kind::received_again) counters_.add(MailCounter::received_again);
  if (came.kind == Kind::unreadable) counters_.add(MailCounter::unreadable);
  MailId first;
  std::vector<MailNews> others;
  for (std::size_t i = 0; came.kind == Kind::received && i < kept.ids.size(); ++i) {
    if (none(kept.ids[i])) continue;
    if (first.value == 0) {
      first = kept.ids[i];
      continue;
    }
    MailNews& other = others.emplace_back(std::move(then.parts.at(i)));
    other.kind = Kind::queued;
    other.mail = kept.ids[i];
    other.first = first;
  }
  came.mail = first;
  actions_.emplace_back(std::move(came));
  for (MailNews& one : others) tell(std::move(one));
  for (MailNews& one : then.more) tell(std::move(one));
}

std::vector<MailNews> MailCore::parts_of(const std::vector<NewMail>& mails) {
  std::vector<MailNews> parts;
  for (const NewMail& mail : mails) {
    MailNews one;
    one.address = mail.from.address;
    one.octets = mail.content->size();
    one.label = mail.label;
    for (const NewTarget& target : mail.targets) {
      const std::string& address = target.recipient.address;
      if (one.recipients.empty() || one.recipients.back() != address) {
        one.recipients.push_back(address);
      }
    }
    parts.push_back(std::move(one));
  }
  return parts;
}

MailId MailCore::under_way_as(std::uint32_t message_id) const {
  for (const auto& [id, active] : active_) {
    if (active.item.transport == Transport::air && active.item.message_id == message_id) return id;
  }
  return {};
}

// A restart ends the pause for stations that did not answer, because the length of our absence is
// unknown.
void MailCore::on_resumed(Instant now, const Resumed& resumed) {
  last_message_id_ = resumed.last_message_id;
  for (const StationRow& row : resumed.stations) {
    StationRow& station = stations_[row.station] = row;
    if (row.dead_until.value == 0) continue;
    station.dead_until = {};
    save_station(row.station);
  }
  for (const auto& [name, expiry] : resumed.received) actions_.push_back(Known{name, expiry});
  started_ = true;
  wake(now, {});
  on_spool_changed(now);
}

void MailCore::wake(Instant now, NodeId station) {
  ask(WakeMail{station, utc(now)}, Woken{});
}

void MailCore::on_heard(Instant now, NodeId node) {
  if (!started_ || (stations_.size() >= config_.stations_max && !stations_.contains(node))) return;
  StationRow& station = stations_[node];
  station.station = node;
  station.heard = utc(now);
  const auto [saved, first] = heard_saved_at_.try_emplace(node, now);
  if (first || now >= saved->second + config_.heard_every) {
    saved->second = now;
    save_station(node);
  }
  on_answering(now, node);
}

UtcSeconds MailCore::heard(NodeId node) const {
  const auto found = stations_.find(node);
  return found == stations_.end() ? UtcSeconds{} : found->second.heard;
}

void MailCore::on_answering(Instant now, NodeId node) {
  const auto found = stations_.find(node);
  if (found == stations_.end()) return;
  heard_at_[node] = now;
  for (auto& [id, active] : active_) active.unanswered.erase(node);
  if (suspended_stations_.erase(node) > 0) wake(now, node);
  StationRow& station = found->second;
  if (station.dead_until.value == 0) return;
  const bool waited = station.dead_until > utc(now);
  station.dead_until = {};
  save_station(node);
  if (!waited) return;
  news(Kind::station_heard, {}, node);
  wake(now, node);
}

void MailCore::on_spool_changed(Instant now) {
  for (const Transport transport : {Transport::air, Transport::smtp}) {
    take_late(now, transport);
    take_more(now, transport);
  }
}

// While we are silent, the spool is asked for expired messages only now and then, because the
// request reads all waiting messages.
void MailCore::on_new_mail(Instant now) {
  if (!silent_) take_more(now, Transport::air);
  take_more(now, Transport::smtp);
}

// Messages that are too late end and are reported whatever else is under way.
void MailCore::take_late(Instant now, Transport transport) {
  bool& taking = taking_late_[static_cast<std::size_t>(transport)];
  if (!started_ || taking) return;
  taking = true;
  ask(TakeDue{.transport = transport,
              .now = utc(now),
              .items_max = config_.late_max,
              .expired_only = true},
      Taken{.transport = transport, .late = true, .stepped = stepped_});
}

void MailCore::take_more(Instant now, Transport transport) {
  bool& taking = taking_[static_cast<std::size_t>(transport)];
  if (!started_ || taking || (silent_ && transport == Transport::air)) return;
  DeliveryRoom there = room(transport);
  if (!there.admits_some()) return;
  taking = true;
  TakeDue due{.transport = transport, .now = utc(now), .items_max = config_.taken_max};
  due.octets_max = kTakenOctetsMax;
  due.room = std::move(there);
  ask(std::move(due), Taken{.transport = transport, .stepped = stepped_});
}

std::vector<NodeId> MailCore::open_stations(const MailItem& item) {
  std::set<NodeId> stations;
  for (const MailTarget& target : item.targets) {
    if (is_open(target)) stations.insert(target.station);
  }
  return {stations.begin(), stations.end()};
}

bool MailCore::gives_way(const Active& active) {
  if (!active.submitted) return false;
  return std::all_of(active.item.targets.begin(), active.item.targets.end(),
                     [&](const MailTarget& target) {
                       return !is_open(target) || active.unanswered.contains(target.station);
                     });
}

DeliveryRoom MailCore::room(Transport transport) const {
  const bool air = transport == Transport::air;
  DeliveryRoom room(air ? config_.air : config_.smtp,
                    air ? config_.silent : DeliveryRoom::Limits{});
  room.set_silent(silent_stations_);
  std::set<NodeId> unanswering = suspended_stations_;
  for (const auto& [id, active] : active_) {
    unanswering.insert(active.unanswered.begin(), active.unanswered.end());
  }
  room.set_unanswering(std::move(unanswering));
  for (const auto& [id, active] : active_) {
    if (active.item.transport != transport || active.suspended) continue;
    const MailItem& item = active.item;
    room.add({item.priority, item.size, open_stations(item)}, gives_way(active));
  }
  return room;
}

// The least urgent message gives way first, and among these the one that has waited longest.
void MailCore::make_room(Instant now) {
  while (true) {
    const DeliveryRoom there = room(Transport::air);
    Active* least = nullptr;
    for (auto& [id, active] : active_) {
      if (active.item.transport != Transport::air || active.suspended || active.withdrawn) continue;
      if (!gives_way(active)) continue;
      if (!there.is_over(there.is_for_silent(open_stations(active.item)))) continue;
      if (least == nullptr || active.item.priority > least->item.priority) least = &active;
    }
    if (least == nullptr) return;
    suspend(now, *least);
  }
}

void MailCore::suspend(Instant, Active& active) {
  active.suspended = true;
  for (const NodeId station : open_stations(active.item)) suspended_stations_.insert(station);
  news(Kind::deferred, active.item.id, {}, active.item.from.address,
       "its stations do not answer, so other mail is sent first");
  actions_.emplace_back(Suspend{{static_cast<std::uint64_t>(active.item.id.value)}});
}

void MailCore::on_own_silence(Instant now, bool silent) {
  silent_ = silent;
  on_spool_changed(now);
}

void MailCore::on_silence_of(NodeId station, bool silent) {
  if (silent) {
    silent_stations_.insert(station);
  } else {
    silent_stations_.erase(station);
  }
}

void MailCore::on_deadline(Instant now) {
  while (!retries_.empty() && retries_.front().first <= now) {
    Pending pending = std::move(retries_.front().second);
    retries_.pop_front();
    S5066_ASSERT(pending.again);
    if (auto* outcome = std::get_if<SaveOutcome>(&*pending.again)) {
      move_times(*outcome, stepped_ - pending.stepped);
    }
    ask(*std::move(pending.again), std::move(pending.then));
  }
  if (poll_at_ && *poll_at_ <= now) {
    poll_at_ = now + config_.spool_poll;
    on_spool_changed(now);
  }
  if (started_ && purge_at_ <= now) {
    purge_at_ = now + config_.purge_every;
    for (const auto part :
         {PurgeMail::Part::mails, PurgeMail::Part::marks, PurgeMail::Part::received}) {
      purge(now, part);
    }
    for (const NodeId node : std::exchange(unsaved_stations_, {})) save_station(node);
  }
  if (started_ && delay_at_ <= now) {
    delay_at_ = now + config_.delay_poll;
    if (telling_ > 0) {  // otherwise some senders would be told twice
      told_all_ = false;
      return;
    }
    ++telling_;
    ask(TakeDelayed{utc(now), kDelayedAtATime}, DelayedTaken{});
  }
}

void MailCore::on_delayed(Instant now, const TakenMail& taken) {
  told_all_ = taken.items.size() < kDelayedAtATime;
  if (taken.next_delay) {
    const Duration until = std::chrono::seconds(taken.next_delay->value - utc(now).value);
    delay_at_ = std::min(delay_at_, now + until);
  }
  for (const MailItem& item : taken.items) tell_delay(now, item);
}

void MailCore::purge(Instant now, PurgeMail::Part part) {
  ask(PurgeMail{utc(now), part}, Purged{part});
}

std::optional<Instant> MailCore::next_deadline() const {
  std::optional<Instant> next = poll_at_;
  const auto earlier = [&next](Instant at) { next = next ? std::min(*next, at) : at; };
  if (!retries_.empty()) earlier(retries_.front().first);
  if (started_) earlier(std::min(purge_at_, delay_at_));
  return next;
}

std::optional<MailCore::Action> MailCore::poll_action() {
  return take_front(actions_);
}

// --- Mail in -------------------------------------------------------------------------------------

void MailCore::on_mail(Instant now, SessionId session, SmtpServerCore::Commit commit,
                       const std::vector<std::string>& marks) {
  if (!started_ || commits_ == config_.commits_max) {
    actions_.push_back(AnswerSession{session, CommitOutcome::failed});
    return;
  }
  MailAccepted then{.session = session, .address = commit.mail.envelope.from.address, .parts = {}};
  drop_next_hops(commit.mail.content);
  router_.settle_precedence(commit.mail, commit.mt_priority_max);
  router_.add_trace(now, commit.mail.content, "from " + commit.client + " ",
                    commit.secure ? "ESMTPS" : "ESMTP");
  AcceptMail accept{
      router_.route(now, std::move(commit.mail), marks, p_mul_priority(0)), utc(now), {}, {}};
  for (NewMail& one : accept.mails) {
    one.came = commit.client + " [" + commit.peer + "]" + (commit.secure ? " with TLS" : "");
  }
  then.parts = parts_of(accept.mails);
  ++commits_;
  expect_delays(now, accept.mails);
  ask(std::move(accept), std::move(then));
}

// A sender who asked for reports about delays is told when the message is late.
void MailCore::expect_delays(Instant now, const std::vector<NewMail>& mails) {
  for (const NewMail& one : mails) {
    if (one.delay.value != 0) delay_at_ = std::min(delay_at_, now + config_.delay_after);
  }
}

void MailCore::on_received(Instant now, const Received& received) {
  if (!started_ || receiving_ == config_.received_max) {
    actions_.emplace_back(ConfirmReceived{received.name, false});
    return;
  }
  const auto payload = decode_cdt(received.content, config_.inflate);
  ReceivedKept then{.name = received.name, .came = {}, .more = {}, .parts = {}};
  then.came.station = received.name.source;
  then.came.name = received.name;
  AcceptMail accept{.mails = read_received(now, received, payload, then),
                    .now = utc(now),
                    .name = received.name,
                    .name_expiry = received.expiry,
                    .name_content = payload ? *payload : received.content};
  for (NewMail& one : accept.mails) one.heard = received.name;
  then.parts = parts_of(accept.mails);
  ++receiving_;
  expect_delays(now, accept.mails);
  ask(std::move(accept), std::move(then));
}

// Returns what the spool is to keep of a message from the air.
std::vector<NewMail> MailCore::read_received(Instant now, const Received& received,
                                             const Result<Bytes>& content, ReceivedKept& then) {
  MailNews& came = then.came;
  auto mail = content ? decode_mule(*content, config_.mule) : content.error();
  if (!mail) {
    // A repeat would be unreadable, too, so the message is accepted and dropped (RFC 8494 5.1).
    came.kind = Kind::unreadable;
    came.detail = to_string(mail.error());
    came.octets = received.content.size();
    return {};
  }
  return mails_of(now, received, *std::move(mail), MailWay::p_mul, then);
}

std::vector<NewMail> MailCore::mails_of(Instant now, const Received& received, Mail mail,
                                        MailWay by, ReceivedKept& then) {
  MailNews& came = then.came;
  came.address = mail.envelope.from.address;
  came.octets = mail.content.size();
  came.label = header_field(mail.content, "Message-ID").substr(0, kLabelOctetsMax);
  for (const Path& one : mail.envelope.recipients) came.recipients.push_back(one.address);
  const NodeId source = received.name.source;
  if (auto apart = trace_clocks_.note(now, utc(now), source, mail.content)) {
    news(Kind::clock_apart, {}, source, {}, *std::move(apart));
  }
  std::vector<NewMail> mails = relay_.relay(now, received, mail, then.more, by);
  if (!mail.envelope.recipients.empty()) {
    const auto marks = repeat_marks(mail, "air");
    router_.add_trace(now, mail.content, "", trace_name(by));
    for (NewMail& one : router_.route(now, std::move(mail), marks, received.priority)) {
      // A message that is here gets the lifetime for a mail server.
      one.expiry.value = utc(now).value + kMailServerLifetimeS;
      mails.push_back(std::move(one));
    }
  }
  came.kind = mails.empty() && then.more.empty() ? Kind::not_for_us : Kind::received;
  return mails;
}

// The number by which the spool knows a repeat comes from the identity of the message. It is kept
// as long as a repeat from SMTP is known.
void MailCore::on_peer_mail(Instant now, PeerReceived peer) {
  ReceivedKept then{.name = {peer.station, 0}, .came = {}, .more = {}, .parts = {}};
  then.peer = peer.ticket;
  if (!started_ || receiving_ == config_.received_max) {
    return confirm(then, CommitOutcome::failed);
  }
  then.came.station = peer.station;
  const std::uint8_t priority = p_mul_priority(0);
  drop_next_hops(peer.mail.content);
  const Received received{.name = then.name,
                          .priority = priority,
                          .expiry = {utc(now).value + config_.lifetime_s.back()},
                          .content = {},
                          .destinations = {config_.node}};
  AcceptMail accept{.mails = mails_of(now, received, std::move(peer.mail), peer.ticket.way, then),
                    .now = utc(now),
                    .name = {},
                    .name_expiry = {}};
  if (!peer.identity.empty()) {
    S5066_ASSERT(peer.identity.size() >= sizeof(std::uint32_t));
    accept.name = MessageName{peer.station, get_u32(peer.identity, 0)};
    accept.name_expiry.value = utc(now).value + config_.peer_repeats_s;
    accept.name_content = std::move(peer.identity);
    then.again = accept;
  }
  then.parts = parts_of(accept.mails);
  ++receiving_;
  expect_delays(now, accept.mails);
  ask(std::move(accept), std::move(then));
}

// --- Mail out ------------------------------------------------------------------------------------

void MailCore::begin(Instant now, MailItem item) {
  if (expire(now, item)) return;
  const MailId id = item.id;
  Active& active = active_[id];
  active = Active{};
  active.item = std::move(item);
  active.begun = now;
  if (active.item.transport == Transport::smtp) return begin_smtp(active);
  active.peer = peer_of(active.item);
  active.peer ? begin_peer(now, active) : begin_air(now, active);
}

// A row has stations of one way only, unless the configuration has changed since; then the ways
// take turns.
std::optional<NodeId> MailCore::peer_of(const MailItem& item) const {
  std::vector<std::optional<NodeId>> ways;
  for (const NodeId station : open_stations(item)) {
    const bool p_mul = router_.way_of(station) == MailWay::p_mul;
    const std::optional<NodeId> one = p_mul ? std::nullopt : std::optional(station);
    if (std::find(ways.begin(), ways.end(), one) == ways.end()) ways.push_back(one);
  }
  return ways.empty() ? std::nullopt : ways[item.attempts % ways.size()];
}

// P_MUL itself ends a message that it has, unless it expired while we were not running.
bool MailCore::expire(Instant now, const MailItem& item) {
  if (item.expiry > utc(now)) return false;
  AttemptEnd end = end_expired(item, utc(now));
  tell_end(end);
  finish(now, item, std::move(end), true);
  return true;
}

void MailCore::tell_end(const AttemptEnd& end) {
  counters_.add(MailCounter::delivered, end.delivered);
  counters_.add(MailCounter::failed, end.failed);
  counters_.add(MailCounter::expired, end.expired);
  for (const MailNews& one : end.news) tell(one);
}

void MailCore::finish(Instant now, const MailItem& item, AttemptEnd end, bool tell_sender) {
  if (tell_sender) {
    std::vector<MailNews> told;
    end.outcome.reports = reporter_.report(now, item, end.told, told);
    for (MailNews& one : told) tell(std::move(one));
  }
  save(std::move(end.outcome));
}

// Mail for a station that did not answer waits, so that the air is free for other stations. Flash
// mail is sent all the same, and so is a message that would have little time left after the wait.
bool MailCore::is_held_back(Instant now, const MailItem& item, const StationRow& station) const {
  if (station.dead_until <= utc(now) || silent_stations_.contains(station.station)) return false;
  const auto margin = std::chrono::duration_cast<std::chrono::seconds>(config_.dead_min).count();
  const bool in_time = item.expiry.value > station.dead_until.value + margin;
  return item.message_id == 0 && item.priority > kFlashPriorityMax && in_time;
}

// Returns when the first station that is held back may be tried, if there is one.
std::optional<UtcSeconds> MailCore::choose_stations(Instant now, Active& active) {
  std::vector<Destination>& chosen = active.submission.destinations;
  std::optional<UtcSeconds> dead_until;
  for (const MailTarget& target : active.item.targets) {
    if (!is_open(target) || router_.way_of(target.station) != MailWay::p_mul) continue;
    StationRow& station = stations_[target.station];
    station.station = target.station;
    if (is_held_back(now, active.item, station)) {
      dead_until = dead_until ? std::min(*dead_until, station.dead_until) : station.dead_until;
      continue;
    }
    const auto same = [&](const Destination& d) { return d.node == target.station; };
    if (std::any_of(chosen.begin(), chosen.end(), same)) continue;
    // PM-021. A station that was dead when the others were first sent the message has no running
    // number for it yet.
    const bool numbered = active.item.message_id != 0 && target.sequence != 0;
    chosen.push_back({target.station, numbered ? target.sequence : ++station.sequence});
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Destination& a, const Destination& b) { return a.node < b.node; });
  return dead_until;
}

// The content names all recipients, also those that have ended, because after a restart the octets
// must be the same.
void MailCore::write_content(Active& active) {
  const MailItem& item = active.item;
  Envelope envelope{item.from, {}};
  for (const MailTarget& target : item.targets) {
    const bool there =
        std::any_of(envelope.recipients.begin(), envelope.recipients.end(),
                    [&](const Path& known) { return known.address == target.recipient.address; });
    if (!there) envelope.recipients.push_back(target.recipient);
  }
  const std::string field = next_hops_field(config_.node, next_hops(envelope, item));
  Bytes content(field.begin(), field.end());
  append(content, *item.content);
  active.submission.content = encode_cdt(encode_mule(envelope, content), item.tags);
}

void MailCore::begin_air(Instant now, Active& active) {
  MailItem& item = active.item;
  const CdtTags tags = router_.tags_for(item);
  if (item.tags != tags) renumber(item);
  item.tags = tags;
  Submission& submission = active.submission;
  const auto dead_until = choose_stations(now, active);
  if (submission.destinations.empty()) {
    defer(now, item, dead_until);
    active_.erase(item.id);
    return;
  }
  if (item.message_id == 0) {
    item.message_id = p_mul::next_message_id(last_message_id_, utc(now));
    last_message_id_ = item.message_id;
  }
  submission.key = {static_cast<std::uint64_t>(item.id.value)};
  submission.message_id = item.message_id;
  submission.priority = item.priority;
  submission.expiry = item.expiry;
  submission.block_octets = item.block_octets;
  write_content(active);
  active.destinations = submission.destinations;
  active.waiting_for = submission.destinations.size();
  ask(SaveSubmission{item.id, item.message_id, item.block_octets, submission.destinations,
                     item.tags},
      SubmissionSaved{item.id});
}

void MailCore::defer(Instant now, const MailItem& item, std::optional<UtcSeconds> until) {
  news(Kind::deferred, item.id, {}, item.from.address, "its stations do not answer");
  save(SaveOutcome{
      .id = item.id, .changes = {}, .next_try = until.value_or(utc(now)), .now = utc(now)});
}

void MailCore::begin_peer(Instant now, Active& active) {
  const MailItem& item = active.item;
  StationRow& station = stations_[*active.peer];
  station.station = *active.peer;
  if (is_held_back(now, item, station)) {
    defer(now, item, station.dead_until);
    active_.erase(item.id);
    return;
  }
  auto mail = std::make_shared<Mail>();
  mail->envelope.from = item.from;
  for (const MailTarget& target : item.targets) {
    if (!is_open(target) || target.station != *active.peer) continue;
    mail->envelope.recipients.push_back(target.recipient);
  }
  mail->content = *item.content;
  if (auto content = with_priority_field(*mail)) mail->content = *std::move(content);
  actions_.push_back(HandOver{.id = item.id,
                              .way = router_.way_of(*active.peer),
                              .station = *active.peer,
                              .priority = item.priority,
                              .left = std::chrono::seconds(item.expiry.value - utc(now).value),
                              .mail = std::move(mail)});
}

void MailCore::begin_smtp(Active& active) {
  auto mail = std::make_shared<Mail>();
  mail->envelope.from = active.item.from;
  for (const MailTarget& target : active.item.targets) {
    if (is_open(target)) mail->envelope.recipients.push_back(target.recipient);
  }
  mail->content = *active.item.content;
  actions_.push_back(Deliver{active.item.id, std::move(mail)});
}

void MailCore::on_accepted(Instant, MessageKey key, const Accepted& accepted) {
  const auto found = active_.find(MailId{static_cast<std::int64_t>(key.value)});
  if (found == active_.end()) return;
  Active& active = found->second;
  news(Kind::submitted, active.item.id, {}, active.item.from.address, {}, active.item.size);
  if (active.item.block_octets == accepted.block_octets) return;
  active.item.block_octets = accepted.block_octets;
  ask(SaveSubmission{active.item.id, active.item.message_id, accepted.block_octets,
                     active.destinations, active.item.tags},
      BlocksSaved{});
}

// --- The end of an attempt -----------------------------------------------------------------------

// P_MUL ends a message that it has or may have; a message that it has not been given yet is ended
// here.
void MailCore::on_operator(Instant now, MailId id, SpoolChange asked) {
  // The sender may be due another report about it.
  if (asked == SpoolChange::retry) delay_at_ = now;
  const auto found = active_.find(id);
  if (found == active_.end()) return;
  Active& active = found->second;
  active.withdrawn = asked != SpoolChange::release;
  active.removed = asked == SpoolChange::cancel;
  if (active.withdrawn && active.submitted) {
    actions_.emplace_back(Cancel{{static_cast<std::uint64_t>(id.value)}});
  }
  if (active.withdrawn && active.peer) actions_.emplace_back(Withdraw{id});
}

void MailCore::end_withdrawn(Instant now, MailId id) {
  const auto found = active_.find(id);
  S5066_ASSERT(found != active_.end());
  const MailItem item = std::move(found->second.item);
  active_.erase(found);
  save(SaveOutcome{.id = id, .changes = {}, .next_try = utc(now), .now = utc(now)});
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
  save(SaveOutcome{.id = id, .changes = {}, .next_try = again, .now = utc(now)});
}

void MailCore::on_unanswered(const Unanswered& unanswered) {
  const auto found = active_.find(MailId{static_cast<std::int64_t>(unanswered.key.value)});
  if (found != active_.end()) found->second.unanswered.insert(unanswered.node);
}

MailCore::InHand MailCore::in_hand(MailId id) const {
  if (active_.contains(id)) return InHand::under_way;
  const auto ends = [id](const auto& entry) {
    const auto* then = std::get_if<OutcomeSaved>(&entry.second.then);
    return then != nullptr && then->id == id;
  };
  const bool ending = std::any_of(pending_.begin(), pending_.end(), ends) ||
                      std::any_of(retries_.begin(), retries_.end(), ends);
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
  const Duration wait = back_off(item.attempts, config_.retry_min, config_.retry_max);
  AttemptEnd end = end_refused(item, why, utc(now), utc(now + wait));
  tell_end(end);
  finish(now, item, std::move(end), true);
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
  AttemptEnd end = end_station(item, ended, utc(now));
  if (end.outcome.changes.empty()) return;
  active.waiting_for -= std::min<std::size_t>(active.waiting_for, 1);
  tell_end(end);
  note_station(now, ended, active.begun);
  const bool last = active.waiting_for == 0;
  const bool open = std::any_of(item.targets.begin(), item.targets.end(), is_open);
  if (last) end.outcome.next_try = utc(now);
  if (last && open) {
    end.outcome.counts_as_attempt = true;
    // A station whose time was up may have the message all the same, so another attempt uses this
    // number.
    end.outcome.forget_submission =
        std::none_of(item.targets.begin(), item.targets.end(),
                     [](const MailTarget& target) { return target.state == SpoolState::expired; });
    end.outcome.next_try = utc(now + back_off(item.attempts, config_.retry_min, config_.retry_max));
  }
  finish(now, item, std::move(end), !active.removed);
  if (last) active_.erase(found);
}

// A station that let a message expire is tried only now and then, so that the air is free for other
// stations. It counts as dead only if it could have answered: it was sent something, the time for
// its answer has passed, and no PDU of it has come since. A station in EMCON does not count, nor
// does a time at which we may not transmit.
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

// The row is written as it is now, because a row that could not be written before is older.
void MailCore::save_station(NodeId node) {
  unsaved_stations_.erase(node);
  ask(SaveStation{stations_[node]}, StationSaved{node});
}

void MailCore::on_delivered(Instant now, MailId id, const SmtpClientCore::Done& done) {
  const auto found = active_.find(id);
  if (found == active_.end()) return;
  const MailItem item = std::move(found->second.item);
  const bool withdrawn = found->second.withdrawn;
  const bool removed = found->second.removed;
  active_.erase(found);
  const Duration wait = back_off(item.attempts, config_.retry_min, config_.retry_max);
  AttemptEnd end =
      end_handed_over(item, done, config_.mail_server, utc(now), utc(withdrawn ? now : now + wait));
  tell_end(end);
  finish(now, item, std::move(end), !removed);
}

void MailCore::on_peer_ended(Instant now, const PeerEnded& ended) {
  const auto found = active_.find(ended.id);
  if (found == active_.end()) return;
  const MailItem item = std::move(found->second.item);
  const bool withdrawn = found->second.withdrawn;
  const bool removed = found->second.removed;
  const Instant begun = found->second.begun;
  active_.erase(found);
  const Duration wait = back_off(item.attempts, config_.retry_min, config_.retry_max);
  const bool at_once = withdrawn || ended.more;
  AttemptEnd end = end_by_peer(item, ended, utc(now), utc(at_once ? now : now + wait));
  tell_end(end);
  const bool reached = end.delivered + end.failed > 0;
  if (reached || ended.unanswered) {
    note_station(now,
                 {.key = {},
                  .node = ended.station,
                  .outcome = reached ? Outcome::delivered : Outcome::expired,
                  .reason = ended.done.outcomes.empty() ? "" : ended.done.outcomes[0].text,
                  .unanswered = ended.unanswered},
                 begun);
  }
  finish(now, item, std::move(end), !removed);
}

// RFC 3461 5.2.7: only a sender who asked for it is told of a delay.
void MailCore::tell_delay(Instant now, const MailItem& item) {
  std::vector<ReportedRecipient> told;
  for (const MailTarget& target : item.targets) {
    const bool listed = std::any_of(told.begin(), told.end(), [&](const ReportedRecipient& one) {
      return one.recipient.address == target.recipient.address;
    });
    if (!is_open(target) || listed) continue;
    told.push_back({target.recipient, ReportedRecipient::Action::delayed, "4.4.7",
                    target.reason.empty() ? "no attempt has succeeded yet" : target.reason});
  }
  ++telling_;
  std::vector<MailNews> reported;
  ask(SaveDelayed{item.id, utc(now), reporter_.report(now, item, told, reported)},
      DelayTold{item.id});
  for (MailNews& one : reported) tell(std::move(one));
}

void MailCore::save(SaveOutcome outcome) {
  const MailId id = outcome.id;
  ask(std::move(outcome), OutcomeSaved{id});
}

Duration MailCore::back_off(std::uint32_t attempts, Duration min, Duration max) const {
  return std::min(max, min * (1u << std::min(attempts, 16u)));
}

void MailCore::news(Kind kind, MailId id, NodeId station, std::string address, std::string detail,
                    std::uint64_t octets) {
  tell({kind, id, station, std::move(address), std::move(detail), octets});
}

void MailCore::tell(MailNews one) {
  if (one.kind == Kind::reported) counters_.add(MailCounter::reports);
  const auto active = active_.find(one.mail);
  if (active != active_.end() && active->second.item.transport == Transport::air) {
    one.name = {config_.node, active->second.item.message_id};
  }
  actions_.emplace_back(std::move(one));
}

}  // namespace s5066::acp142
