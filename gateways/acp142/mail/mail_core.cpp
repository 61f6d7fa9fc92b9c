#include "gateways/acp142/mail/mail_core.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "gateways/acp142/mail/next_hops.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/duration_text.h"

namespace s5066::acp142 {

using Kind = MailNews::Kind;

namespace {

constexpr std::uint32_t kDelayedAtATime = 4;          // each is in memory with its content
constexpr std::uint64_t kTakenOctetsMax = 64u << 20;  // of one request
constexpr std::uint8_t kFlashPriorityMax = 3;         // of P_MUL; 0 is the most urgent

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

std::string_view to_string(MailNews::Kind kind) {
  // Names of log events; a test looks for each in docs/operate/log_events.md.
  constexpr std::array<std::string_view, static_cast<std::size_t>(Kind::count)> kNames = {
      "mail_accepted",      "mail_repeated",        "mail_queued",         "mail_refused",
      "mail_submitted",     "mail_delivered",       "mail_deferred",       "mail_failed",
      "mail_expired",       "mail_received",        "mail_received_again", "mail_not_for_us",
      "mail_unreadable",    "mail_reported",        "mail_report_lost",    "station_dead",
      "station_heard",      "store_failed",         "mail_parked",         "mail_passed_over",
      "spool_index_mended", "spool_table_left_out", "spool_disk_full",     "clock_set",
      "clock_apart"};
  S5066_ASSERT(kind < Kind::count);
  return kNames[static_cast<std::size_t>(kind)];
}

MailCore::MailCore(const Config& config, const AddressTable& table)
    : config_(config), table_(table) {
  S5066_ASSERT(!config_.lifetime_s.empty());
}

// --- The spool -----------------------------------------------------------------------------------

void MailCore::on_start(Instant now) {
  ask(Resume{utc(now)}, {});
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
    clocks_apart_.clear();  // they were compared with the clock as it was
    news(Kind::clock_set, {}, {}, {},
         (step.count() > 0 ? "forward by " : "back by ") + duration_text(step));
  }
  unnoted_ += step;
  if (!started_) return;
  Pending pending;
  pending.asked = Asked::clock;
  pending.step = std::exchange(unnoted_, std::chrono::seconds(0));
  ask(NoteClock{utc, pending.step}, std::move(pending));
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

// What must not be given up is kept beside its ticket and asked again after a while.
void MailCore::ask(MailOperation operation, Pending pending) {
  const StoreTicket ticket{++last_ticket_};
  const bool once = pending.asked == Asked::mail || pending.asked == Asked::received ||
                    pending.asked == Asked::take || pending.asked == Asked::delayed ||
                    pending.asked == Asked::station || pending.asked == Asked::wake ||
                    pending.asked == Asked::purge || pending.asked == Asked::clock;
  if (!once) pending.again = operation;
  pending.stepped = stepped_;
  pending_.emplace(ticket, std::move(pending));
  actions_.push_back(MailRequest{ticket, std::move(operation)});
}

void MailCore::on_store_result(Instant now, const MailResult& result) {
  const auto found = pending_.find(result.ticket);
  S5066_ASSERT(found != pending_.end());
  Pending pending = std::move(found->second);
  pending_.erase(found);
  for (const MailTrouble& trouble : result.troubles) {
    ++(trouble.parked ? stats_.parked : stats_.passed_over);
    news(trouble.parked ? Kind::parked : Kind::passed_over, trouble.id, {}, {}, trouble.reason);
  }
  for (const std::string& index : result.mended) {
    ++stats_.indexes_mended;
    news(Kind::index_mended, {}, {}, {}, index);
  }
  for (const std::string& table : result.left_out) {
    ++stats_.tables_left_out;
    news(Kind::table_left_out, {}, {}, {}, table);
  }
  if (result.reserve_used) {
    news(Kind::disk_full, {}, {}, {}, "no new message is taken until there is room again");
  }
  const bool ok = result.answer.ok();
  const bool is_new = pending.asked == Asked::mail || pending.asked == Asked::received;
  if (!ok && !(is_new && result.answer.error().code == ErrorCode::queue_full)) {
    ++stats_.store_errors;
    news(Kind::store_failed, pending.id, {}, {}, to_string(result.answer.error()));
  }
  switch (pending.asked) {
    case Asked::mail: {
      --commits_;
      if (ok) {
        on_mail_kept(std::move(pending), std::get<MailKept>(*result.answer));
        return on_new_mail(now);
      }
      const bool full = result.answer.error().code == ErrorCode::queue_full;
      news(Kind::refused, {}, {}, pending.address, to_string(result.answer.error()));
      actions_.push_back(AnswerSession{
          pending.session, full ? CommitOutcome::full : CommitOutcome::failed, {}, false});
      return;
    }
    case Asked::received:
      --receiving_;
      actions_.push_back(ConfirmReceived{pending.name, ok});
      if (!ok) {
        pending.came.kind = Kind::refused;
        pending.came.detail = to_string(result.answer.error());
        return tell(std::move(pending.came));
      }
      on_kept(std::move(pending), std::get<MailKept>(*result.answer));
      return on_new_mail(now);
    case Asked::take:
      (pending.late ? taking_late_ : taking_)[static_cast<std::size_t>(pending.road)] = false;
      if (ok) {
        auto items = std::get<TakenMail>(*result.answer).items;
        for (MailItem& item : items) move_times(item, stepped_ - pending.stepped);
        return on_taken(now, pending, std::move(items));
      }
      poll_at_ = now + config_.store_retry;
      return;
    case Asked::submission: {
      const auto active = active_.find(pending.id);
      if (active == active_.end()) return;
      if (active->second.withdrawn) return end_withdrawn(now, pending.id);
      if (!ok && result.answer.error().code == ErrorCode::refused) {  // it is parked
        active_.erase(active);
        return on_spool_changed(now);
      }
      if (!ok) break;
      active->second.submitted = true;
      actions_.push_back(Submit{std::move(active->second.submission)});
      return;
    }
    case Asked::outcome:
      if (ok) return on_spool_changed(now);
      break;
    case Asked::delayed:
      --telling_;
      if (!ok) return;
      return on_delayed(now, std::get<TakenMail>(*result.answer));
    case Asked::told:
      if (!ok) break;
      if (--telling_ == 0 && !told_all_) delay_at_ = now;
      return on_spool_changed(now);
    case Asked::station:
      // It is in memory; only a start needs the row.
      if (!ok) unsaved_stations_.insert(pending.node);
      return;
    case Asked::clock:
      if (!ok) unnoted_ += pending.step;
      return;
    case Asked::wake:
      // A request that failed is not repeated: the messages still wait for their own next try.
      return on_spool_changed(now);
    case Asked::purge:
      // Its time comes again, unless there is more of it.
      if (ok && std::holds_alternative<PurgedInPart>(*result.answer)) purge(now, pending.part);
      return;
    case Asked::other:
      // Parked since P_MUL has it: it goes on from memory, and there is no row to keep more of it.
      if (!ok && result.answer.error().code == ErrorCode::refused) return;
      if (!ok) break;
      if (const auto* resumed = std::get_if<Resumed>(&*result.answer)) {
        on_resumed(now, *resumed);
      }
      return;
  }
  retries_.emplace_back(now + config_.store_retry, std::move(pending));
}

/// One line names the message with its sender, recipients and Message-ID; all later lines have its
/// number.
void MailCore::on_mail_kept(Pending pending, const MailKept& kept) {
  MailId first;
  for (std::size_t i = 0; i < kept.ids.size(); ++i) {
    MailNews one = std::move(pending.parts.at(i));
    one.mail = kept.ids[i];
    one.kind = one.mail.value == 0 ? Kind::repeated
               : first.value == 0  ? Kind::accepted
                                   : Kind::queued;
    one.first = one.kind == Kind::queued ? first : MailId{};
    if (one.mail.value == 0) one.mail = kept.repeat_of;
    if (one.kind == Kind::accepted) first = one.mail;
    tell(std::move(one));
  }
  ++stats_.accepted;
  const bool repeated = first.value == 0;
  actions_.push_back(AnswerSession{pending.session, CommitOutcome::committed,
                                   repeated ? kept.repeat_of : first, repeated});
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
    if (active.item.road == Road::air && active.item.message_id == message_id) return id;
  }
  return {};
}

// A restart ends the time for which a station is left alone: nobody knows how long we were away.
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
  Pending pending;
  pending.asked = Asked::wake;
  pending.node = station;
  ask(WakeMail{station, utc(now)}, std::move(pending));
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
  for (const Road road : {Road::air, Road::smtp}) {
    take_late(now, road);
    take_more(now, road);
  }
}

