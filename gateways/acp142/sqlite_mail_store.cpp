// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/sqlite_mail_store.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "gateways/acp142/sqlite_mail_store_rows.h"
#include "gateways/common/sha256.h"

namespace s5066::acp142 {

using gateways::Database;
using gateways::parse_spool_state;
using gateways::Statement;
using gateways::Transaction;

namespace {

constexpr const char* kReserveSuffix = ".reserve";

bool is_open(SpoolState state) {
  return !gateways::is_final(state) || state == SpoolState::held;
}

}  // namespace

SqliteMailStore::SqliteMailStore(const Config& config, Database db)
    : config_(config),
      db_(std::move(db)),
      reserve_(config.path + kReserveSuffix, config.reserve_octets) {}

Result<SqliteMailStore> SqliteMailStore::open(const Config& config) {
  auto db = gateways::open_spool({.path = config.path, .vfs = config.vfs});
  if (!db && gateways::DiskReserve(config.path + kReserveSuffix, config.reserve_octets).release()) {
    db = gateways::open_spool({.path = config.path, .vfs = config.vfs});
  }
  if (!db) return db.error();
  SqliteMailStore store(config, std::move(db).value());
  static_cast<void>(store.reserve_.refill());  // else with the first message
  if (auto made = store.make_expiry_index(); !made) store.missing_index_ = made.error().detail;
  auto counted = store.count_open();
  const bool damaged = !counted && counted.error().code == ErrorCode::bad_checksum;
  if (damaged && store.mend_indexes()) counted = store.count_open();
  if (!counted) return gateways::opening_error(config.path, counted.error());
  return store;
}

// To find what is too late without a look at all that waits. Making it reads every row, and one
// that cannot be read must not keep the rest.
Result<void> SqliteMailStore::make_expiry_index() {
  auto known = db_.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'mail_expiry'");
  if (!known) return known.error();
  const auto there = known->step();
  if (!there) return there.error();
  if (*there) return {};
  return db_.execute(
      "CREATE INDEX IF NOT EXISTS mail_expiry ON mail (road, expiry_utc) WHERE state IN "
      "('deferred', 'incoming')");
}

// --- Accept --------------------------------------------------------------------------------------

Result<void> SqliteMailStore::count_open() {
  auto count = db_.prepare(std::string("SELECT count(*), total(size) FROM mail WHERE state IN ") +
                           kOpenStates);
  if (!count) return count.error();
  if (auto row = count->step(); !row) return row.error();
  open_.mails = static_cast<std::uint64_t>(count->integer(0));
  open_.octets = static_cast<std::uint64_t>(count->integer(1));
  open_.stale = false;
  return {};
}

// An operator changes messages by a connection of his own.
Result<void> SqliteMailStore::recount_if_stale() {
  auto version = db_.prepare("PRAGMA data_version");
  if (!version) return version.error();
  if (auto row = version->step(); !row) return row.error();
  const std::int64_t now = version->integer(0);
  if (!open_.stale && now == open_.version) return {};
  open_.version = now;
  return count_open();
}

Result<void> SqliteMailStore::need_room(const std::vector<NewMail>& mails) {
  if (auto counted = recount_if_stale(); !counted) return counted;
  std::uint64_t octets = 0;
  std::uint32_t below = 0;  // steps of precedence below flash
  for (const NewMail& mail : mails) {
    octets += mail.content->size();
    below = std::max(below, DeliveryRoom::kStepsMax - DeliveryRoom::steps_of(mail.priority));
  }
  const std::uint64_t percent = 100 - config_.reserve_percent * below;
  if (open_.mails + mails.size() <= config_.open_mails_max * percent / 100 &&
      open_.octets + octets <= config_.open_octets_max * percent / 100) {
    return {};
  }
  return Error{ErrorCode::queue_full, "the spool is full"};
}

Result<MailAnswer> SqliteMailStore::run(const AcceptMail& operation) {
  if (auto sound = need_sound_spool({}); !sound) return sound.error();
  if (!reserve_.refill()) return Error{ErrorCode::queue_full, "the disk of the spool is full"};
  if (auto room = need_room(operation.mails); !room) return room.error();
  if (operation.name) {
    const auto repeat = note_received(operation);
    if (!repeat) return repeat.error();
    if (*repeat != MailKept::Repeat::none) {
      return MailAnswer(MailKept{std::vector<MailId>(operation.mails.size()), *repeat});
    }
  }
  MailKept kept;
  MailId first;
  for (const NewMail& mail : operation.mails) {
    auto id = insert(mail, operation.now, true, first);
    if (!id) return id.error();
    kept.ids.push_back(*id);
    if (first.value == 0) first = *id;
  }
  if (first.value == 0 && !operation.mails.empty()) {
    auto before = first_with(
        operation.mails[0].targets.empty() ? std::string() : operation.mails[0].targets[0].mark);
    if (!before) return before.error();
    kept.repeat_of = *before;
  }
  return MailAnswer(std::move(kept));
}

// PM-020: a number is unique while its message lives.
Result<MailKept::Repeat> SqliteMailStore::note_received(const AcceptMail& operation) {
  using Repeat = MailKept::Repeat;
  const std::int64_t source = operation.name->source.value;
  const std::int64_t number = operation.name->message_id;
  const Bytes sha256 = gateways::sha256_of(operation.name_content);
  auto repeat = Repeat::none;
  {
    auto known = db_.prepare(
        "SELECT expiry_utc, sha256 FROM mail_received WHERE source = ? AND message_id = ?");
    if (!known) return known.error();
    const auto found = known->bind(source).bind(number).step();
    if (!found) return found.error();
    if (*found) {
      const Bytes before = known->blob(1);
      const bool same = before.empty() || before == sha256;
      const bool over = known->integer(0) < operation.now.value;
      repeat = same ? Repeat::same : over ? Repeat::none : Repeat::other;
    }
  }
  if (repeat == Repeat::none) {
    auto put = update("INSERT OR REPLACE INTO mail_received VALUES (?, ?, ?, ?)", source, number,
                      operation.name_expiry.value, sha256);
    if (!put) return put.error();
    return repeat;
  }
  // It may have come with more time than it had before.
  auto longer = update(
      "UPDATE mail_received SET expiry_utc = max(expiry_utc, ?) WHERE source = ? AND message_id = "
      "?",
      operation.name_expiry.value, source, number);
  if (!longer) return longer.error();
  return repeat;
}

/// `first`: the one that was made of the same message before; 0: none was.
Result<MailId> SqliteMailStore::insert(const NewMail& mail, UtcSeconds now, bool check_marks,
                                       MailId first) {
  std::vector<const NewTarget*> targets;
  for (const NewTarget& target : mail.targets) {
    const auto fresh = check_marks ? is_new(target.mark, now) : Result<bool>(true);
    if (!fresh) return fresh.error();
    if (*fresh) targets.push_back(&target);
  }
  if (targets.empty()) return MailId{};
  const std::int64_t due = std::min(now.value, mail.expiry.value);
  const std::int64_t delay_s =
      mail.delay.value == 0 ? 0 : std::max<std::int64_t>(1, mail.delay.value - now.value);
  auto row = update(
      "INSERT INTO mail (road, state, priority, reverse_path, label, size, sha256, created_utc, "
      "expiry_utc, next_try_utc, delay_utc, lifetime_s, delay_s) VALUES (?, 'incoming', ?, ?, ?, "
      "?, "
      "?, ?, ?, ?, ?, ?, ?)",
      to_string(mail.road), std::int64_t{mail.priority}, to_string(mail.from), mail.label,
      static_cast<std::int64_t>(mail.content->size()), gateways::sha256_of(*mail.content),
      now.value, mail.expiry.value, due, mail.delay.value, mail.expiry.value - now.value, delay_s);
  if (!row) return row.error();
  const MailId id{db_.last_insert_id()};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto target = update(
        "INSERT INTO mail_target (mail, number, recipient, station, state) VALUES (?, ?, ?, ?, "
        "'incoming')",
        id.value, static_cast<std::int64_t>(i), to_string(targets[i]->recipient),
        std::int64_t{targets[i]->station.value});
    if (!target) return target.error();
    const std::string& mark = targets[i]->mark;
    if (!check_marks || mark.empty()) continue;
    auto marked = note_mark(id, static_cast<std::int64_t>(i), mark, now);
    if (!marked) return marked.error();
  }
  auto content = update("INSERT INTO mail_content VALUES (?, ?)", id.value, *mail.content);
  if (!content) return content.error();
  if (auto noted = note_course(id, first.value == 0 ? id : first, mail); !noted) {
    return noted.error();
  }
  ++open_.mails;
  open_.octets += mail.content->size();
  return id;
}

