// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/sqlite_mail_store.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gateways/acp142/sqlite_mail_store_rows.h"
#include "gateways/common/remove_each.h"
#include "gateways/common/sha256.h"
#include "s5066d/base/assert.h"

namespace s5066::acp142 {

using gateways::Database;
using gateways::list_items;
using gateways::parse_spool_state;
using gateways::Removal;
using gateways::sha256_of;
using gateways::Statement;
using gateways::Transaction;

namespace {

constexpr const char* kReserveSuffix = ".reserve";

bool is_open(SpoolState state) {
  return !gateways::is_final(state) || state == SpoolState::held;
}

constexpr std::size_t kUnreadAtOnce = 64;  // more than that: the request fails, and comes again
// A disk that fails may be well again; a message is parked when it could not be read so often, over
// so long, each time while others were.
constexpr std::uint32_t kReadFailuresMax = 8;
constexpr std::int64_t kReadFailuresS = 3600;
constexpr std::int64_t kReadAgainMinS = 60;  // doubled after each failure …
constexpr std::int64_t kReadAgainMaxS = 600;
constexpr std::int64_t kTellAgainS = 86400;  // what is damaged
constexpr UtcSeconds kNever{std::numeric_limits<std::int64_t>::max()};

std::optional<MailId> written_by(const MailOperation& operation) {
  if (const auto* one = std::get_if<SaveSubmission>(&operation)) return one->id;
  if (const auto* one = std::get_if<SaveOutcome>(&operation)) return one->id;
  if (const auto* one = std::get_if<SaveDelayed>(&operation)) return one->id;
  return std::nullopt;
}

UtcSeconds said_now(const MailOperation& operation) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.now; }) {
          return one.now;
        } else {
          return UtcSeconds{};
        }
      },
      operation);
}

constexpr std::uint32_t kRelativesMax = 1000;

/// Condition for messages that are not over, or that an operator has to look at.
std::string is_waiting(const std::string& column) {
  return column + " IN ('incoming', 'active', 'deferred', 'held', 'corrupt')";
}

const Error kNoSuchMessage{ErrorCode::refused, "no such message in such a state"};

constexpr std::size_t kAtOnceMax = 4096;  // others wait meanwhile

constexpr std::int64_t kMendAgainS = 3600;
constexpr std::int64_t kLookAgainS = 60;  // at one that was sound
constexpr std::int64_t kLookS = 86400;    // without a reason

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
      to_string(mail.transport), std::int64_t{mail.priority}, to_string(mail.from), mail.label,
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
  if (auto sound = need_sound_spool(operation.transport); !sound) return sound.error();
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
    if (!waits || (*item)->transport != operation.transport)
      return stray(operation.transport, id, operation.now);
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
    if (db_.changes() == 0) return stray(operation.transport, id, operation.now);
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

// The search uses an index that holds every column it asks for, so that an unreadable row does not
// end it, and messages that are not due cost nothing. A message without room is looked at once in a
// request.
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
      rows->bind_text(to_string(operation.transport)).bind_text(kStates[search.state]);
      rows->bind(search.priority).bind(search.next_try).bind(operation.now.value).bind(search.id);
      while (true) {
        const auto row = rows->step();
        if (!row) return row.error();
        if (!*row) break;
        const MailId id{rows->integer(0)};
        search.id = id.value;
        search.next_try = rows->integer(1);
        if (is_passed_over(id, operation.now) || is_stray(operation.transport, id)) continue;
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
  rows->bind_text(to_string(operation.transport)).bind(operation.now.value);
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return std::optional<MailId>();
    const MailId id{rows->integer(0)};
    if (is_passed_over(id, operation.now)) continue;
    if (!is_stray(operation.transport, id)) return std::optional<MailId>(id);
  }
}

