// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/store/sqlite_mail_store.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "gateways/acp142/store/mail_changes.h"
#include "gateways/acp142/store/mail_purge.h"
#include "s5066d/base/assert.h"

namespace s5066::acp142 {

using gateways::Database;
using gateways::parse_spool_state;
using gateways::Transaction;

namespace {

constexpr const char* kReserveSuffix = ".reserve";

bool is_open(SpoolState state) {
  return !gateways::is_final(state) || state == SpoolState::held;
}

}  // namespace

SqliteMailStore::SqliteMailStore(const Config& config, Database db)
    : config_(config),
      db_(std::make_unique<Database>(std::move(db))),
      reserve_(config.path + kReserveSuffix, config.reserve_octets),
      rows_(*db_),
      marks_(*db_, config.duplicate_window_s),
      queries_(*db_) {}

Result<SqliteMailStore> SqliteMailStore::open(const Config& config) {
  auto db = gateways::open_spool({.path = config.path, .vfs = config.vfs});
  if (!db && gateways::DiskReserve(config.path + kReserveSuffix, config.reserve_octets).release()) {
    db = gateways::open_spool({.path = config.path, .vfs = config.vfs});
  }
  if (!db) return db.error();
  SqliteMailStore store(config, std::move(db).value());
  static_cast<void>(store.reserve_.refill());  // else with the first message
  // The index finds expired messages without a look at all that wait.
  auto made = store.db_->execute(
      "CREATE INDEX IF NOT EXISTS mail_expiry ON mail (road, expiry_utc) WHERE state IN "
      "('deferred', 'incoming')");
  if (!made) return made.error();
  if (auto counted = store.count_open(); !counted) return counted.error();
  return store;
}

// --- Commits -------------------------------------------------------------------------------------

// Old messages go by commits of their own, and everything else together.
std::vector<MailResult> SqliteMailStore::execute(const std::vector<MailRequest>& requests) {
  const auto is_apart = [](const MailRequest& request) {
    const auto* purge = std::get_if<PurgeMail>(&request.operation);
    return purge != nullptr && purge->part == PurgeMail::Part::mails;
  };
  std::vector<MailResult> all;
  for (auto at = requests.begin(); at != requests.end();) {
    const auto apart = std::find_if(at, requests.end(), is_apart);
    auto results = execute_with_reserve({at, apart});
    all.insert(all.end(), std::move_iterator(results.begin()), std::move_iterator(results.end()));
    if (apart == requests.end()) break;
    all.push_back({apart->ticket, purge_mails(std::get<PurgeMail>(apart->operation).now)});
    at = apart + 1;
  }
  if (!all.empty()) all.front().reserve_used = std::exchange(reserve_used_, false);
  return all;
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
bool SqliteMailStore::needs_reserve(const Error& error) {
  return error.code == ErrorCode::queue_full && give_up_reserve();
}

// One request that the whole commit fails for is found by doing them one by one.
std::vector<MailResult> SqliteMailStore::execute_together(
    const std::vector<MailRequest>& requests) {
  if (requests.empty()) return {};
  const Open before = open_;
  auto results = run_in_one_commit(requests);
  if (results) return std::move(results).value();
  open_ = before;
  std::vector<MailResult> all;
  if (spoiled_ && requests.size() > 1 && !damage()) {
    for (const MailRequest& request : requests) {
      all.push_back(std::move(execute_together({request})[0]));
    }
    return all;
  }
  for (const MailRequest& request : requests) all.push_back({request.ticket, results.error()});
  return all;
}

// A savepoint around each lets one fail without the others. What fails because of the disk is not
// committed with the others, because SQLite may have given the transaction up.
Result<std::vector<MailResult>> SqliteMailStore::run_in_one_commit(
    const std::vector<MailRequest>& requests) {
  spoiled_ = false;
  auto transaction = Transaction::begin(*db_);
  if (!transaction) return transaction.error();
  std::vector<MailResult> results;
  results.reserve(requests.size());
  for (const MailRequest& request : requests) {
    parked_.clear();
    auto answer = run_whole(request.operation);
    spoiled_ = !answer && (damage() || !db_->in_transaction());
    if (spoiled_) return answer.error();
    results.push_back({request.ticket, std::move(answer), std::exchange(parked_, {})});
  }
  if (auto committed = transaction->commit(); !committed) return committed.error();
  return results;
}

Result<MailAnswer> SqliteMailStore::run_whole(const MailOperation& operation) {
  if (auto begun = update("SAVEPOINT request"); !begun) return begun.error();
  const Open open_before = open_;
  auto answer = std::visit([this](const auto& one) { return run(one); }, operation);
  if (!answer) {
    static_cast<void>(db_->execute("ROLLBACK TO request"));
    open_ = open_before;
    parked_.clear();
  }
  if (auto released = update("RELEASE request"); !released) {
    return answer ? released.error() : answer.error();
  }
  return answer;
}

// --- Accept --------------------------------------------------------------------------------------

Result<void> SqliteMailStore::count_open() {
  auto count = db_->prepare(std::string("SELECT count(*), total(size) FROM mail WHERE state IN ") +
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
  auto version = db_->prepare("PRAGMA data_version");
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
  if (!reserve_.refill()) return Error{ErrorCode::queue_full, "the disk of the spool is full"};
  if (auto room = need_room(operation.mails); !room) return room.error();
  if (operation.name) {
    const auto repeat = marks_.note_received(operation);
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
    auto before = marks_.first_with(
        operation.mails[0].targets.empty() ? std::string() : operation.mails[0].targets[0].mark);
    if (!before) return before.error();
    kept.repeat_of = *before;
  }
  return MailAnswer(std::move(kept));
}

/// `first`: the one that was made of the same message before; 0: none was.
Result<MailId> SqliteMailStore::insert(const NewMail& mail, UtcSeconds now, bool check_marks,
                                       MailId first) {
  std::vector<const NewTarget*> targets;
  for (const NewTarget& target : mail.targets) {
    const auto fresh = check_marks ? marks_.is_new(target.mark, now) : Result<bool>(true);
    if (!fresh) return fresh.error();
    if (*fresh) targets.push_back(&target);
  }
  if (targets.empty()) return MailId{};
  const auto id = rows_.insert(mail, targets, now, first);
  if (!id) return id.error();
  for (std::size_t i = 0; i < targets.size() && check_marks; ++i) {
    if (targets[i]->mark.empty()) continue;
    auto marked = marks_.note(*id, static_cast<std::int64_t>(i), targets[i]->mark, now);
    if (!marked) return marked.error();
  }
  ++open_.mails;
  open_.octets += mail.content->size();
  return *id;
}

// --- Take ----------------------------------------------------------------------------------------

Result<MailAnswer> SqliteMailStore::run(const TakeDue& operation) {
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

/// False when nothing is due, or there is no room for it. A row that is not what was accepted is
/// parked, and not among the items.
Result<bool> SqliteMailStore::take_one(const TakeDue& operation, Search& search,
                                       std::vector<MailItem>& items) {
  const auto next = operation.expired_only ? next_late(operation) : next_due(operation, search);
  if (!next) return next.error();
  if (!*next) return false;
  const MailId id = **next;
  auto item = rows_.read(id);
  if (!item) return item.error();
  bool intact = false;
  if (*item) {
    std::uint64_t octets = (*item)->size;
    for (const MailItem& other : items) octets += other.size;
    if (!items.empty() && octets > operation.octets_max) return false;
    const auto rest = rows_.read_rest(**item);
    if (!rest) return rest.error();
    intact = *rest;
  }
  if (!intact) {
    auto parked = park(id);
    if (!parked) return parked.error();
    return true;
  }
  auto active = update("UPDATE mail SET state = 'active' WHERE id = ?", id.value);
  if (!active) return active.error();
  (*item)->state = SpoolState::active;
  if (search.room) search.room->add({(*item)->priority, (*item)->size, search.stations});
  items.push_back(**std::move(item));
  return true;
}

/// Another copy of it may be taken, because this one does not arrive.
Result<void> SqliteMailStore::park(MailId id) {
  const std::string reason = "not what was accepted";
  open_.stale = true;
  parked_.push_back({id, reason});
  if (auto done = rows_.park(id, reason); !done) return done;
  return marks_.release(id);
}

// The stations of recipients that have not ended; the mail server is station 0.
Result<std::vector<NodeId>> SqliteMailStore::open_stations(MailId id) {
  auto rows = db_->prepare(
      "SELECT DISTINCT station FROM mail_target WHERE mail = ? AND state IN ('incoming', "
      "'deferred')");
  if (!rows) return rows.error();
  rows->bind(id.value);
  return rows->collect([&] { return NodeId{static_cast<std::uint32_t>(rows->integer(0))}; });
}

// The search uses an index, so that messages that are not due cost nothing. Each message that there
// is no room for is looked at once in a request.
Result<std::optional<MailId>> SqliteMailStore::next_due(const TakeDue& operation, Search& search) {
  constexpr const char* kStates[] = {"deferred", "incoming"};
  for (; search.priority < 16; ++search.priority) {
    for (; search.state < std::size(kStates); ++search.state) {
      auto rows = db_->prepare(
          "SELECT id, next_try_utc FROM mail WHERE road = ?1 AND state = ?2 AND priority = ?3 AND "
          "next_try_utc BETWEEN ?4 AND ?5 AND (next_try_utc > ?4 OR id > ?6) ORDER BY "
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
        if (!search.room) return std::optional<MailId>(id);
        auto stations = open_stations(id);
        if (!stations) return stations.error();
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
  auto rows = db_->prepare(
      "SELECT id FROM mail WHERE road = ? AND state IN ('deferred', 'incoming') AND expiry_utc "
      "<= ? ORDER BY expiry_utc");
  if (!rows) return rows.error();
  rows->bind_text(to_string(operation.transport)).bind(operation.now.value);
  const auto row = rows->step();
  if (!row) return row.error();
  return *row ? std::optional(MailId{rows->integer(0)}) : std::nullopt;
}

// --- Save ----------------------------------------------------------------------------------------

Result<MailAnswer> SqliteMailStore::run(const SaveSubmission& operation) {
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
  done = rows_.note_form(operation.id, operation.tags);
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
    done = update(
        "INSERT INTO mail_station (station, sequence) VALUES (?, ?) ON CONFLICT (station) DO "
        "UPDATE SET sequence = max(sequence, excluded.sequence)",
        node, sequence);
    if (!done) return done.error();
  }
  return MailAnswer(Done{});
}

Result<MailAnswer> SqliteMailStore::run(const SaveOutcome& operation) {
  for (const NewMail& report : operation.reports) {
    if (auto id = insert(report, operation.now, false); !id) return id.error();
  }
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
    auto states = db_->prepare("SELECT DISTINCT state FROM mail_target WHERE mail = ?");
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
    auto row = db_->prepare("SELECT size, state, road FROM mail WHERE id = ?");
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
    done = marks_.release(id);
  }
  if (!done) return done;
  if (counted) {
    open_.mails -= std::min<std::uint64_t>(open_.mails, 1);
    open_.octets -= std::min(open_.octets, size);
  }
  if (state != SpoolState::delivered) return {};
  return update("DELETE FROM mail_content WHERE id = ?", id.value);
}

// --- Delay ---------------------------------------------------------------------------------------

// A message that is not as it was accepted is left out here, and parked when it is taken next.
Result<MailAnswer> SqliteMailStore::run(const TakeDelayed& operation) {
  std::vector<MailId> late;
  {
    auto rows = db_->prepare(
        "SELECT id FROM mail WHERE delay_utc > 0 AND delay_utc <= ? AND state IN ('incoming', "
        "'active', 'deferred', 'held') ORDER BY delay_utc LIMIT ?");
    if (!rows) return rows.error();
    rows->bind(operation.now.value).bind(std::int64_t{operation.items_max});
    auto ids = ids_of(*rows);
    if (!ids) return ids.error();
    late = *std::move(ids);
  }
  TakenMail taken;
  for (const MailId id : late) {
    auto item = rows_.read(id);
    if (!item) return item.error();
    const auto intact = *item ? rows_.read_rest(**item) : Result<bool>(false);
    if (!intact) return intact.error();
    if (*intact) {
      taken.items.push_back(**std::move(item));
      continue;
    }
    auto done = update("UPDATE mail SET delay_utc = 0 WHERE id = ?", id.value);
    if (!done) return done.error();
  }
  auto later =
      db_->prepare("SELECT delay_utc FROM mail WHERE delay_utc > ? ORDER BY delay_utc LIMIT 1");
  if (!later) return later.error();
  const auto found = later->bind(operation.now.value).step();
  if (!found) return found.error();
  if (*found) taken.next_delay = UtcSeconds{later->integer(0)};
  return MailAnswer(std::move(taken));
}

Result<MailAnswer> SqliteMailStore::run(const SaveDelayed& operation) {
  auto done =
      update("UPDATE mail SET delay_utc = 0 WHERE id = ? AND delay_utc > 0", operation.id.value);
  if (!done) return done.error();
  if (db_->changes() == 0) return MailAnswer(Done{});  // removed by an operator, or over
  for (const NewMail& report : operation.reports) {
    if (auto id = insert(report, operation.now, false); !id) return id.error();
  }
  return MailAnswer(Done{});
}

Result<MailAnswer> SqliteMailStore::run(const SaveStation& operation) {
  auto done = update(
      "INSERT INTO mail_station (station, failures, dead_until_utc, reason) VALUES (?, ?, ?, ?) "
      "ON CONFLICT (station) DO UPDATE SET failures = excluded.failures, dead_until_utc = "
      "excluded.dead_until_utc, reason = excluded.reason",
      std::int64_t{operation.row.station.value}, std::int64_t{operation.row.failures},
      operation.row.dead_until.value, operation.row.reason);
  if (done && operation.row.heard.value != 0) {
    done = update("INSERT OR REPLACE INTO mail_heard VALUES (?, ?)",
                  std::int64_t{operation.row.station.value}, operation.row.heard.value);
  }
  if (!done) return done.error();
  return MailAnswer(Done{});
}

// A message without an open recipient behind the station goes on waiting.
Result<MailAnswer> SqliteMailStore::run(const WakeMail& operation) {
  auto done = update(
      "UPDATE mail SET next_try_utc = ?1 WHERE road = 'air' AND state = 'deferred' AND "
      "next_try_utc > ?1 AND (?2 = 0 OR EXISTS (SELECT 1 FROM mail_target t WHERE t.mail = id AND "
      "t.station = ?2 AND t.state IN ('incoming', 'deferred')))",
      operation.now.value, std::int64_t{operation.station.value});
  if (!done) return done.error();
  return MailAnswer(Done{});
}

// --- Start and age -------------------------------------------------------------------------------

// A message that was under way when the process ended may have reached any of its recipients. Its
// marks stay, so that a new copy of it counts as a repeat.
Result<MailAnswer> SqliteMailStore::run(const Resume& operation) {
  Resumed resumed;
  if (auto followed = follow_clock_put_back(operation.now); !followed) return followed.error();
  if (auto kept = marks_.keep_those_of_active(); !kept) return kept.error();
  auto done = update("UPDATE mail SET state = 'deferred', next_try_utc = ? WHERE state = 'active'",
                     operation.now.value);
  if (done) done = read_counter(resumed);
  if (done) done = read_received(operation.now, resumed);
  if (!done) return done.error();
  auto stations = queries_.stations();
  if (!stations) return stations.error();
  resumed.stations = std::move(stations).value();
  if (auto heard = read_heard(resumed); !heard) return heard.error();
  return MailAnswer(std::move(resumed));
}

Result<MailAnswer> SqliteMailStore::run(const PurgeMail& operation) {
  S5066_ASSERT(operation.part != PurgeMail::Part::mails);
  const bool marks = operation.part == PurgeMail::Part::marks;
  auto done = marks ? marks_.purge_marks(operation.now) : marks_.purge_received(operation.now);
  if (!done) return done.error();
  return MailAnswer(Done{});
}

Result<MailAnswer> SqliteMailStore::purge_mails(UtcSeconds now) {
  MailPurge purge(*db_, config_.keep_finished_s);
  auto all = purge.run(now);
  if (!all && needs_reserve(all.error())) all = purge.run(now);
  if (!all) return all.error();
  return *all ? MailAnswer(Done{}) : MailAnswer(PurgedInPart{});
}

Result<MailAnswer> SqliteMailStore::run(const NoteClock& operation) {
  if (auto done = move_times(operation.step); !done) return done.error();
  auto done = update("INSERT OR REPLACE INTO mail_clock VALUES (1, ?)", operation.now.value);
  if (!done) return done.error();
  return MailAnswer(Done{});
}

// A clock that is ahead of the last note may be right: the gateway was away. One that is behind it
// has been put back, and then what waits has as long to wait as when the gateway stopped.
Result<void> SqliteMailStore::follow_clock_put_back(UtcSeconds now) {
  std::int64_t noted = 0;
  {
    auto row = db_->prepare("SELECT utc FROM mail_clock");
    if (!row) return row.error();
    const auto found = row->step();
    if (!found) return found.error();
    if (*found) noted = row->integer(0);
  }
  if (noted > now.value) {
    if (auto done = move_times(std::chrono::seconds(now.value - noted)); !done) return done;
  }
  return update("INSERT OR REPLACE INTO mail_clock VALUES (1, ?)", now.value);
}

Result<void> SqliteMailStore::move_times(std::chrono::seconds step) {
  const std::int64_t by = step.count();
  if (by == 0) return {};
  for (const char* sql :
       {"UPDATE mail SET created_utc = created_utc + ?1, expiry_utc = expiry_utc + ?1, "
        "next_try_utc = next_try_utc + ?1, delay_utc = iif(delay_utc > 0, max(1, delay_utc + ?1), "
        "0) WHERE state IN ('incoming', 'active', 'deferred', 'held')",
        "UPDATE mail_station SET dead_until_utc = max(0, dead_until_utc + ?1) WHERE dead_until_utc "
        "> 0",
        "UPDATE mail_heard SET utc = utc + ?1", "UPDATE mail_seen SET seen_utc = seen_utc + ?1",
        "UPDATE mail_mark SET seen_utc = seen_utc + ?1"}) {
    if (auto done = update(sql, by); !done) return done;
  }
  return {};
}

Result<void> SqliteMailStore::read_counter(Resumed& resumed) {
  auto counter = db_->prepare("SELECT message_id FROM mail_counter");
  if (!counter) return counter.error();
  if (auto row = counter->step(); !row) return row.error();
  resumed.last_message_id = static_cast<std::uint32_t>(counter->integer(0));
  return {};
}

Result<void> SqliteMailStore::read_heard(Resumed& resumed) {
  auto rows = db_->prepare("SELECT station, utc FROM mail_heard");
  if (!rows) return rows.error();
  return rows->each([&] {
    const NodeId node{static_cast<std::uint32_t>(rows->integer(0))};
    for (StationRow& station : resumed.stations) {
      if (station.station == node) station.heard = {rows->integer(1)};
    }
  });
}

Result<void> SqliteMailStore::read_received(UtcSeconds now, Resumed& resumed) {
  auto received =
      db_->prepare("SELECT source, message_id, expiry_utc FROM mail_received WHERE expiry_utc > ?");
  if (!received) return received.error();
  received->bind(now.value);
  return received->each([&] {
    const MessageName name{{static_cast<std::uint32_t>(received->integer(0))},
                           static_cast<std::uint32_t>(received->integer(1))};
    resumed.received.emplace_back(name, UtcSeconds{received->integer(2)});
  });
}

// --- Operators -----------------------------------------------------------------------------------

Result<void> SqliteMailStore::change(SpoolChange asked, MailId id, UtcSeconds now, bool under_way) {
  open_.stale = true;
  MailChanges changes(*db_, marks_);
  auto done = changes.change(asked, id, now, under_way);
  if (!done && needs_reserve(done.error())) done = changes.change(asked, id, now, under_way);
  return done;
}

Result<void> SqliteMailStore::set_silence(NodeId node, bool silent) {
  const auto set = [&] {
    return update("INSERT OR REPLACE INTO mail_emcon VALUES (?, ?)", std::int64_t{node.value},
                  std::int64_t{silent});
  };
  const auto done = set();
  return !done && needs_reserve(done.error()) ? set() : done;
}

}  // namespace s5066::acp142