Result<void> SqliteMailStore::note_course(MailId id, MailId first, const NewMail& mail) {
  return unless_damaged("mail_course", [&] {
    return update("INSERT OR REPLACE INTO mail_course VALUES (?, ?, ?, ?, ?, ?)", id.value,
                  first.value, mail.about.value, std::int64_t{mail.heard.source.value},
                  std::int64_t{mail.heard.message_id}, mail.came);
  });
}

// --- Take ----------------------------------------------------------------------------------------

Result<MailAnswer> SqliteMailStore::run(const TakeDue& operation) {
  if (auto sound = need_sound_spool(operation.road); !sound) return sound.error();
  if (auto done = resume_stranded(operation.now); !done) return done.error();
  TakenMail taken;
  Search search;
  search.room = operation.room;
  while (taken.items.size() < operation.items_max) {
    const auto more = take_one(operation, search, taken.items);
    if (!more) return more.error();
    if (!*more) break;
  }
  return MailAnswer(std::move(taken));
}

/// False when nothing is due, or there is no room for it. A row that cannot be understood is
/// parked, and not among the items.
Result<bool> SqliteMailStore::take_one(const TakeDue& operation, Search& search,
                                       std::vector<MailItem>& items) {
  const auto next = operation.expired_only ? next_late(operation) : next_due(operation, search);
  if (!next) return next.error();
  if (!*next) return false;
  const MailId id = **next;
  auto item = read_row(id);
  if (!item) return meet(Met::During::take, id, item.error(), operation.now);
  if (*item) {
    const SpoolState state = (*item)->state;
    const bool waits = state == SpoolState::incoming || state == SpoolState::deferred;
    if (!waits || (*item)->road != operation.road) return stray(operation.road, id, operation.now);
    std::uint64_t octets = (*item)->size;
    for (const MailItem& other : items) octets += other.size;
    if (!items.empty() && octets > operation.octets_max) return false;
    const auto intact = read_rest(**item);
    if (!intact) return meet(Met::During::take, id, intact.error(), operation.now);
    if (!*intact) item->reset();
  }
  if (!*item) {
    const std::string reason = "not what was accepted";
    if (auto parked = park(id, reason); !parked) {
      return meet(Met::During::take, id, parked.error(), operation.now);
    }
    if (db_.changes() == 0) return stray(operation.road, id, operation.now);
    parked_.push_back({id, reason, true});
    return true;
  }
  auto active = update("UPDATE mail SET state = 'active' WHERE id = ?", id.value);
  if (!active) return meet(Met::During::take, id, active.error(), operation.now);
  unread_.erase(id);
  unwritable_.erase(id);  // the operator has asked for it again
  (*item)->state = SpoolState::active;
  if (search.room) search.room->add({(*item)->priority, (*item)->size, search.stations});
  items.push_back(**std::move(item));
  return true;
}