/// The same without its index.
Result<std::optional<MailId>> SqliteMailStore::next_expired(const TakeDue& operation) {
  auto rows = db_.prepare(
      "SELECT id FROM mail INDEXED BY mail_due WHERE road = ? AND state IN ('deferred', "
      "'incoming')");
  if (!rows) return rows.error();
  rows->bind_text(to_string(operation.transport));
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return std::optional<MailId>();
    const MailId id{rows->integer(0)};
    if (is_passed_over(id, operation.now)) continue;
    if (is_stray(operation.transport, id)) continue;
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
    by_air = row->text(2) == to_string(Transport::air);
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

// An unreadable message is not reported as delayed; the next search that takes it parks it.
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

// Damage outside the messages does not keep a gateway from starting: a number that was not read
// here is looked up when it comes again, and without the counter no transfer begins by air.
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
  for (const Transport transport : {Transport::air, Transport::smtp}) {
    auto rows = db_.prepare(
        "SELECT id FROM mail INDEXED BY mail_due WHERE road = ? AND state IN ('incoming', "
        "'active', 'deferred', 'held')");
    if (!rows) return rows.error();
    rows->bind_text(to_string(transport));
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

// --- Requests, and rows that cannot be read -----------------------------------------------------

// Old messages go by commits of their own, and everything else together.
std::vector<MailResult> SqliteMailStore::execute(const std::vector<MailRequest>& requests) {
  const auto is_apart = [](const MailRequest& request) {
    const auto* purge = std::get_if<PurgeMail>(&request.operation);
    return purge != nullptr && purge->part == PurgeMail::Part::mails;
  };
  if (std::none_of(requests.begin(), requests.end(), is_apart)) {
    return execute_with_reserve(requests);
  }
  std::vector<MailResult> all;
  for (auto at = requests.begin(); at != requests.end();) {
    const auto apart = std::find_if(at, requests.end(), is_apart);
    auto results = execute_with_reserve({at, apart});
    all.insert(all.end(), std::move_iterator(results.begin()), std::move_iterator(results.end()));
    if (apart == requests.end()) break;
    all.push_back(purge_mails(apart->ticket, said_now(apart->operation)));
    at = apart + 1;
  }
  say_what_was_done(all.front());
  return all;
}

void SqliteMailStore::say_what_was_done(MailResult& result) {
  const auto say = [](std::vector<std::string>& to, std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
  };
  say(result.mended, mended_);
  say(result.left_out, newly_left_out_);
  result.reserve_used = std::exchange(reserve_used_, false) || result.reserve_used;
}

// Messages under way come before new ones: they get the room that was kept for them.
std::vector<MailResult> SqliteMailStore::execute_with_reserve(
    const std::vector<MailRequest>& requests) {
  auto results = execute_together(requests);
  std::vector<MailRequest> again;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& answer = results[i].answer;
    const bool is_new = std::holds_alternative<AcceptMail>(requests[i].operation);
    if (answer || answer.error().code != ErrorCode::queue_full || is_new) continue;
    again.push_back(requests[i]);
    places.push_back(i);
  }
  if (again.empty() || !give_up_reserve()) return results;
  auto more = execute_together(again);
  for (std::size_t i = 0; i < more.size(); ++i) results[places[i]] = std::move(more[i]);
  return results;
}

bool SqliteMailStore::give_up_reserve() {
  const bool given = reserve_.release();
  reserve_used_ = reserve_used_ || given;
  return given;
}

/// The work can be done again, with the room of the reserve.
bool SqliteMailStore::needs_reserve(const Result<void>& done) {
  return !done && done.error().code == ErrorCode::queue_full && give_up_reserve();
}

// A transaction that has met what cannot be read is begun anew without that message. One that some
// request has spoiled otherwise is divided, for the sake of the other requests.
std::vector<MailResult> SqliteMailStore::execute_together(
    const std::vector<MailRequest>& requests) {
  if (requests.empty()) return {};
  troubles_.clear();
  left_out_now_ = false;
  std::map<MailId, Unread> before = unread_;
  for (const MailRequest& request : requests) {
    const auto* clock = std::get_if<NoteClock>(&request.operation);
    if (clock != nullptr) move_times_in_memory(clock->step);
    now_ = std::max(now_, said_now(request.operation));
    if (std::holds_alternative<Resume>(request.operation)) look_at_indexes();
  }
  auto results = run_mended(requests);
  for (std::size_t rows = 0; !results;) {
    const bool left_out = std::exchange(left_out_now_, false);
    if (!left_out && (!met_ || rows++ == kUnreadAtOnce + stranded_.size())) break;
    if (!left_out && !pass_over(*met_)) break;
    results = run_mended(requests);
  }
  if (!results) {
    // Nothing says that it was the message and not the disk.
    std::erase_if(unread_, [&](const auto& one) {
      return one.second.again != kNever && !before.contains(one.first);
    });
    for (const auto& [id, one] : before) {
      if (const auto at = unread_.find(id); at != unread_.end() && at->second.again != kNever) {
        at->second = one;
      }
    }
    std::erase_if(troubles_, [](const MailTrouble& one) { return !one.parked; });
  }
  std::vector<MailTrouble> troubles = std::exchange(troubles_, {});
  std::vector<MailResult> all;
  if (results) {
    all = std::move(results).value();
  } else if (spoiled_ && requests.size() > 1) {
    for (const MailRequest& request : requests)
      all.push_back(std::move(execute_together({request})[0]));
  } else {
    for (const MailRequest& request : requests)
      all.push_back({request.ticket, results.error(), {}});
  }
  if (!all.empty()) {
    auto& first = all.front().troubles;
    first.insert(first.begin(), troubles.begin(), troubles.end());
    say_what_was_done(all.front());
  }
  return all;
}

// If the commit fails, the counts return to their values before it.
Result<std::vector<MailResult>> SqliteMailStore::run_all(const std::vector<MailRequest>& requests) {
  const Open before = open_;
  auto results = run_in_one_commit(requests);
  if (!results) {
    open_ = before;
    return results;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto id = written_by(requests[i].operation);
    if (!id || !(*results)[i].answer) continue;
    unsaved_.erase(*id);
    keep_content_.erase(*id);
  }
  for (const MailId id : resumed_) stranded_.erase(id);
  for (const MailTrouble& one : parked_) release_marks_apart(one.id);
  troubles_.insert(troubles_.end(), parked_.begin(), parked_.end());
  return results;
}

// A savepoint around each lets one fail without the others.
Result<std::vector<MailResult>> SqliteMailStore::run_in_one_commit(
    const std::vector<MailRequest>& requests) {
  met_.reset();
  parked_.clear();
  resumed_.clear();
  spoiled_ = false;
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  std::vector<MailResult> results;
  results.reserve(requests.size());
  for (const MailRequest& request : requests) {
    results.push_back({request.ticket, run_whole(request.operation), {}});
    if (results.back().answer) continue;
    const Error error = results.back().answer.error();
    // SQLite has given a transaction up in which the disk failed, and writes nothing more in one
    // that has met a damaged page.
    spoiled_ = error.code == ErrorCode::bad_checksum || !db_.in_transaction();
    const auto id = written_by(request.operation);
    if (spoiled_ && !met_ && !left_out_now_ && id && !unwritable_.contains(*id)) {
      met_ = Met{written_during(request.operation), *id, error, {}};
    }
    if (spoiled_ || met_) return error;
  }
  if (auto committed = transaction->commit(); !committed) return committed.error();
  return results;
}

SqliteMailStore::Met::During SqliteMailStore::written_during(const MailOperation& operation) {
  if (std::holds_alternative<SaveSubmission>(operation)) return Met::During::begin;
  if (std::holds_alternative<SaveOutcome>(operation)) return Met::During::end;
  return Met::During::told;
}

Result<MailAnswer> SqliteMailStore::run_whole(const MailOperation& operation) {
  if (auto begun = update("SAVEPOINT request"); !begun) return begun.error();
  const Open open_before = open_;
  const std::set<MailId> resumed_before = resumed_;
  auto answer = std::visit([this](const auto& one) { return run(one); }, operation);
  if (!answer) {
    static_cast<void>(db_.execute("ROLLBACK TO request"));
    open_ = open_before;
    resumed_ = resumed_before;
  }
  if (auto released = update("RELEASE request"); !released) {
    return answer ? released.error() : answer.error();
  }
  return answer;
}

/// To be called at once after the error.
Error SqliteMailStore::meet(Met::During during, MailId id, const Error& error, UtcSeconds now) {
  if (!left_out_now_ && db_.cannot_read()) met_ = Met{during, id, error, now};
  return error;
}

/// The same where an index has what its table has not; `transport`: of what is taken there, or told
/// of.
Error SqliteMailStore::stray(std::optional<Transport> transport, MailId id, UtcSeconds now) {
  const Error error{ErrorCode::bad_checksum, "spool: an index does not fit its table"};
  met_ = Met{Met::During::stray, id, error, now, transport};
  return error;
}

/// True if the index lists the message for this transport but its row says otherwise.
bool SqliteMailStore::is_stray(Transport transport, MailId id) {
  if (!strays_.contains({transport, id})) return false;
  auto row = db_.prepare(
      "SELECT 1 FROM mail WHERE id = ? AND road = ? AND state IN ('incoming', 'deferred')");
  if (!row) return false;
  const auto waits = row->bind(id.value).bind_text(to_string(transport)).step();
  return waits && !*waits;
}

/// Leaves out the table from now on. Returns false if it was left out before.
bool SqliteMailStore::leave_out(const char* table) {
  if (!left_out_.insert(table).second) return false;
  newly_left_out_.emplace_back(table);
  return true;
}

bool SqliteMailStore::is_passed_over(MailId id, UtcSeconds now) const {
  const auto at = unread_.find(id);
  return at != unread_.end() && at->second.again > now;
}

/// False where it would be the same again.
bool SqliteMailStore::pass_over(const Met& met) {
  using During = Met::During;
  if (met.during == During::begin || met.during == During::end || met.during == During::told) {
    return blame(met);
  }
  const bool damaged = met.error.code == ErrorCode::bad_checksum;
  if (met.during == During::stray) {
    if (!strays_.insert({met.transport, met.id}).second) return false;
    troubles_.push_back({met.id, met.error.detail, false});
    return true;
  }
  if (met.during == During::mark) {
    return damaged && !is_sound("mail_seen") && leave_out("mail_seen");
  }
  MailTrouble trouble{met.id, "cannot be read: " + met.error.detail, false};
  if (met.during == During::tell) {
    untold_[met.id].value = met.now.value + (damaged ? kTellAgainS : kReadAgainMinS);
  } else {
    Unread& one = unread_[met.id];
    if (++one.failures == 1) one.since = met.now;
    const bool long_enough =
        one.failures >= kReadFailuresMax && met.now.value - one.since.value >= kReadFailuresS;
    const bool its_own = !is_readable(met.id);
    if (!its_own) trouble.reason = "cannot be taken: " + met.error.detail;
    const bool written = its_own && (damaged || long_enough) && park_apart(met.id, trouble.reason);
    trouble.parked = written || (damaged && its_own);
    if (written) {
      stranded_.contains(met.id) ? forget_marks_apart(met.id) : release_marks_apart(met.id);
      unread_.erase(met.id);
    } else {
      const std::int64_t wait = kReadAgainMinS << std::min(one.failures - 1, 6u);
      one.again.value = met.now.value + std::min(wait, kReadAgainMaxS);
      if (damaged && its_own) one.again = kNever;  // its row cannot be written, either
    }
  }
  troubles_.push_back(std::move(trouble));
  return true;
}

// A message that can be read is not to blame where it cannot be written: it shares pages with all
// others, of indexes, counters and what is free. Parked it would be requeued one day, though what
// the transaction was to keep may be that it has been delivered.
bool SqliteMailStore::blame(const Met& met) {
  const bool damaged = met.error.code == ErrorCode::bad_checksum;
  // The outcome matters more than the content, which may be unreadable.
  const bool try_less = damaged && met.during == Met::During::end;
  if (try_less && keep_content_.insert(met.id).second) return true;
  if (is_readable(met.id)) {
    if (met.during == Met::During::told) return false;
    const auto item = read_row(met.id);
    unsaved_[met.id] = item && *item ? std::optional((*item)->transport) : std::nullopt;
    return false;
  }
  if (!damaged) return false;  // the disk may be well again
  unwritable_.insert(met.id);
  unsaved_.erase(met.id);
  MailTrouble trouble{met.id, "cannot be read: " + met.error.detail, true};
  static_cast<void>(park_apart(met.id, trouble.reason));
  troubles_.push_back(std::move(trouble));
  return true;
}

/// As it was accepted, or gone.
bool SqliteMailStore::is_readable(MailId id) {
  auto item = read_row(id);
  if (!item) return false;
  if (!*item) return true;
  auto intact = read_rest(**item);
  while (!intact && std::exchange(left_out_now_, false)) intact = read_rest(**item);
  return intact && *intact;
}

/// Whether something can be begun: what becomes of it has to be kept. `transport`: on that one.
Result<void> SqliteMailStore::need_sound_spool(std::optional<Transport> transport) const {
  for (const auto& [id, other] : unsaved_) {
    if (transport && other && *other != *transport) continue;
    return Error{ErrorCode::io, "what became of message " + std::to_string(id.value) +
                                    " cannot be written, though it can be read"};
  }
  return {};
}

bool SqliteMailStore::park_apart(MailId id, const std::string& reason) {
  auto transaction = Transaction::begin(db_);
  return transaction && park(id, reason) && transaction->commit();
}

Result<void> SqliteMailStore::park(MailId id, const std::string& reason) {
  open_.stale = true;
  return update(
      "UPDATE mail SET state = 'corrupt', reason = ?, delay_utc = 0 WHERE id = ? AND state <> "
      "'corrupt'",
      reason, id.value);
}

// --- Start ---------------------------------------------------------------------------------------

Result<void> SqliteMailStore::note_active() {
  auto rows = db_.prepare("SELECT id FROM mail WHERE state = 'active'");
  if (!rows) return rows.error();
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    stranded_.insert({rows->integer(0)});
  }
}