// While we are silent the spool is asked for what is too late only now and then: it looks at all
// that waits.
void MailCore::on_new_mail(Instant now) {
  if (!silent_) take_more(now, Road::air);
  take_more(now, Road::smtp);
}

// Messages that are too late end and are reported whatever else is under way.
void MailCore::take_late(Instant now, Road road) {
  bool& taking = taking_late_[static_cast<std::size_t>(road)];
  if (!started_ || taking) return;
  taking = true;
  Pending pending;
  pending.asked = Asked::take;
  pending.road = road;
  pending.late = true;
  ask(TakeDue{.road = road, .now = utc(now), .items_max = config_.late_max, .expired_only = true},
      std::move(pending));
}

void MailCore::take_more(Instant now, Road road) {
  bool& taking = taking_[static_cast<std::size_t>(road)];
  if (!started_ || taking || (silent_ && road == Road::air)) return;
  DeliveryRoom there = room(road);
  if (!there.admits_some()) return;
  taking = true;
  Pending pending;
  pending.asked = Asked::take;
  pending.road = road;
  TakeDue due{.road = road, .now = utc(now), .items_max = config_.taken_max};
  due.octets_max = kTakenOctetsMax;
  due.room = std::move(there);
  ask(std::move(due), std::move(pending));
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

DeliveryRoom MailCore::room(Road road) const {
  const bool air = road == Road::air;
  DeliveryRoom room(air ? config_.air : config_.smtp,
                    air ? config_.silent : DeliveryRoom::Limits{});
  room.set_silent(silent_stations_);
  std::set<NodeId> unanswering = suspended_stations_;
  for (const auto& [id, active] : active_) {
    unanswering.insert(active.unanswered.begin(), active.unanswered.end());
  }
  room.set_unanswering(std::move(unanswering));
  for (const auto& [id, active] : active_) {
    if (active.item.road != road || active.suspended) continue;
    const MailItem& item = active.item;
    room.add({item.priority, item.size, open_stations(item)}, gives_way(active));
  }
  return room;
}

// The least urgent goes first, of those the one that has waited longest.
void MailCore::make_room(Instant now) {
  while (true) {
    const DeliveryRoom there = room(Road::air);
    Active* least = nullptr;
    for (auto& [id, active] : active_) {
      if (active.item.road != Road::air || active.suspended || active.withdrawn) continue;
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
       "other mail goes first while its stations do not answer");
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

void MailCore::on_taken(Instant now, const Pending& pending, std::vector<MailItem> items) {
  const bool some = !items.empty();
  for (MailItem& item : items) begin(now, std::move(item));
  poll_at_ = now + config_.spool_poll;
  if (!some) return;
  make_room(now);
  pending.late ? take_late(now, pending.road) : take_more(now, pending.road);
}

void MailCore::on_deadline(Instant now) {
  while (!retries_.empty() && retries_.front().first <= now) {
    Pending pending = std::move(retries_.front().second);
    retries_.pop_front();
    MailOperation again = pending.again;
    if (auto* outcome = std::get_if<SaveOutcome>(&again)) {
      move_times(*outcome, stepped_ - pending.stepped);
    }
    ask(std::move(again), std::move(pending));
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
    if (telling_ > 0) {  // some would be told twice
      told_all_ = false;
      return;
    }
    ++telling_;
    Pending pending;
    pending.asked = Asked::delayed;
    ask(TakeDelayed{utc(now), kDelayedAtATime}, std::move(pending));
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
  Pending pending;
  pending.asked = Asked::purge;
  pending.part = part;
  ask(PurgeMail{utc(now), part}, std::move(pending));
}

std::optional<Instant> MailCore::next_deadline() const {
  std::optional<Instant> next = poll_at_;
  const auto earlier = [&next](Instant at) { next = next ? std::min(*next, at) : at; };
  if (!retries_.empty()) earlier(retries_.front().first);
  if (started_) earlier(std::min(purge_at_, delay_at_));
  return next;
}

std::optional<MailCore::Action> MailCore::poll_action() {
  if (actions_.empty()) return std::nullopt;
  Action action = std::move(actions_.front());
  actions_.pop_front();
  return action;
}

// --- Mail in -------------------------------------------------------------------------------------

void MailCore::on_mail(Instant now, SessionId session, SmtpServerCore::Commit commit,
                       const std::vector<std::string>& marks) {
  if (!started_ || commits_ == config_.commits_max) {
    actions_.push_back(AnswerSession{session, CommitOutcome::failed});
    return;
  }
  Pending pending;
  pending.asked = Asked::mail;
  pending.session = session;
  pending.address = commit.mail.envelope.from.address;
  drop_next_hops(commit.mail.content);
  settle_precedence(commit.mail, commit.mt_priority_max);
  add_trace(now, commit.mail.content, "from " + commit.client + " ",
            commit.secure ? "ESMTPS" : "ESMTP");
  AcceptMail accept{route(now, std::move(commit.mail), marks, p_mul_priority(0)), utc(now), {}, {}};
  for (NewMail& one : accept.mails) {
    one.came = commit.client + " [" + commit.peer + "]" + (commit.secure ? " with TLS" : "");
  }
  pending.parts = parts_of(accept.mails);
  ++commits_;
  ask(std::move(accept), std::move(pending));
}

/// The envelope comes first, then a field MT-Priority (RFC 6758), then the fields that are
/// configured. Nothing said is 0.
void MailCore::settle_precedence(Mail& mail, int most) const {
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

// Air and mail server are two roads, so a message for both becomes two in the spool. `priority` is
// of P_MUL, where nobody has said MT-PRIORITY.
std::vector<NewMail> MailCore::route(Instant now, Mail mail, const std::vector<std::string>& marks,
                                     std::uint8_t priority, Unrouted unrouted) {
  NewMail air;
  if (!find_parameter(mail.envelope.from.parameters, "MT-PRIORITY")) {
    // RFC 6758: what a server without the extension handed on.
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
  own.road = Road::smtp;
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
      // A mark for each row, or the second station of a group would pass for a repeat.
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
    one.delay = utc(now + config_.delay_after);
    delay_at_ = std::min(delay_at_, now + config_.delay_after);
  }
  return mails;
}

// Stations get a message by one transmission only if they are to get the same octets.
std::vector<NewMail> MailCore::by_transmission(const NewMail& air) const {
  std::vector<NewMail> mails;
  for (const bool explicit_tags : {false, true}) {
    NewMail part = air;
    std::erase_if(part.targets, [&](const NewTarget& target) {
      return config_.explicit_tags.contains(target.station) != explicit_tags;
    });
    if (part.targets.empty()) continue;
    for (NewMail& one : by_group(part)) mails.push_back(std::move(one));
  }
  return mails;
}

// Several stations have a message by one transmission only where a group reaches them; those that
// no group reaches get it one by one. The group that reaches most goes first, of two the smaller.
std::vector<NewMail> MailCore::by_group(const NewMail& air) const {
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

UtcSeconds MailCore::expiry_of(Instant now, const Parameters& from, std::uint8_t priority) const {
  const std::size_t last = config_.lifetime_s.size() - 1;
  const std::int64_t most = config_.lifetime_s[std::min<std::size_t>(priority, last)];
  const std::string* by = find_parameter(from, "BY");
  std::int64_t seconds = most;
  if (by != nullptr && lower_case(*by).find(";r") != std::string::npos) {
    std::from_chars(by->data(), by->data() + by->size(), seconds);
  }
  return {utc(now).value + std::clamp<std::int64_t>(seconds, 1, most)};
}

void MailCore::add_trace(Instant now, Bytes& content, const std::string& from, const char* with) {
  const UtcSeconds at = utc(now);
  const std::string field = "Received: " + from + "by " + config_.hostname + " with " + with +
                            " id " + std::to_string(at.value) + "." +
                            std::to_string(++last_trace_) + " " + trace_mark(config_.node, with) +
                            ";\r\n\t" + mail_date(at) + "\r\n";
  content.insert(content.begin(), field.begin(), field.end());
}

// --- Mail out ------------------------------------------------------------------------------------

void MailCore::begin(Instant now, MailItem item) {
  if (expire(now, item)) return;
  const MailId id = item.id;
  Active& active = active_[id];
  active = Active{};
  active.item = std::move(item);
  active.begun = now;
  if (active.item.road == Road::air) {
    begin_air(now, active);
  } else {
    begin_smtp(active);
  }
}

bool MailCore::expire(Instant now, const MailItem& item) {
  // What P_MUL has under way it ends itself, unless we were away then.
  if (item.expiry > utc(now)) return false;
  SaveOutcome outcome{.id = item.id, .changes = {}, .now = utc(now)};
  std::vector<ReportedRecipient> told;
  for (const MailTarget& target : item.targets) {
    if (!is_open(target)) continue;
    outcome.changes.push_back({target.number, SpoolState::expired, "its time was up"});
    told.push_back({target.recipient, ReportedRecipient::Action::failed, "5.4.7",
                    "it could not be delivered in the time allowed"});
  }
  ++stats_.expired;
  news(Kind::expired, item.id, {}, item.from.address);
  add_report(now, outcome, item, told);
  save(now, std::move(outcome), item);
  return true;
}

// Mail for a station that did not answer waits, so that the air is free for those who answer. Flash
// goes all the same, and so does what would have little time left when the wait is over.
bool MailCore::is_held_back(Instant now, const MailItem& item, const StationRow& station) const {
  if (station.dead_until <= utc(now) || silent_stations_.contains(station.station)) return false;
  const auto margin = std::chrono::duration_cast<std::chrono::seconds>(config_.dead_min).count();
  const bool in_time = item.expiry.value > station.dead_until.value + margin;
  return item.message_id == 0 && item.priority > kFlashPriorityMax && in_time;
}

/// A row has stations of one kind only, unless the configuration has changed since.
CdtTags MailCore::tags_for(const MailItem& item) const {
  const bool all = std::all_of(item.targets.begin(), item.targets.end(), [&](const auto& target) {
    return config_.explicit_tags.contains(target.station);
  });
  return all ? CdtTags::explicit_ : CdtTags::implicit_;
}

void MailCore::begin_air(Instant now, Active& active) {
  MailItem& item = active.item;
  if (item.tags != tags_for(item)) renumber(item);
  item.tags = tags_for(item);
  Submission& submission = active.submission;
  std::optional<UtcSeconds> dead_until;
  for (const MailTarget& target : item.targets) {
    if (!is_open(target)) continue;
    StationRow& station = stations_[target.station];
    station.station = target.station;
    if (is_held_back(now, item, station)) {
      dead_until = dead_until ? std::min(*dead_until, station.dead_until) : station.dead_until;
      continue;
    }
    const auto same = [&](const Destination& d) { return d.node == target.station; };
    if (std::any_of(submission.destinations.begin(), submission.destinations.end(), same)) continue;
    // PM-021. Who was dead when the others were asked first has no number of it yet.
    const bool numbered = item.message_id != 0 && target.sequence != 0;
    submission.destinations.push_back(
        {target.station, numbered ? target.sequence : ++station.sequence});
  }
  if (submission.destinations.empty()) {
    SaveOutcome outcome{.id = item.id, .changes = {}, .next_try = dead_until, .now = utc(now)};
    if (!dead_until) outcome.next_try = utc(now);
    news(Kind::deferred, item.id, {}, item.from.address, "its stations do not answer");
    save(now, std::move(outcome), item);
    active_.erase(item.id);
    return;
  }
  std::sort(submission.destinations.begin(), submission.destinations.end(),
            [](const Destination& a, const Destination& b) { return a.node < b.node; });
  if (item.message_id == 0) {
    item.message_id = p_mul::next_message_id(last_message_id_, utc(now));
    last_message_id_ = item.message_id;
  }
  // All recipients, whoever is done with it: after a restart the octets must be the same.
  Envelope envelope{item.from, {}};
  for (const MailTarget& target : item.targets) {
    const bool there =
        std::any_of(envelope.recipients.begin(), envelope.recipients.end(),
                    [&](const Path& known) { return known.address == target.recipient.address; });
    if (!there) envelope.recipients.push_back(target.recipient);
  }
  submission.key = {static_cast<std::uint64_t>(item.id.value)};
  submission.message_id = item.message_id;
  submission.priority = item.priority;
  submission.expiry = item.expiry;
  submission.block_octets = item.block_octets;
  const std::string field = next_hops_field(config_.node, next_hops(envelope, item));
  Bytes content(field.begin(), field.end());
  append(content, *item.content);
  submission.content = encode_cdt(encode_mule(envelope, content), item.tags);
  active.destinations = submission.destinations;
  active.waiting_for = submission.destinations.size();
  Pending pending;
  pending.asked = Asked::submission;
  pending.id = item.id;
  ask(SaveSubmission{item.id, item.message_id, item.block_octets, submission.destinations,
                     item.tags},
      std::move(pending));
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
      {});
}

void MailCore::save(Instant, SaveOutcome outcome, const MailItem& item) {
  Pending pending;
  pending.asked = Asked::outcome;
  pending.id = item.id;
  ask(std::move(outcome), std::move(pending));
}

Duration MailCore::back_off(std::uint32_t attempts, Duration min, Duration max) const {
  return std::min(max, min * (1u << std::min(attempts, 16u)));
}

void MailCore::news(Kind kind, MailId id, NodeId station, std::string address, std::string detail,
                    std::uint64_t octets) {
  tell({kind, id, station, std::move(address), std::move(detail), octets});
}

void MailCore::tell(MailNews one) {
  stats_.reports += one.kind == Kind::reported ? 1 : 0;
  const auto active = active_.find(one.mail);
  if (active != active_.end() && active->second.item.road == Road::air) {
    one.name = {config_.node, active->second.item.message_id};
  }
  actions_.emplace_back(std::move(one));
}

}  // namespace s5066::acp142