// The stations of recipients that have not ended; the mail server is station 0.
Result<std::vector<NodeId>> SqliteMailStore::open_stations(MailId id) {
  auto rows = db_.prepare(
      "SELECT DISTINCT station FROM mail_target WHERE mail = ? AND state IN ('incoming', "
      "'deferred')");
  if (!rows) return rows.error();
  rows->bind(id.value);
  std::vector<NodeId> stations;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return stations;
    stations.push_back({static_cast<std::uint32_t>(rows->integer(0))});
  }
}

// By an index that holds all that is asked for, so that a row that cannot be read does not end the
// search, and what is not due costs nothing. What there is no room for is looked at once a request.
// The search looks again at the message that it found last, because a damaged index may have a
// second entry of it.
Result<std::optional<MailId>> SqliteMailStore::next_due(const TakeDue& operation, Search& search) {
  constexpr const char* kStates[] = {"deferred", "incoming"};
  for (; search.priority < 16; ++search.priority) {
    for (; search.state < std::size(kStates); ++search.state) {
      auto rows = db_.prepare(
          "SELECT id, next_try_utc FROM mail WHERE road = ?1 AND state = ?2 AND priority = ?3 AND "
          "next_try_utc BETWEEN ?4 AND ?5 AND (next_try_utc > ?4 OR id >= ?6) ORDER BY "
          "next_try_utc, id");
      if (!rows) return rows.error();
      rows->bind_text(to_string(operation.road)).bind_text(kStates[search.state]);
      rows->bind(search.priority).bind(search.next_try).bind(operation.now.value).bind(search.id);
      while (true) {
        const auto row = rows->step();
        if (!row) return row.error();
        if (!*row) break;
        const MailId id{rows->integer(0)};
        search.id = id.value;
        search.next_try = rows->integer(1);
        if (is_passed_over(id, operation.now) || is_stray(operation.road, id)) continue;
        if (!search.room) return std::optional<MailId>(id);
        auto stations = open_stations(id);
        if (!stations) return meet(Met::During::take, id, stations.error(), operation.now);
        const auto priority = static_cast<std::uint8_t>(search.priority);
        if (!search.room->admits(priority, *stations)) continue;
        search.stations = *std::move(stations);
        return std::optional<MailId>(id);
      }
      search.next_try = std::numeric_limits<std::int64_t>::min();
      search.id = 0;
    }
    search.state = 0;
  }
  return std::optional<MailId>();
}