// Message by message: one that the disk cannot read must not keep the others back. It is still
// 'active' then, which nobody takes, and comes here again. Whom it has reached by now nobody knows,
// so that no copy will be taken for the first.
Result<void> SqliteMailStore::resume_stranded(UtcSeconds now) {
  for (const MailId id : stranded_) {
    if (is_passed_over(id, now) || resumed_.contains(id)) continue;
    auto done = update(
        "UPDATE mail SET state = 'deferred', next_try_utc = ? WHERE id = ? AND state = 'active'",
        now.value, id.value);
    if (done) done = unless_damaged("mail_mark", [&] { return forget_marks(id); });
    if (!done) return meet(Met::During::take, id, done.error(), now);
    resumed_.insert(id);
  }
  return {};
}

// --- Rows ---------------------------------------------------------------------------------------

/// Without targets and content. Null where its fields make no sense, or it is not there.
Result<std::optional<MailItem>> SqliteMailStore::read_row(MailId id) {
  auto row = db_.prepare(std::string(kItemColumns) + "WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  auto item = *found ? read_item(*row) : Result<MailItem>(Error{ErrorCode::not_found, "mail"});
  return item ? std::optional<MailItem>(std::move(item).value()) : std::nullopt;
}

/// False where it is not what was accepted.
Result<bool> SqliteMailStore::read_rest(MailItem& item) {
  auto targets = read_targets(item);
  if (targets) targets = forget_other_form(item);
  if (!targets && targets.error().code == ErrorCode::bad_field) return false;
  if (!targets) return targets.error();
  return read_content(item);
}

Result<void> SqliteMailStore::read_targets(MailItem& item) {
  auto rows = db_.prepare(
      "SELECT number, recipient, station, sequence, state, reason FROM mail_target WHERE mail = ? "
      "ORDER BY number");
  if (!rows) return rows.error();
  rows->bind(item.id.value);
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    auto recipient = parse_path(rows->text(1), PathUse::forward);
    const auto state = parse_spool_state(rows->text(4));
    if (!recipient || !state) return Error{ErrorCode::bad_field, "recipient cannot be read"};
    item.targets.push_back({.number = static_cast<std::uint32_t>(rows->integer(0)),
                            .recipient = std::move(recipient).value(),
                            .station = {static_cast<std::uint32_t>(rows->integer(2))},
                            .sequence = static_cast<std::uint32_t>(rows->integer(3)),
                            .state = *state,
                            .reason = rows->text(5)});
  }
}