/// Finds a message that is too late, whatever there is room for.
Result<std::optional<MailId>> SqliteMailStore::next_late(const TakeDue& operation) {
  if (!missing_index_.empty()) return next_expired(operation);
  auto rows = db_.prepare(
      "SELECT id FROM mail WHERE road = ? AND state IN ('deferred', 'incoming') AND expiry_utc "
      "<= ? ORDER BY expiry_utc");
  if (!rows) return rows.error();
  rows->bind_text(to_string(operation.road)).bind(operation.now.value);
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return std::optional<MailId>();
    const MailId id{rows->integer(0)};
    if (is_passed_over(id, operation.now)) continue;
    if (!is_stray(operation.road, id)) return std::optional<MailId>(id);
  }
}

/// The same without its index.
Result<std::optional<MailId>> SqliteMailStore::next_expired(const TakeDue& operation) {
  auto rows = db_.prepare(
      "SELECT id FROM mail INDEXED BY mail_due WHERE road = ? AND state IN ('deferred', "
      "'incoming')");
  if (!rows) return rows.error();
  rows->bind_text(to_string(operation.road));
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return std::optional<MailId>();
    const MailId id{rows->integer(0)};
    if (is_passed_over(id, operation.now)) continue;
    if (is_stray(operation.road, id)) continue;
    auto late = db_.prepare("SELECT 1 FROM mail WHERE id = ? AND expiry_utc <= ?");
    if (!late) return late.error();
    const auto found = late->bind(id.value).bind(operation.now.value).step();
    if (!found) return meet(Met::During::take, id, found.error(), operation.now);
    if (*found) return std::optional<MailId>(id);
  }
}

// --- Save ----------------------------------------------------------------------------------------