// Under one number the octets are always the same, because a receiver that has blocks of others
// puts both together. A message that was begun in another form, or in one that cannot be read,
// begins anew under another number. The form from before there were any differs only for several
// stations.
Result<void> SqliteMailStore::forget_other_form(MailItem& item) {
  if (item.message_id == 0) return {};
  std::int64_t form = 0;
  const auto known = unless_damaged("mail_submitted", [&]() -> Result<void> {
    auto row = db_.prepare("SELECT form FROM mail_submitted WHERE mail = ?");
    if (!row) return row.error();
    const auto found = row->bind(item.id.value).step();
    if (found && *found) form = row->integer(0);
    return found ? Result<void>() : found.error();
  });
  if (!known) return known;
  const bool several = std::any_of(item.targets.begin(), item.targets.end(), [&](const auto& one) {
    return one.station != item.targets.front().station;
  });
  if (form == kSubmittedFormExplicit) {
    item.tags = CdtTags::explicit_;
  } else if (form != kSubmittedForm && several) {
    renumber(item);
  }
  return {};
}

Result<bool> SqliteMailStore::read_content(MailItem& item) {
  auto row =
      db_.prepare("SELECT sha256, content FROM mail JOIN mail_content USING (id) WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(item.id.value).step();
  if (!found) return found.error();
  if (!*found) return false;
  Bytes content = row->blob(1);
  if (row->blob(0) != sha256_of(content)) return false;
  item.content = std::make_shared<const Bytes>(std::move(content));
  return true;
}

Result<std::vector<StationRow>> SqliteMailStore::stations() {
  auto rows = db_.prepare(
      "SELECT station, sequence, failures, dead_until_utc, reason FROM mail_station ORDER BY "
      "station");
  if (!rows) return rows.error();
  std::vector<StationRow> stations;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return stations;
    stations.push_back({.station = {static_cast<std::uint32_t>(rows->integer(0))},
                        .sequence = static_cast<std::uint32_t>(rows->integer(1)),
                        .failures = static_cast<std::uint32_t>(rows->integer(2)),
                        .dead_until = {rows->integer(3)},
                        .reason = rows->text(4)});
  }
}

// --- Marks of copies ----------------------------------------------------------------------------

Result<bool> SqliteMailStore::is_new(const std::string& mark, UtcSeconds now) {
  if (mark.empty() || left_out_.contains("mail_seen")) return true;
  // A mark that is too old for the window counts as new, and gets a new age.
  auto put = db_.prepare(
      "INSERT INTO mail_seen VALUES (?1, ?2) ON CONFLICT (mark) DO UPDATE SET seen_utc = ?2 WHERE "
      "seen_utc <= ?3");
  if (!put) return put.error();
  put->bind_blob(std::string_view(mark))
      .bind(now.value)
      .bind(now.value - config_.duplicate_window_s);
  if (auto done = put->run(); !done) return meet(Met::During::mark, {}, done.error(), now);
  return db_.changes() > 0;
}

/// The message that has left this mark; 0 where it is not known any more.
Result<MailId> SqliteMailStore::first_with(const std::string& mark) {
  MailId id;
  const auto done = unless_damaged("mail_mark", [&]() -> Result<void> {
    auto row = db_.prepare("SELECT mail FROM mail_mark WHERE mark = ? ORDER BY mail DESC LIMIT 1");
    if (!row) return row.error();
    const auto found = row->bind_blob(std::string_view(mark)).step();
    if (found && *found) id.value = row->integer(0);
    return found ? Result<void>() : found.error();
  });
  if (!done) return done.error();
  return id;
}

/// For release_marks().
Result<void> SqliteMailStore::note_mark(MailId id, std::int64_t number, const std::string& mark,
                                        UtcSeconds now) {
  return unless_damaged("mail_mark", [&] {
    return update("INSERT OR REPLACE INTO mail_mark VALUES (?, ?, ?, ?)", id.value, number,
                  Bytes(mark.begin(), mark.end()), now.value);
  });
}

/// Releases the marks of recipients that the message has not reached, because another copy may
/// reach them.
Result<void> SqliteMailStore::release_marks(MailId id) {
  return update(
      "DELETE FROM mail_seen WHERE (mark, seen_utc) IN (SELECT mark, seen_utc FROM mail_mark JOIN "
      "mail_target USING (mail, number) WHERE mail = ? AND state <> 'delivered')",
      id.value);
}

/// They stay, whatever becomes of the message.
Result<void> SqliteMailStore::forget_marks(MailId id) {
  return update("DELETE FROM mail_mark WHERE mail = ?", id.value);
}

/// Does the same in a commit of its own; a failure only suppresses a later copy.
void SqliteMailStore::release_marks_apart(MailId id) {
  do_apart([&] { return release_marks(id); });
}

void SqliteMailStore::forget_marks_apart(MailId id) {
  do_apart([&] { return forget_marks(id); });
}

void SqliteMailStore::do_apart(const std::function<Result<void>()>& work) {
  const auto attempt = [&]() -> Result<void> {
    auto transaction = Transaction::begin(db_);
    if (!transaction) return transaction.error();
    auto done = work();
    return done ? transaction->commit() : done;
  };
  const auto done = attempt();
  const bool damaged = !done && done.error().code == ErrorCode::bad_checksum;
  if (damaged && mend_indexes()) static_cast<void>(attempt());
}

/// But for those of a copy that has come meanwhile.
Result<void> SqliteMailStore::restore_marks(MailId id) {
  return update(
      "INSERT INTO mail_seen SELECT mark, seen_utc FROM mail_mark WHERE mail = ? ON CONFLICT DO "
      "NOTHING",
      id.value);
}

// --- Operators ----------------------------------------------------------------------------------

// A receiver that knows the number of a message does not deliver it twice, so a number is kept as
// long as a receiver may have the message under it.
Result<void> SqliteMailStore::change(OperatorVerb verb, MailId id, UtcSeconds now, bool under_way) {
  open_.stale = true;
  now_ = std::max(now_, now);
  const auto is_damaged = [](const Result<void>& done) {
    return !done && done.error().code == ErrorCode::bad_checksum;
  };
  Result<void> done;
  for (const bool marks : {true, false}) {
    const auto change = [&] { done = change_once(verb, id, now, under_way, marks); };
    change();
    if (needs_reserve(done)) change();
    if (is_damaged(done) && mend_indexes()) change();
    while (is_damaged(done) && std::exchange(left_out_now_, false)) change();
    if (!is_damaged(done)) break;
  }
  return done;
}

/// `marks`: those of the message are changed with it.
Result<void> SqliteMailStore::change_once(OperatorVerb verb, MailId id, UtcSeconds now,
                                          bool under_way, bool marks) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  Result<void> done;
  switch (verb) {
    case OperatorVerb::hold:
      done = update(under_way ? "UPDATE mail SET state = 'held' WHERE id = ? AND state = 'active'"
                              : "UPDATE mail SET state = 'held' WHERE id = ? AND state IN "
                                "('incoming', 'deferred')",
                    id.value);
      break;
    case OperatorVerb::release:
      done =
          under_way
              ? update("UPDATE mail SET state = 'active' WHERE id = ? AND state = 'held'", id.value)
              : update(
                    "UPDATE mail SET state = 'deferred', next_try_utc = ? WHERE id = ? AND "
                    "state = 'held'",
                    now.value, id.value);
      break;
    case OperatorVerb::requeue:
      done = requeue(id, now, under_way);
      break;
    case OperatorVerb::remove:
      done = remove(id, under_way, marks);
      break;
  }
  if (!done) return done;
  if (db_.changes() == 0) return kNoSuchMessage;
  if (verb == OperatorVerb::requeue) {
    done = update(
        "UPDATE mail_target SET state = 'deferred' WHERE mail = ? AND state IN ('failed', "
        "'expired')",
        id.value);
    if (done && marks) done = restore_marks(id);
    if (!done) return done;
  }
  return transaction->commit();
}

// A message that is under way may still reach its recipients.
Result<void> SqliteMailStore::remove(MailId id, bool under_way, bool marks) {
  bool there = false;
  {
    auto row = db_.prepare("SELECT 1 FROM mail WHERE id = ? AND (? OR state <> 'active')");
    if (!row) return row.error();
    const auto found = row->bind(id.value).bind(std::int64_t{under_way}).step();
    if (!found) return found.error();
    there = *found;
  }
  if (there && !under_way && marks) {
    if (auto released = release_marks(id); !released) return released;
  }
  return there ? erase(id) : kNoSuchMessage;
}