Result<MailAnswer> SqliteMailStore::run(const SaveSubmission& operation) {
  if (unwritable_.contains(operation.id)) return Error{ErrorCode::refused, "message is parked"};
  // A running number is of one submission: who is not in this has none of it.
  auto done = update(
      "UPDATE mail_target SET sequence = 0 WHERE mail = ?1 AND sequence > 0 AND ?2 <> (SELECT "
      "message_id FROM mail WHERE id = ?1)",
      operation.id.value, std::int64_t{operation.message_id});
  if (!done) return done.error();
  done = update("UPDATE mail SET message_id = ?, block_octets = ? WHERE id = ?",
                std::int64_t{operation.message_id}, std::int64_t{operation.block_octets},
                operation.id.value);
  if (!done) return done.error();
  done = unless_damaged("mail_submitted", [&] {
    return update("INSERT OR REPLACE INTO mail_submitted VALUES (?, ?)", operation.id.value,
                  operation.tags == CdtTags::explicit_ ? kSubmittedFormExplicit : kSubmittedForm);
  });
  if (!done) return done.error();
  done = update("UPDATE mail_counter SET message_id = max(message_id, ?)",
                std::int64_t{operation.message_id});
  if (!done) return done.error();
  for (const Destination& destination : operation.destinations) {
    const std::int64_t node = destination.node.value;
    const std::int64_t sequence = destination.sequence;
    done = update("UPDATE mail_target SET sequence = ? WHERE mail = ? AND station = ?", sequence,
                  operation.id.value, node);
    if (!done) return done.error();
    done = unless_damaged("mail_station", [&] {
      return update(
          "INSERT INTO mail_station (station, sequence) VALUES (?, ?) ON CONFLICT (station) DO "
          "UPDATE SET sequence = max(sequence, excluded.sequence)",
          node, sequence);
    });
    if (!done) return done.error();
  }
  return MailAnswer(Done{});
}

Result<MailAnswer> SqliteMailStore::run(const SaveOutcome& operation) {
  for (const NewMail& report : operation.reports) {
    if (auto id = insert(report, operation.now, false); !id) return id.error();
  }
  if (unwritable_.contains(operation.id)) return MailAnswer(Done{});
  for (const SaveOutcome::Change& change : operation.changes) {
    auto done = update("UPDATE mail_target SET state = ?, reason = ? WHERE mail = ? AND number = ?",
                       gateways::to_string(change.state), change.reason, operation.id.value,
                       std::int64_t{change.number});
    if (!done) return done.error();
  }
  if (!operation.changes.empty()) {
    auto done = update("UPDATE mail SET reason = ? WHERE id = ?", operation.changes.back().reason,
                       operation.id.value);
    if (!done) return done.error();
  }
  if (operation.counts_as_attempt) {
    auto done = update("UPDATE mail SET attempts = attempts + 1 WHERE id = ?", operation.id.value);
    if (!done) return done.error();
  }
  if (operation.forget_submission) {
    auto done =
        update("UPDATE mail SET message_id = 0, block_octets = 0 WHERE id = ?", operation.id.value);
    if (!done) return done.error();
  }
  if (operation.next_try) {
    auto done = update(
        "UPDATE mail SET state = 'deferred', next_try_utc = min(?, expiry_utc) WHERE id = ? "
        "AND state = 'active'",
        operation.next_try->value, operation.id.value);
    if (!done) return done.error();
  }
  if (auto done = finish(operation.id, operation.now); !done) return done.error();
  return MailAnswer(Done{});
}

/// A message without open targets is what the worst of them is. Delivered content is not kept.
Result<void> SqliteMailStore::finish(MailId id, UtcSeconds now) {
  bool failed = false;
  bool expired = false;
  {
    auto states = db_.prepare("SELECT DISTINCT state FROM mail_target WHERE mail = ?");
    if (!states) return states.error();
    states->bind(id.value);
    while (true) {
      const auto row = states->step();
      if (!row) return row.error();
      if (!*row) break;
      const auto state = parse_spool_state(states->text(0));
      if (!state || is_open(*state)) return {};
      failed |= *state == SpoolState::failed;
      expired |= *state == SpoolState::expired;
    }
  }
  std::uint64_t size = 0;
  bool counted = false;
  bool by_air = false;
  {
    auto row = db_.prepare("SELECT size, state, road FROM mail WHERE id = ?");
    if (!row) return row.error();
    const auto found = row->bind(id.value).step();
    if (!found) return found.error();
    if (!*found) return {};  // removed by an operator
    size = static_cast<std::uint64_t>(row->integer(0));
    const auto before = parse_spool_state(row->text(1));
    counted = before && is_open(*before);
    by_air = row->text(2) == to_string(Road::air);
  }
  const auto state = failed    ? SpoolState::failed
                     : expired ? SpoolState::expired
                               : SpoolState::delivered;
  auto done = update("UPDATE mail SET state = ?, finished_utc = ?, delay_utc = 0 WHERE id = ?",
                     gateways::to_string(state), now.value, id.value);
  // The sender is told that it has failed, and may hand the same message over once more.
  if (done && by_air && state != SpoolState::delivered) {
    done = unless_damaged("mail_mark", [&] { return release_marks(id); });
  }
  if (!done) return done;
  if (counted) {
    open_.mails -= std::min<std::uint64_t>(open_.mails, 1);
    open_.octets -= std::min(open_.octets, size);
  }
  if (state != SpoolState::delivered || keep_content_.contains(id)) return {};
  return update("DELETE FROM mail_content WHERE id = ?", id.value);
}