// The message gets its whole lifetime again, and a new delay report, because its sender was told
// that it was over. It loses its number before its receivers may have forgotten that number.
Result<void> SqliteMailStore::requeue(MailId id, UtcSeconds now, bool under_way) {
  const std::string states =
      under_way ? "('active', 'held')" : "('deferred', 'failed', 'expired', 'held', 'corrupt')";
  const std::string renumbered =
      under_way ? "(message_id = 0)" : "(message_id = 0 OR state IN ('failed', 'corrupt'))";
  const std::string number_ends = "(created_utc + " + std::to_string(kNumberLifeS) + ")";
  auto too_old =
      db_.prepare("SELECT 1 FROM mail WHERE id = ?1 AND state IN " + states + " AND NOT " +
                  renumbered + " AND max(expiry_utc, " + number_ends + ") <= ?2");
  if (!too_old) return too_old.error();
  const auto found = too_old->bind(id.value).bind(now.value).step();
  if (!found) return found.error();
  if (*found) {
    return Error{ErrorCode::refused,
                 "accepted too long ago; a station may have it and no longer know it"};
  }
  const std::string sql =
      "UPDATE mail SET attempts = 0, next_try_utc = ?1, expiry_utc = max(expiry_utc, iif(" +
      renumbered + ", ?1 + lifetime_s, min(?1 + lifetime_s, " + number_ends +
      "))), delay_utc = iif(delay_s > 0 AND state IN ('failed', 'expired', 'corrupt'), ?1 + "
      "delay_s, delay_utc), message_id = iif(" +
      renumbered + ", 0, message_id), block_octets = iif(" + renumbered +
      ", 0, block_octets), finished_utc = 0, state = '" + (under_way ? "active" : "deferred") +
      "' WHERE id = ?2 AND state IN " + states;
  return update(sql.c_str(), now.value, id.value);
}

// If some rows cannot be read, the others are looked up one by one.
Result<std::vector<MailItem>> SqliteMailStore::list(std::uint32_t items_max) {
  const std::string in_order = std::string(kItemColumns) + "ORDER BY id DESC LIMIT ?";
  if (auto items = list_items<MailItem>(db_, in_order, items_max, read_item)) return items;
  const auto look_up = [this](const Statement& row) -> Result<MailItem> {
    auto item = read_row({row.integer(0)});
    if (!item) return item.error();
    if (!*item) return Error{ErrorCode::bad_field, "row cannot be understood"};
    return **std::move(item);
  };
  return list_items<MailItem>(
      db_, "SELECT id FROM mail INDEXED BY mail_open ORDER BY id DESC LIMIT ?", items_max, look_up);
}

// A filter by station looks for it among the targets of each message.
Result<std::vector<MailItem>> SqliteMailStore::list(const MailFilter& filter,
                                                    std::uint32_t items_max) {
  std::string where = "WHERE (?1 = '' OR state = ?1)";
  if (!filter.finished && !filter.state) where += " AND " + is_waiting("state");
  where += " AND (?2 = '' OR instr(lower(reverse_path), ?2) = 1)";
  if (filter.station) {
    where += " AND EXISTS (SELECT 1 FROM mail_target t WHERE t.mail = id AND station = ?3";
    if (!filter.finished && !filter.state) where += " AND " + is_waiting("t.state");
    where += ")";
  }
  auto rows = db_.prepare(kItemColumns + where + " AND ?3 = ?3 ORDER BY id DESC LIMIT ?4");
  if (!rows) return rows.error();
  rows->bind_text(filter.state ? gateways::to_string(*filter.state) : "");
  rows->bind_text(filter.from.empty() ? "" : "<" + lower_case(filter.from) + ">");
  rows->bind(filter.station ? std::int64_t{filter.station->value} : 0);
  rows->bind(std::int64_t{items_max});
  std::vector<MailItem> items;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) break;
    auto item = read_item(*rows);
    if (!item) return item.error();
    items.push_back(std::move(item).value());
  }
  for (MailItem& item : items) {
    if (auto read = read_targets(item); !read) return read.error();
  }
  return items;
}

Result<std::vector<MailId>> SqliteMailStore::ids_of(Statement& rows) {
  std::vector<MailId> ids;
  while (true) {
    const auto row = rows.step();
    if (!row) return row.error();
    if (!*row) return ids;
    ids.push_back({rows.integer(0)});
  }
}

Result<std::vector<MailId>> SqliteMailStore::trace(std::string_view word, std::uint32_t items_max) {
  const std::string id = word.find('<') == 0 ? std::string(word) : "<" + std::string(word) + ">";
  const std::string address = lower_case(id);
  auto rows = db_.prepare(
      "SELECT id FROM mail WHERE label IN (?1, ?2) OR instr(lower(reverse_path), ?3) = 1 OR EXISTS "
      "(SELECT 1 FROM mail_target WHERE mail = id AND instr(lower(recipient), ?3) = 1) "
      "ORDER BY id DESC LIMIT ?4");
  if (!rows) return rows.error();
  rows->bind_text(word).bind_text(id).bind_text(address).bind(std::int64_t{items_max});
  return ids_of(*rows);
}

Result<MailCourse> SqliteMailStore::course(MailId id) {
  MailCourse course{.first = id, .about = {}, .heard = {}, .came = {}};
  auto row =
      db_.prepare("SELECT first, about, node, message_id, came FROM mail_course WHERE mail = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return course;  // it is older than this table
  course.first.value = row->integer(0);
  course.about.value = row->integer(1);
  course.heard = {{static_cast<std::uint32_t>(row->integer(2))},
                  static_cast<std::uint32_t>(row->integer(3))};
  course.came = row->text(4);
  return course;
}

// Messages that were made of one have numbers behind each other, and a report has a later one.
Result<std::vector<MailId>> SqliteMailStore::relatives(MailId id) {
  const auto own = course(id);
  if (!own) return own.error();
  auto rows = db_.prepare(
      "SELECT mail FROM mail_course c WHERE mail >= ?1 AND (first = ?1 OR (about > 0 AND (SELECT "
      "first FROM mail_course WHERE mail = c.about) = ?1)) ORDER BY mail LIMIT ?2");
  if (!rows) return rows.error();
  rows->bind(own->first.value).bind(std::int64_t{kRelativesMax});
  auto ids = ids_of(*rows);
  if (ids && ids->empty()) ids->push_back(id);
  return ids;
}

Result<std::map<NodeId, WaitingMail>> SqliteMailStore::waiting() {
  const std::string sql =
      "SELECT station, count(*), total(size), min(next_try_utc) FROM (SELECT DISTINCT t.station, "
      "m.id, m.size, m.next_try_utc FROM mail m JOIN mail_target t ON t.mail = m.id WHERE "
      "t.station > 0 AND " +
      is_waiting("m.state") + " AND " + is_waiting("t.state") + ") GROUP BY station";
  auto rows = db_.prepare(sql);
  if (!rows) return rows.error();
  std::map<NodeId, WaitingMail> waiting;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return waiting;
    waiting[{static_cast<std::uint32_t>(rows->integer(0))}] = {
        static_cast<std::uint64_t>(rows->integer(1)),
        static_cast<std::uint64_t>(rows->integer(2)),
        {rows->integer(3)}};
  }
}

Result<std::optional<MailItem>> SqliteMailStore::find(MailId id) {
  auto row = db_.prepare(std::string(kItemColumns) + "WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return std::optional<MailItem>();
  auto item = read_item(*row);
  if (!item) return item.error();
  if (auto read = read_targets(*item); !read) return read.error();
  return std::optional<MailItem>(std::move(item).value());
}

Result<std::map<NodeId, bool>> SqliteMailStore::silences() {
  auto rows = db_.prepare("SELECT station, silent FROM mail_emcon");
  if (!rows) return rows.error();
  std::map<NodeId, bool> silences;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return silences;
    silences[{static_cast<std::uint32_t>(rows->integer(0))}] = rows->integer(1) != 0;
  }
}

Result<void> SqliteMailStore::set_silence(NodeId node, bool silent) {
  const auto set = [&] {
    return update("INSERT OR REPLACE INTO mail_emcon VALUES (?, ?)", std::int64_t{node.value},
                  std::int64_t{silent});
  };
  const auto done = set();
  return needs_reserve(done) ? set() : done;
}

// --- Purge --------------------------------------------------------------------------------------

Result<MailAnswer> SqliteMailStore::run(const PurgeMail& operation) {
  S5066_ASSERT(operation.part != PurgeMail::Part::mails);
  const bool marks = operation.part == PurgeMail::Part::marks;
  if (marks && left_out_.contains("mail_seen")) return MailAnswer(Done{});
  auto done = marks ? update("DELETE FROM mail_seen WHERE seen_utc < ?",
                             operation.now.value - config_.duplicate_window_s)
                    : update("DELETE FROM mail_received WHERE expiry_utc < ?",
                             operation.now.value - kNumberLifeS - 86400);
  if (!done) return done.error();
  return MailAnswer(Done{});
}

/// Purges in commits of its own, so that a spool with many old messages is not locked for long, and
/// an unreadable message does not repeat the whole purge.
MailResult SqliteMailStore::purge_mails(StoreTicket ticket, UtcSeconds now) {
  MailResult result{ticket, MailAnswer(Done{}), {}, {}};
  now_ = std::max(now_, now);
  look_at_indexes();
  auto finished = finished_mails(now);
  if (!finished && finished.error().code == ErrorCode::bad_checksum && mend_indexes()) {
    finished = finished_mails(now);
  }
  if (!finished) {
    result.answer = finished.error();
    return result;
  }
  const bool more = finished->size() > kAtOnceMax;
  if (more) finished->resize(kAtOnceMax);
  const auto remove = [&](std::int64_t id) -> Result<void> {
    const auto old = is_over({id}, now);
    if (!old) return old.error();
    return *old ? erase({id}) : Result<void>();
  };
  Removal removal = gateways::remove_each(db_, *finished, remove);
  const bool damaged = std::any_of(
      removal.kept.begin(), removal.kept.end(),
      [](const Removal::Kept& one) { return one.error.code == ErrorCode::bad_checksum; });
  const bool again = std::exchange(left_out_now_, false);
  if ((damaged && (mend_indexes() || again)) || needs_reserve(removal.done)) {
    removal = gateways::remove_each(db_, *finished, remove);
  }
  for (const Removal::Kept& one : removal.kept) {
    const bool for_good = one.error.code == ErrorCode::bad_checksum;
    const auto [at, first] = undeletable_.insert({MailId{one.id}, for_good});
    at->second = at->second || for_good;
    if (!first) continue;
    result.troubles.push_back({{one.id}, "cannot be deleted: " + one.error.detail, false});
  }
  if (more) result.answer = MailAnswer(PurgedInPart{});
  if (!removal.done) result.answer = removal.done.error();
  return result;
}

/// For long enough, one more than go at once at most: by an index that holds all that is asked for;
/// not again what is damaged.
Result<std::vector<std::int64_t>> SqliteMailStore::finished_mails(UtcSeconds now) {
  auto rows = db_.prepare(
      "SELECT id FROM mail INDEXED BY mail_open WHERE state IN ('delivered', 'failed', "
      "'expired')");
  if (!rows) return rows.error();
  std::vector<std::int64_t> finished;
  while (finished.size() <= kAtOnceMax) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) break;
    const std::int64_t id = rows->integer(0);
    const auto at = undeletable_.find({id});
    if (at != undeletable_.end() && at->second) continue;
    const auto over = is_over({id}, now);
    if (!over || *over) finished.push_back(id);
  }
  return finished;
}

/// An operator may have queued it again since it was found.
Result<bool> SqliteMailStore::is_over(MailId id, UtcSeconds now) {
  auto row = db_.prepare(
      "SELECT state IN ('delivered', 'failed', 'expired') AND finished_utc < ? FROM mail WHERE id "
      "= ?");
  if (!row) return row.error();
  const auto found = row->bind(now.value - config_.keep_finished_s).bind(id.value).step();
  if (!found) return found.error();
  return *found && row->integer(0) != 0;
}