// --- Delay ---------------------------------------------------------------------------------------

// What cannot be read is not told of; who takes it next parks it.
Result<MailAnswer> SqliteMailStore::run(const TakeDelayed& operation) {
  auto rows =
      db_.prepare("SELECT id FROM mail WHERE delay_utc > 0 AND delay_utc <= ? ORDER BY delay_utc");
  if (!rows) return rows.error();
  rows->bind(operation.now.value);
  TakenMail taken;
  std::vector<MailId> unreadable;
  while (taken.items.size() < operation.items_max) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) break;
    const MailId id{rows->integer(0)};
    const auto untold = untold_.find(id);
    if (untold != untold_.end() && untold->second > operation.now) continue;
    if (unwritable_.contains(id)) continue;
    const auto due = is_late(id, operation.now);
    if (!due) return meet(Met::During::tell, id, due.error(), operation.now);
    if (!*due && strays_.contains({std::nullopt, id})) continue;
    if (!*due) return stray({}, id, operation.now);
    auto item = read_row(id);
    if (!item) return meet(Met::During::tell, id, item.error(), operation.now);
    if (*item && !is_open((*item)->state)) continue;
    const auto intact = *item ? read_rest(**item) : Result<bool>(false);
    if (!intact) return meet(Met::During::tell, id, intact.error(), operation.now);
    if (*intact) {
      taken.items.push_back(**std::move(item));
    } else {
      unreadable.push_back(id);
    }
  }
  for (const MailId id : unreadable) {
    auto done = update("UPDATE mail SET delay_utc = 0 WHERE id = ?", id.value);
    if (!done) return done.error();
  }
  auto later =
      db_.prepare("SELECT delay_utc FROM mail WHERE delay_utc > ? ORDER BY delay_utc LIMIT 1");
  if (!later) return later.error();
  const auto found = later->bind(operation.now.value).step();
  if (!found) return found.error();
  if (*found) taken.next_delay = UtcSeconds{later->integer(0)};
  return MailAnswer(std::move(taken));
}

Result<bool> SqliteMailStore::is_late(MailId id, UtcSeconds now) {
  auto row = db_.prepare("SELECT delay_utc BETWEEN 1 AND ? FROM mail WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(now.value).bind(id.value).step();
  if (!found) return found.error();
  return *found && row->integer(0) != 0;
}

Result<MailAnswer> SqliteMailStore::run(const SaveDelayed& operation) {
  if (unwritable_.contains(operation.id)) return MailAnswer(Done{});
  auto done =
      update("UPDATE mail SET delay_utc = 0 WHERE id = ? AND delay_utc > 0", operation.id.value);
  if (!done) return done.error();
  if (db_.changes() == 0) return MailAnswer(Done{});  // removed by an operator, or over
  for (const NewMail& report : operation.reports) {
    if (auto id = insert(report, operation.now, false); !id) return id.error();
  }
  return MailAnswer(Done{});
}

Result<MailAnswer> SqliteMailStore::run(const SaveStation& operation) {
  auto done = unless_damaged("mail_station", [&] {
    return update(
        "INSERT INTO mail_station (station, failures, dead_until_utc, reason) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (station) DO UPDATE SET failures = excluded.failures, dead_until_utc = "
        "excluded.dead_until_utc, reason = excluded.reason",
        std::int64_t{operation.row.station.value}, std::int64_t{operation.row.failures},
        operation.row.dead_until.value, operation.row.reason);
  });
  if (done && operation.row.heard.value != 0) {
    done = unless_damaged("mail_heard", [&] {
      return update("INSERT OR REPLACE INTO mail_heard VALUES (?, ?)",
                    std::int64_t{operation.row.station.value}, operation.row.heard.value);
    });
  }
  if (!done) return done.error();
  return MailAnswer(Done{});
}

/// Is there a recipient behind the station that has not ended?
Result<bool> SqliteMailStore::is_open_for(MailId id, NodeId station) {
  auto row = db_.prepare(
      "SELECT 1 FROM mail_target WHERE mail = ? AND station = ? AND state IN ('incoming', "
      "'deferred')");
  if (!row) return row.error();
  return row->bind(id.value).bind(std::int64_t{station.value}).step();
}

// The index has all that is asked for, so that a row that cannot be read does not end the search.
Result<MailAnswer> SqliteMailStore::run(const WakeMail& operation) {
  std::vector<MailId> waiting;
  {
    auto rows = db_.prepare(
        "SELECT id FROM mail INDEXED BY mail_due WHERE road = 'air' AND state = 'deferred' AND "
        "next_try_utc > ?");
    if (!rows) return rows.error();
    rows->bind(operation.now.value);
    while (true) {
      const auto row = rows->step();
      if (!row) return row.error();
      if (!*row) break;
      const MailId id{rows->integer(0)};
      if (!is_passed_over(id, operation.now)) waiting.push_back(id);
    }
  }
  for (const MailId id : waiting) {
    const auto concerned =
        operation.station.value == 0 ? Result<bool>(true) : is_open_for(id, operation.station);
    if (!concerned) return meet(Met::During::take, id, concerned.error(), operation.now);
    if (!*concerned) continue;
    auto done = update("UPDATE mail SET next_try_utc = ? WHERE id = ? AND state = 'deferred'",
                       operation.now.value, id.value);
    if (!done) return meet(Met::During::take, id, done.error(), operation.now);
  }
  return MailAnswer(Done{});
}

// --- Start and age -------------------------------------------------------------------------------

// What is damaged of all but the messages keeps no gateway from starting: a number that was not
// read here is looked up when it comes again, and without the counter nothing begins by air.
Result<MailAnswer> SqliteMailStore::run(const Resume& operation) {
  Resumed resumed;
  if (auto noted = note_active(); !noted) return noted.error();
  if (auto followed = follow_clock_put_back(operation.now); !followed) return followed.error();
  if (auto done = resume_stranded(operation.now); !done) return done.error();
  auto done = unless_damaged("mail_counter", [&] { return read_counter(resumed); });
  if (done) done = unless_damaged("mail_station", [&] { return read_stations(resumed); });
  if (done) done = unless_damaged("mail_heard", [&] { return read_heard(resumed); });
  if (done) {
    done = unless_damaged("mail_received", [&] { return read_received(operation.now, resumed); });
  }
  if (!done) return done.error();
  return MailAnswer(std::move(resumed));
}

Result<MailAnswer> SqliteMailStore::run(const NoteClock& operation) {
  if (auto done = move_times(operation.step, operation.now); !done) return done.error();
  auto done = unless_damaged("mail_clock", [&] {
    return update("INSERT OR REPLACE INTO mail_clock VALUES (1, ?)", operation.now.value);
  });
  if (!done) return done.error();
  return MailAnswer(Done{});
}

// A clock that is ahead of the last note may be right: the gateway was away. One that is behind it
// has been put back, and then what waits has as long to wait as when the gateway stopped.
Result<void> SqliteMailStore::follow_clock_put_back(UtcSeconds now) {
  std::int64_t noted = 0;
  auto done = unless_damaged("mail_clock", [&]() -> Result<void> {
    auto row = db_.prepare("SELECT utc FROM mail_clock");
    if (!row) return row.error();
    const auto found = row->step();
    if (!found) return found.error();
    if (*found) noted = row->integer(0);
    return {};
  });
  if (!done) return done;
  if (noted > now.value) done = move_times(std::chrono::seconds(now.value - noted), now);
  if (!done) return done;
  return unless_damaged("mail_clock", [&] {
    return update("INSERT OR REPLACE INTO mail_clock VALUES (1, ?)", now.value);
  });
}

Result<void> SqliteMailStore::move_times(std::chrono::seconds step, UtcSeconds now) {
  if (step.count() == 0) return {};
  if (auto done = move_times_of_mails(step, now); !done) return done;
  const std::int64_t by = step.count();
  auto done = unless_damaged("mail_station", [&] {
    return update(
        "UPDATE mail_station SET dead_until_utc = max(0, dead_until_utc + ?) WHERE dead_until_utc "
        "> 0",
        by);
  });
  if (!done) return done;
  done = unless_damaged("mail_heard",
                        [&] { return update("UPDATE mail_heard SET utc = utc + ?", by); });
  if (!done) return done;
  done = unless_damaged("mail_seen",
                        [&] { return update("UPDATE mail_seen SET seen_utc = seen_utc + ?", by); });
  if (!done) return done;
  return unless_damaged("mail_mark",
                        [&] { return update("UPDATE mail_mark SET seen_utc = seen_utc + ?", by); });
}

// Message by message: what the disk cannot read keeps its times, and the others go on.
Result<void> SqliteMailStore::move_times_of_mails(std::chrono::seconds step, UtcSeconds now) {
  std::vector<MailId> waiting;
  for (const Road road : {Road::air, Road::smtp}) {
    auto rows = db_.prepare(
        "SELECT id FROM mail INDEXED BY mail_due WHERE road = ? AND state IN ('incoming', "
        "'active', 'deferred', 'held')");
    if (!rows) return rows.error();
    rows->bind_text(to_string(road));
    while (true) {
      const auto row = rows->step();
      if (!row) return row.error();
      if (!*row) break;
      waiting.push_back({rows->integer(0)});
    }
  }
  for (const MailId id : waiting) {
    if (is_passed_over(id, now)) continue;
    auto done = update(
        "UPDATE mail SET created_utc = created_utc + ?1, expiry_utc = expiry_utc + ?1, "
        "next_try_utc = next_try_utc + ?1, delay_utc = iif(delay_utc > 0, max(1, delay_utc + ?1), "
        "0) WHERE id = ?2",
        std::int64_t{step.count()}, id.value);
    if (!done) return meet(Met::During::take, id, done.error(), now);
  }
  return {};
}

void SqliteMailStore::move_times_in_memory(std::chrono::seconds step) {
  for (auto& [id, unread] : unread_) {
    if (unread.again.value < std::numeric_limits<std::int64_t>::max()) {
      unread.since.value += step.count();
      unread.again.value += step.count();
    }
  }
  for (auto& [id, again] : untold_) again.value += step.count();
  for (auto& [index, again] : mend_again_) again.value += step.count();
  look_again_.value += step.count();
  now_.value += step.count();
}

Result<void> SqliteMailStore::read_counter(Resumed& resumed) {
  auto counter = db_.prepare("SELECT message_id FROM mail_counter");
  if (!counter) return counter.error();
  if (auto row = counter->step(); !row) return row.error();
  resumed.last_message_id = static_cast<std::uint32_t>(counter->integer(0));
  return {};
}

Result<void> SqliteMailStore::read_stations(Resumed& resumed) {
  auto rows = stations();
  if (!rows) return rows.error();
  resumed.stations = std::move(rows).value();
  return {};
}

Result<void> SqliteMailStore::read_heard(Resumed& resumed) {
  auto rows = db_.prepare("SELECT station, utc FROM mail_heard");
  if (!rows) return rows.error();
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    const NodeId node{static_cast<std::uint32_t>(rows->integer(0))};
    for (StationRow& station : resumed.stations) {
      if (station.station == node) station.heard = {rows->integer(1)};
    }
  }
}

Result<void> SqliteMailStore::read_received(UtcSeconds now, Resumed& resumed) {
  auto received =
      db_.prepare("SELECT source, message_id, expiry_utc FROM mail_received WHERE expiry_utc > ?");
  if (!received) return received.error();
  received->bind(now.value);
  while (true) {
    const auto row = received->step();
    if (!row) return row.error();
    if (!*row) return {};
    const MessageName name{{static_cast<std::uint32_t>(received->integer(0))},
                           static_cast<std::uint32_t>(received->integer(1))};
    resumed.received.emplace_back(name, UtcSeconds{received->integer(2)});
  }
}

}  // namespace s5066::acp142