/// A message, and all that is known of it alone.
Result<void> SqliteMailStore::erase(MailId id) {
  const auto remove = [&](const char* sql) { return update(sql, id.value); };
  auto done = remove("DELETE FROM mail_target WHERE mail = ?");
  if (done) done = remove("DELETE FROM mail_content WHERE id = ?");
  if (done) {
    done = unless_damaged("mail_submitted",
                          [&] { return remove("DELETE FROM mail_submitted WHERE mail = ?"); });
  }
  if (done) {
    done =
        unless_damaged("mail_mark", [&] { return remove("DELETE FROM mail_mark WHERE mail = ?"); });
  }
  if (done) {
    done = unless_damaged("mail_course",
                          [&] { return remove("DELETE FROM mail_course WHERE mail = ?"); });
  }
  return done ? remove("DELETE FROM mail WHERE id = ?") : done;
}

// --- Indexes ------------------------------------------------------------------------------------

Result<std::vector<MailResult>> SqliteMailStore::run_mended(
    const std::vector<MailRequest>& requests) {
  auto results = run_all(requests);
  const bool damaged = !results && results.error().code == ErrorCode::bad_checksum;
  if (damaged && mend_indexes()) return run_all(requests);
  return results;
}

/// Whether one was mended.
bool SqliteMailStore::mend_indexes() {
  const auto known = indexes();
  if (!known) return false;
  std::map<std::string, std::set<std::string>> damaged;  // by table
  bool mended = false;
  for (const Index& index : *known) {
    const auto [again, first] = mend_again_.try_emplace(index.name, now_);
    if (!first && now_ < again->second) continue;
    const auto [of_table, unknown] = damaged.try_emplace(index.table);
    if (unknown) of_table->second = damaged_indexes(*known, index.table);
    const bool is_damaged = of_table->second.contains(index.name);
    again->second.value = now_.value + kLookAgainS;
    if (!is_damaged || !make_anew(index)) continue;
    again->second.value = now_.value + kMendAgainS;
    mended_.push_back(index.name);
    mended = true;
  }
  if (mended) strays_.clear();
  return mended;
}

// A message that an index misses would wait for ever, and SQLite reports no error for it.
void SqliteMailStore::look_at_indexes() {
  if (now_ < look_again_) return;
  look_again_.value = now_.value + kLookS;
  static_cast<void>(mend_indexes());
}

Result<std::vector<SqliteMailStore::Index>> SqliteMailStore::indexes() {
  auto rows = db_.prepare(
      "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name GLOB "
      "'mail*' AND sql IS NOT NULL");
  if (!rows) return rows.error();
  std::vector<Index> found;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return found;
    found.push_back({rows->text(0), rows->text(1), rows->text(2)});
  }
}

// An index may be read without an error and hold something else than its table. SQLite compares
// them, but does not always say which one the damage is in; then it is in any, or in none, where it
// is still there when all have been made anew.
std::set<std::string> SqliteMailStore::damaged_indexes(const std::vector<Index>& known,
                                                       const std::string& table) {
  std::set<std::string> all;
  std::set<std::string> unread;
  for (const Index& index : known) {
    if (index.table != table) continue;
    all.insert(index.name);
    if (!is_read(index)) unread.insert(index.name);
  }
  if (!unread.empty()) return unread;
  if (!is_sound(table)) return {};  // it may be the index that knows better
  std::set<std::string> named;
  bool good = false;
  {
    auto rows = db_.prepare("PRAGMA integrity_check(" + table + ")");
    if (!rows) return {};
    while (true) {
      const auto row = rows->step();
      if (!row && row.error().code != ErrorCode::bad_checksum) return {};
      if (!row || !*row) break;
      const std::string found = rows->text(0);
      good = found == "ok";
      for (const std::string& name : all) {
        if (found.find(name) != std::string::npos) named.insert(name);
      }
    }
  }
  if (good || !named.empty()) return named;
  return unexplained_.insert(table).second ? all : named;
}

/// Reads all of it, and what it is of where the index alone does not say what is in it.
bool SqliteMailStore::is_read(const Index& index) {
  const auto where = index.sql.find(" WHERE ");
  auto all = db_.prepare("SELECT sum(1) FROM " + index.table + " INDEXED BY " + index.name +
                         (where == std::string::npos ? "" : index.sql.substr(where)));
  if (!all) return true;
  const auto row = all->step();
  return row || row.error().code != ErrorCode::bad_checksum;
}

/// Whether all rows can be read, and say where they are to be found. Those of a table without row
/// numbers SQLite would read by an index that is smaller.
bool SqliteMailStore::is_sound(const std::string& table) {
  const bool mails = table == "mail";
  auto bad = db_.prepare(
      mails ? "SELECT count(*) FROM mail NOT INDEXED WHERE road NOT IN ('air', 'smtp') OR state "
              "NOT IN ('incoming', 'active', 'deferred', 'held', 'delivered', 'failed', "
              "'expired', 'corrupt') OR typeof(priority) <> 'integer' OR typeof(next_try_utc) <> "
              "'integer'"
            : "SELECT sum(1) * 0 FROM " + table + " NOT INDEXED" +
                  (table == "mail_seen" ? " WHERE mark >= x''" : ""));
  if (!bad) return false;
  const auto row = bad->step();
  return row && *row && bad->integer(0) == 0;
}

// REINDEX and DROP INDEX read the pages of the index to free them, so that they fail with it, or
// free what a damaged page takes for its own. So it is only forgotten; its pages are used no more.
Result<void> SqliteMailStore::make_anew(const Index& index) {
  const auto anew = [&]() -> Result<void> {
    auto transaction = Transaction::begin(db_);
    if (!transaction) return transaction.error();
    auto done = db_.execute("PRAGMA writable_schema = ON");
    if (done)
      done = update("DELETE FROM sqlite_schema WHERE type = 'index' AND name = ?", index.name);
    if (done) done = db_.execute("PRAGMA writable_schema = RESET");
    if (done) done = db_.execute(index.sql.c_str());
    return done ? transaction->commit() : done;
  };
  auto done = anew();
  // After a rollback the schema has to be read again.
  auto reset = db_.execute("PRAGMA writable_schema = RESET");
  return done ? reset : done;
}

}  // namespace s5066::acp142
