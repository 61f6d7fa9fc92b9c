// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/sqlite_store.h"

#include <algorithm>
#include <utility>

#include "gateways/common/file_name.h"
#include "gateways/common/image_codec.h"
#include "gateways/common/inbox_tree.h"
#include "gateways/common/outgoing_images.h"
#include "gateways/common/p_mul_table.h"
#include "gateways/common/rcop.h"
#include "gateways/common/remove_each.h"
#include "gateways/common/sha256.h"
#include "s5066d/base/assert.h"

namespace s5066::gateways {
namespace {

constexpr std::size_t kUpduIds = 256;

constexpr std::size_t kSparesMax = 64;

/// A file is refused if what arrived is not what was offered once more after so many times.
constexpr std::uint32_t kRejectedMax = 1;

/// After so many other files from the same station, a U_PDU_ID that comes again with the same file
/// is a file that was sent anew (decision 0001).
constexpr std::int64_t kFilesUntilIdIsNew = 128;
/// The sender lets more files arrive before it gives the same file the same U_PDU_ID.
constexpr std::int64_t kFilesUntilIdIsReused = kFilesUntilIdIsNew + 32;

constexpr std::uint8_t kPriorityMax = 15;

/// The store looks at the files of a station in the inbox at most once in this time. Until it looks
/// again, files that were moved out still count.
constexpr std::int64_t kInboxCountS = 60;
constexpr std::size_t kInboxUsesMax = 1000;

constexpr const char* kTooManyOctets = "too many octets have begun to arrive";

constexpr const char* kReserveSuffix = ".reserve";

/// True if the file counts among those that wait to be sent.
bool waits(SpoolState state) {
  return !is_over(state) && state != SpoolState::corrupt;
}

/// The columns read_item() expects, in its order.
std::string select_items(std::string_view rest) {
  return "SELECT id, destination, name, size, updu_id, state, attempts, created_utc, "
         "next_try_utc, reason, coalesce(priority, -1), sha256 FROM outgoing LEFT JOIN "
         "outgoing_priority ON item = id " +
         std::string(rest);
}

// The database may have been damaged or edited: every field is checked before it is believed.
Result<SpoolItem> read_item(const Statement& row) {
  SpoolItem item;
  item.id.value = row.integer(0);
  const auto destination = parse_address(row.text(1));
  const auto state = parse_spool_state(row.text(5));
  const std::int64_t size = row.integer(3);
  const std::int64_t updu_id = row.integer(4);
  const std::int64_t attempts = row.integer(6);
  const std::int64_t priority = row.integer(10);
  item.name = row.octets(2);
  item.created.value = row.integer(7);
  item.next_try.value = row.integer(8);
  item.reason = row.text(9);
  item.sha256 = row.blob(11);
  if (!destination || !state) return Error{ErrorCode::bad_field, "destination or state"};
  if (size < 0 || size > UINT32_MAX) return Error{ErrorCode::bad_field, "size"};
  if (updu_id < 0 || updu_id > 255) return Error{ErrorCode::bad_field, "U_PDU_ID"};
  if (attempts < 0 || attempts > UINT32_MAX) return Error{ErrorCode::bad_field, "attempts"};
  if (item.name.size() > kFileNameBytesMax) return Error{ErrorCode::bad_field, "name"};
  if (priority > kPriorityMax) return Error{ErrorCode::bad_field, "priority"};
  if (priority >= 0) item.priority = static_cast<std::uint8_t>(priority);
  item.destination = *destination;
  item.state = *state;
  item.size = static_cast<std::uint32_t>(size);
  item.updu_id = static_cast<std::uint8_t>(updu_id);
  item.attempts = static_cast<std::uint32_t>(attempts);
  return item;
}

std::string safe_path(const std::string& name, const std::string& fallback) {
  std::string path;
  for (const std::string& part : InboxTree::safe_names(name, fallback)) {
    path += (path.empty() ? "" : "/") + part;
  }
  return path;
}

TransferNews repeat_of(const std::string& inbox_name) {
  TransferNews news;
  news.state = TransferNews::State::done;
  news.repeated = true;
  news.inbox_name = inbox_name;
  return news;
}

void name_file(const TransferManifest& manifest, TransferNews& news) {
  news.name = manifest.name;
  news.size = manifest.size;
  news.sha256 = manifest.sha256;
}

/// Returns true if an operator may change a file in this state in this way.
bool allows(SpoolState state, SpoolChange change) {
  const bool waits = !is_final(state);
  const bool held = state == SpoolState::held;
  const bool corrupt = state == SpoolState::corrupt;
  switch (change) {
    case SpoolChange::hold:
      return waits;
    case SpoolChange::release:
      return held;
    default:
      return waits || held || corrupt;
  }
}

Error not_allowed(SpoolState state) {
  std::string why = "the file is " + std::string(to_string(state));
  if (is_over(state) && state != SpoolState::delivered) {
    why += " and its content is no longer in the spool; send it again";
  }
  return {ErrorCode::refused, why};
}

}  // namespace

SqliteStore::SqliteStore(const Config& config, Database db)
    : config_(config),
      db_(std::move(db)),
      inbox_(config.inbox, config.inbox_hook),
      reserve_(config.path + kReserveSuffix, config.reserve_octets) {}

Result<SqliteStore> SqliteStore::open(const Config& config) {
  auto db = open_spool({.path = config.path, .vfs = config.vfs});
  if (!db && DiskReserve(config.path + kReserveSuffix, config.reserve_octets).release()) {
    db = open_spool({.path = config.path, .vfs = config.vfs});
  }
  if (!db) return db.error();
  auto counter = db->prepare("INSERT OR IGNORE INTO updu_counter (only, next) VALUES (1, ?)");
  if (!counter) return counter.error();
  if (auto done = counter->bind(config.first_updu_id).run(); !done) return done.error();
  SqliteStore store(config, std::move(db).value());
  // Without room it is filled with the next list or new file.
  if (config.fills_reserve) static_cast<void>(store.reserve_.refill());
  return store;
}

// --- Room on the disk ----------------------------------------------------------------------------

/// New files, handed over or received, are taken only while the reserve is held: the room that it
/// gave up is for files that are in the spool.
Result<void> SqliteStore::check_disk() {
  const bool room =
      config_.fills_reserve ? reserve_.refill() : reserve_.held() || reserve_.has_room();
  if (room) return {};
  return Error{ErrorCode::queue_full, "the disk of the spool " + config_.path +
                                          " is full, and no new file is taken until " +
                                          std::to_string(2 * config_.reserve_octets) +
                                          " octets of it are free"};
}

/// Returns true if the disk was full and has room now, so that the work can be done again.
bool SqliteStore::needs_reserve(const Error& error) {
  const bool given = error.code == ErrorCode::queue_full && reserve_.release();
  reserve_used_ = reserve_used_ || given;
  return given;
}

Result<void> SqliteStore::check_new(const NewItem& item) {
  if (item.content.size() > config_.file_octets_max) {
    return Error{ErrorCode::too_large, std::to_string(item.content.size()) +
                                           " octets; the limit is " +
                                           std::to_string(config_.file_octets_max)};
  }
  if (item.name.empty() || item.name.size() > kFileNameBytesMax) {
    return Error{ErrorCode::bad_field, "the file name is empty or too long"};
  }
  if (item.priority && *item.priority > kPriorityMax) {
    return Error{ErrorCode::bad_field, "priority must be 0 to 15"};
  }
  return check_disk();
}

Result<SpoolId> SqliteStore::enqueue(const NewItem& item) {
  if (auto good = check_new(item); !good) return good.error();
  const Bytes sha256 = sha256_of(item.content);
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  auto id = insert_outgoing(item, item.destination, sha256);
  if (!id) return id;
  if (auto done = transaction->commit(); !done) return done.error();
  return id;
}

Result<std::vector<SpoolId>> SqliteStore::enqueue_by_p_mul(const NewItem& item,
                                                           const std::vector<Address>& stations,
                                                           const GradeSettings& grade) {
  if (stations.empty()) return Error{ErrorCode::bad_field, "there is no station"};
  if (auto good = validate(grade); !good) return good.error();
  if (auto good = check_new(item); !good) return good.error();
  const Bytes sha256 = sha256_of(item.content);
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  std::vector<SpoolId> rows;
  for (const Address station : stations) {
    const auto id = insert_outgoing(item, station, sha256);
    if (!id) return id.error();
    rows.push_back(*id);
  }
  if (auto noted = PMulTable(db_).note(rows, grade, item.now); !noted) return noted.error();
  if (auto done = transaction->commit(); !done) return done.error();
  return rows;
}

// A reliable file begins anew, because it has no U_PDU_ID yet and RCOP knows no parts of messages.
Result<std::vector<SpoolItem>> SqliteStore::leave_p_mul(UtcSeconds now) {
  std::vector<SpoolItem> rows;
  {
    auto open = db_.prepare(
        select_items("WHERE state NOT IN " + states(is_over) +
                     " AND state <> 'corrupt' AND id IN (SELECT item FROM outgoing_p_mul) ORDER BY "
                     "id"));
    if (!open) return open.error();
    const auto done = open->each([&] {
      auto item = read_item(*open);
      if (item) rows.push_back(std::move(item).value());
    });
    if (!done) return done.error();
  }
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  for (SpoolItem& item : rows) {
    const auto facts = PMulTable(db_).find(item.id);
    if (!facts && facts.error().code != ErrorCode::bad_field) return facts.error();
    const bool reliable = facts && *facts && (*facts)->grade.grade == FileGrade::reliable;
    if (!reliable) {
      item.reason = "files of this grade need p_mul, which is not in the configuration";
      item.state = SpoolState::failed;
      if (auto ended = end_row(item.id); !ended) return ended.error();
    } else {
      item.attempts = 0;
      if (item.state != SpoolState::held) item.state = SpoolState::incoming;
      if (auto gone = PMulTable(db_).forget(item.id); !gone) return gone.error();
    }
    auto update = db_.prepare(
        "UPDATE outgoing SET state = ?, attempts = ?, reason = ?, finished_utc = ? WHERE id = ?");
    if (!update) return update.error();
    update->bind_text(to_string(item.state))
        .bind(item.attempts)
        .bind_text(item.reason)
        .bind(reliable ? 0 : now.value)
        .bind(item.id.value);
    if (auto done = update->run(); !done) return done.error();
  }
  if (auto done = transaction->commit(); !done) return done.error();
  return rows;
}

Result<SpoolId> SqliteStore::insert_outgoing(const NewItem& item, Address destination,
                                             ByteSpan sha256) {
  if (destination.group)
    return Error{ErrorCode::bad_field, "the destination is a group, but must be a station"};
  if (auto room = check_room(destination, item.content.size()); !room) return room.error();
  auto insert = db_.prepare(
      "INSERT INTO outgoing (destination, name, size, sha256, updu_id, state, created_utc, "
      "next_try_utc) VALUES (?, ?, ?, ?, 0, 'incoming', ?, ?)");
  if (!insert) return insert.error();
  insert->bind_text(to_string(destination))
      .bind_blob(std::string_view(item.name))
      .bind(static_cast<std::int64_t>(item.content.size()))
      .bind_blob(sha256)
      .bind(item.now.value)
      .bind(item.now.value);
  if (auto done = insert->run(); !done) return done.error();
  const SpoolId id{db_.last_insert_id()};
  auto content = db_.prepare("INSERT INTO outgoing_content (id, content) VALUES (?, ?)");
  if (!content) return content.error();
  if (auto done = content->bind(id.value).bind_blob(item.content).run(); !done) return done.error();
  if (item.priority) {
    auto priority = db_.prepare("INSERT INTO outgoing_priority (item, priority) VALUES (?, ?)");
    if (!priority) return priority.error();
    if (auto done = priority->bind(id.value).bind(*item.priority).run(); !done) return done.error();
  }
  if (item.mtime != 0 || item.mode != 0 || item.request != 0) {
    auto noted = OutgoingImages(db_).note_facts(id, {item.mtime, item.mode, item.request});
    if (!noted) return noted.error();
  }
  return id;
}

Result<void> SqliteStore::add_p_mul_facts(SpoolItem& item) {
  auto facts = PMulTable(db_).find(item.id);
  if (!facts) return facts.error();
  item.p_mul = *facts;
  return {};
}

// Files for a station that is away do not take the room of files for others.
Result<void> SqliteStore::check_room(Address destination, std::uint64_t octets) {
  const auto of_station = config_.station_send_limits.find(destination);
  const SendLimits& limits =
      of_station == config_.station_send_limits.end() ? config_.send_limits : of_station->second;
  const auto most = std::min<std::uint64_t>(limits.file_octets_max, limits.waiting_octets_max);
  if (octets > most) {
    return Error{ErrorCode::too_large, std::to_string(octets) + " octets; the limit for " +
                                           to_string(destination) + " is " + std::to_string(most)};
  }
  auto count = db_.prepare(
      "SELECT count(*), count(*) FILTER (WHERE destination = ?1), coalesce(sum(size) FILTER (WHERE "
      "destination = ?1), 0) FROM outgoing WHERE state IN " +
      states(waits));
  if (!count) return count.error();
  count->bind_text(to_string(destination));
  if (auto row = count->step(); !row) return row.error();
  if (count->integer(0) >= static_cast<std::int64_t>(config_.open_items_max)) {
    return Error{ErrorCode::queue_full,
                 std::to_string(count->integer(0)) + " files wait to be sent, which is the limit"};
  }
  if (count->integer(1) >= static_cast<std::int64_t>(config_.station_items_max)) {
    return Error{ErrorCode::queue_full, std::to_string(count->integer(1)) + " files for " +
                                            to_string(destination) +
                                            " wait to be sent, which is the limit"};
  }
  const auto waiting = static_cast<std::uint64_t>(count->integer(2));
  if (waiting + octets > limits.waiting_octets_max) {
    return Error{ErrorCode::queue_full, std::to_string(waiting) + " octets for " +
                                            to_string(destination) +
                                            " wait to be sent, and the limit is " +
                                            std::to_string(limits.waiting_octets_max)};
  }
  return {};
}

Result<std::uint8_t> SqliteStore::begin_first_attempt(const SaveItem& operation) {
  auto row = db_.prepare("SELECT destination, name, size, sha256 FROM outgoing WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(operation.id.value).step();
  if (!found) return found.error();
  if (!*found) return Error{ErrorCode::not_found, "no such file in the spool"};
  const auto id = choose_updu_id(row->text(0), *row, operation.now);
  if (!id) return id.error();
  auto set = db_.prepare("UPDATE outgoing SET updu_id = ? WHERE id = ?");
  if (!set) return set.error();
  if (auto done = set->bind(*id).bind(operation.id.value).run(); !done) return done.error();
  auto number = db_.prepare("INSERT OR IGNORE INTO outgoing_try (item) VALUES (?)");
  if (!number) return number.error();
  if (auto done = number->bind(operation.id.value).run(); !done) return done.error();
  return *id;
}

// Every attempt of an item carries the same U_PDU_ID, and by it the receiver knows a repeat. An ID
// is free for an item only if the receiver cannot mistake the item for an earlier one, and if an
// acknowledgement cannot be taken for that of another item that is under way (decision 0001).
Result<std::uint8_t> SqliteStore::choose_updu_id(std::string_view destination, const Statement& row,
                                                 UtcSeconds now) {
  const auto since = try_since_which_enough_arrived(destination);
  if (!since) return since.error();
  auto used = db_.prepare(
      "SELECT DISTINCT updu_id FROM outgoing LEFT JOIN outgoing_try ON item = id WHERE "
      "destination = ? AND attempts > 0 AND (state IN " +
      states(waits) +
      " OR (name = ? AND size = ? AND sha256 = ? AND max(created_utc, finished_utc) > ? AND "
      "NOT (coalesce(last, 0) > 0 AND last < ?)))");
  if (!used) return used.error();
  used->bind_text(destination)
      .bind_blob(row.blob(1))
      .bind(row.integer(2))
      .bind_blob(row.blob(3))
      .bind(now.value - config_.duplicate_window_s)
      .bind(*since);
  std::vector<bool> taken(kUpduIds);
  const auto all =
      used->each([&] { taken[static_cast<std::size_t>(used->integer(0)) % kUpduIds] = true; });
  if (!all) return all.error();

  auto counter = db_.prepare("SELECT next FROM updu_counter");
  if (!counter) return counter.error();
  if (auto read = counter->step(); !read) return read.error();
  const std::int64_t first = counter->integer(0);
  for (std::size_t i = 0; i < kUpduIds; ++i) {
    const auto id = static_cast<std::uint8_t>(first + static_cast<std::int64_t>(i));
    if (taken[id]) continue;
    auto advance = db_.prepare("UPDATE updu_counter SET next = ?");
    if (!advance) return advance.error();
    if (auto done = advance->bind((id + 1) % kUpduIds).run(); !done) return done.error();
    return id;
  }
  return Error{ErrorCode::refused, "256 files for " + std::string(destination) +
                                       " were tried and are not over; the next one waits"};
}

// A file that was over before this try is no longer known to the receiver by its U_PDU_ID. 0: none.
Result<std::int64_t> SqliteStore::try_since_which_enough_arrived(std::string_view destination) {
  auto row = db_.prepare(
      "SELECT number FROM outgoing_try JOIN outgoing ON item = id WHERE destination = ? AND "
      "state = 'delivered' ORDER BY number DESC LIMIT 1 OFFSET ?");
  if (!row) return row.error();
  const auto found = row->bind_text(destination).bind(kFilesUntilIdIsReused - 1).step();
  if (!found) return found.error();
  return *found ? row->integer(0) : 0;
}

std::vector<StoreResult> SqliteStore::execute(const std::vector<StoreRequest>& requests) {
  std::vector<StoreResult> results;
  for (const StoreRequest& request : requests) results.push_back(execute(request));
  return results;
}

// A received file is new until it has a row, and what follows asks for the reserve itself.
StoreResult SqliteStore::execute(const StoreRequest& request) {
  const auto once = [&] {
    return std::visit([&](const auto& operation) { return run(operation); }, request.operation);
  };
  auto answer = once();
  const bool is_new = std::holds_alternative<StoreFile>(request.operation) ||
                      std::holds_alternative<OpenTransfer>(request.operation) ||
                      std::holds_alternative<SaveBlocks>(request.operation) ||
                      std::holds_alternative<FinishTransfer>(request.operation) ||
                      std::holds_alternative<TakeMessage>(request.operation) ||
                      std::holds_alternative<EndOverdue>(request.operation) ||
                      std::holds_alternative<SendFromInbox>(request.operation);
  if (!answer && !is_new && needs_reserve(answer.error())) answer = once();
  return {request.ticket, std::move(answer), std::exchange(reserve_used_, false)};
}

Result<StoreAnswer> SqliteStore::run(const ListOpen& operation) {
  static_cast<void>(reserve_.refill());
  OpenItems open;
  std::vector<SpoolId> unreadable;
  {
    auto rows =
        db_.prepare(select_items("WHERE state NOT IN " + states(is_final) +
                                 " AND id > ? AND (id IN (SELECT item FROM outgoing_p_mul)) = ? "
                                 "ORDER BY id LIMIT ?"));
    if (!rows) return rows.error();
    rows->bind(operation.after.value).bind(operation.by_p_mul ? 1 : 0).bind(operation.items_max);
    const auto done = rows->each([&] {
      auto item = read_item(*rows);
      if (item) {
        open.items.push_back(std::move(item).value());
      } else {
        unreadable.push_back({rows->integer(0)});
      }
    });
    if (!done) return done.error();
  }
  if (operation.by_p_mul) {
    for (SpoolItem& item : open.items) {
      if (!add_p_mul_facts(item)) unreadable.push_back(item.id);
    }
    std::erase_if(open.items, [](const SpoolItem& item) { return !item.p_mul; });
  }
  for (const SpoolId id : unreadable) {
    if (auto parked = park(id, "row cannot be read"); !parked) return parked.error();
  }
  open.parked = std::move(unreadable);
  return StoreAnswer(std::move(open));
}

/// Returns the content of a file, which is parked if it is not what was accepted.
Result<Bytes> SqliteStore::read_outgoing(SpoolId id) {
  {
    auto row = db_.prepare(
        "SELECT size, sha256, content FROM outgoing JOIN outgoing_content USING (id) WHERE id = ?");
    if (!row) return row.error();
    const auto found = row->bind(id.value).step();
    if (!found) return found.error();
    if (*found) {
      Bytes octets = row->blob(2);
      const bool intact = row->integer(0) == static_cast<std::int64_t>(octets.size()) &&
                          row->blob(1) == sha256_of(octets);
      if (intact) return octets;
    }
  }
  const std::string reason = "content is not what was accepted";
  if (auto parked = park(id, reason); !parked) return parked.error();
  return Error{ErrorCode::bad_checksum, reason};
}

Result<StoreAnswer> SqliteStore::run(const ReadContent& operation) {
  auto content = read_outgoing(operation.id);
  if (!content) return content.error();
  Bytes& octets = *content;
  const auto begin =
      static_cast<std::size_t>(std::min<std::uint64_t>(operation.offset, octets.size()));
  const std::size_t piece = std::min(operation.octets_max, octets.size() - begin);
  if (piece == octets.size()) return StoreAnswer(Content{std::move(octets)});
  const auto from = octets.begin() + static_cast<std::ptrdiff_t>(begin);
  return StoreAnswer(Content{Bytes(from, from + static_cast<std::ptrdiff_t>(piece))});
}

Result<void> SqliteStore::park(SpoolId id, std::string_view reason) {
  auto update = db_.prepare("UPDATE outgoing SET state = 'corrupt', reason = ? WHERE id = ?");
  if (!update) return update.error();
  return update->bind_text(reason).bind(id.value).run();
}

Result<StoreAnswer> SqliteStore::run(const SaveItem& operation) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  Saved saved;
  if (operation.state == SpoolState::active && operation.attempts == 1 &&
      !operation.without_updu_id) {
    const auto updu_id = begin_first_attempt(operation);
    if (!updu_id) return updu_id.error();
    saved.updu_id = *updu_id;
  }
  auto update = db_.prepare(
      "UPDATE outgoing SET state = ?, attempts = ?, next_try_utc = ?, reason = ?, "
      "finished_utc = ? WHERE id = ?");
  if (!update) return update.error();
  update->bind_text(to_string(operation.state))
      .bind(operation.attempts)
      .bind(operation.next_try.value)
      .bind_text(operation.reason)
      .bind(is_over(operation.state) ? operation.now.value : 0)
      .bind(operation.id.value);
  if (auto done = update->run(); !done) return done.error();
  if (is_over(operation.state)) {
    if (auto ended = end_row(operation.id); !ended) return ended.error();
  }
  if (auto done = transaction->commit(); !done) return done.error();
  return StoreAnswer(saved);
}

/// Removes what only a file that can still be sent needs.
Result<void> SqliteStore::end_row(SpoolId id) {
  auto remove = db_.prepare("DELETE FROM outgoing_content WHERE id = ?");
  if (!remove) return remove.error();
  if (auto done = remove->bind(id.value).run(); !done) return done;
  if (auto done = OutgoingImages(db_).forget(id); !done) return done;
  auto over = db_.prepare(
      "UPDATE outgoing_try SET last = (SELECT max(number) FROM outgoing_try) WHERE item = ?");
  if (!over) return over.error();
  return over->bind(id.value).run();
}

Result<StoreAnswer> SqliteStore::run(const StoreFile& file) {
  S5066_ASSERT(file.content != nullptr);
  const Bytes sha256 = sha256_of(*file.content);
  auto found = find_received(file, sha256, file.content->size());
  if (!found) return found.error();
  if (found->has_value() && (*found)->delivered) {
    return StoreAnswer(FileStored{.repeated = true, .inbox_name = (*found)->inbox_name});
  }
  ReceivedRow row;
  if (found->has_value()) {
    row = **found;  // an earlier try wrote the row
  } else {
    if (auto disk = check_disk(); !disk) return disk.error();
    const auto full =
        inbox_quota_problem(file.source, file.content->size(), 0, file.quota, file.now);
    if (!full) return full.error();
    if (*full) return Error{ErrorCode::refused, **full};
    auto inserted = insert_received(file, sha256);
    if (!inserted) return inserted.error();
    row = std::move(inserted).value();
  }
  auto name = finish_received(row);
  if (!name) return name.error();
  return StoreAnswer(FileStored{.repeated = false, .inbox_name = std::move(name).value()});
}

Result<std::optional<SqliteStore::ReceivedRow>> SqliteStore::find_received(const StoreFile& file,
                                                                           ByteSpan sha256,
                                                                           std::size_t size) {
  auto select = db_.prepare(
      "SELECT id, state, temporary_name, inbox_name FROM received WHERE source = ? AND "
      "source_sap = ? AND updu_id = ? AND name = ? AND size = ? AND sha256 = ? AND "
      "(received_utc > ? OR state = 'incoming') ORDER BY id DESC LIMIT 1");
  if (!select) return select.error();
  select->bind_text(to_string(file.source))
      .bind(file.source_sap.value)
      .bind(file.updu_id)
      .bind_blob(std::string_view(file.name))
      .bind(static_cast<std::int64_t>(size))
      .bind_blob(sha256)
      .bind(file.now.value - config_.duplicate_window_s);
  const auto row = select->step();
  if (!row) return row.error();
  if (!*row) return std::optional<ReceivedRow>();
  ReceivedRow found{.id = select->integer(0),
                    .delivered = select->text(1) == "delivered",
                    .temporary_name = select->text(2),
                    .inbox_name = select->octets(3)};
  if (found.delivered) {
    const auto come_round = has_id_come_round(file, found.id);
    if (!come_round) return come_round.error();
    if (*come_round) return std::optional<ReceivedRow>();
  }
  return std::optional<ReceivedRow>(std::move(found));
}

// A station has 256 U_PDU_IDs. It tries a file again before so many others have arrived, and gives
// the ID to the same file anew only after that.
Result<bool> SqliteStore::has_id_come_round(const StoreFile& file, std::int64_t row) {
  auto later =
      db_.prepare("SELECT count(*) FROM received WHERE source = ? AND source_sap = ? AND id > ?");
  if (!later) return later.error();
  const auto counted =
      later->bind_text(to_string(file.source)).bind(file.source_sap.value).bind(row).step();
  if (!counted) return counted.error();
  return later->integer(0) >= kFilesUntilIdIsNew;
}

Result<SqliteStore::ReceivedRow> SqliteStore::insert_received(const StoreFile& file,
                                                              ByteSpan sha256) {
  auto temporary = take_temporary(file, sha256);
  if (!temporary) return temporary.error();
  ReceivedRow row{.id = 0,
                  .delivered = false,
                  .temporary_name = std::move(temporary).value(),
                  .inbox_name = {}};
  const std::string unnamed = "from-" + to_string(file.source) + "-" + std::to_string(file.updu_id);
  row.inbox_name =
      file.folders ? safe_path(file.name, unnamed) : safe_file_name(file.name, unnamed);

  auto insert = db_.prepare(
      "INSERT INTO received (source, source_sap, updu_id, name, size, sha256, state, "
      "temporary_name, inbox_name, received_utc) VALUES (?, ?, ?, ?, ?, ?, 'incoming', ?, ?, ?)");
  Result<void> done;
  if (insert) {
    insert->bind_text(to_string(file.source))
        .bind(file.source_sap.value)
        .bind(file.updu_id)
        .bind_blob(std::string_view(file.name))
        .bind(static_cast<std::int64_t>(file.content->size()))
        .bind_blob(sha256)
        .bind_text(row.temporary_name)
        .bind_blob(std::string_view(row.inbox_name))
        .bind(file.now.value);
    done = insert->run();
  } else {
    done = insert.error();
  }
  if (!done) {
    keep_spare(sha256, row.temporary_name);
    return done.error();
  }
  row.id = db_.last_insert_id();
  return row;
}

// A commit that reported an error may yet turn out to have happened when the power goes, and
// recover() takes a row without its file for published. So the file stays; the next try uses it, or
// the next start removes it.
void SqliteStore::keep_spare(ByteSpan sha256, const std::string& temporary_name) {
  if (spares_.size() >= kSparesMax) return;
  spares_.push_back({Bytes(sha256.begin(), sha256.end()), temporary_name});
}

Result<std::string> SqliteStore::take_temporary(const StoreFile& file, ByteSpan sha256) {
  const ByteSpan content = *file.content;
  const Inbox::Attributes attributes{file.mtime, file.mode};
  const auto spare = std::find_if(spares_.begin(), spares_.end(), [&](const Spare& candidate) {
    return std::equal(sha256.begin(), sha256.end(), candidate.sha256.begin());
  });
  if (spare == spares_.end()) return inbox_.write_temporary(content, attributes);
  std::string name = std::move(spare->temporary_name);
  spares_.erase(spare);
  const auto there = inbox_.find_temporary(name);
  const bool usable =
      there && *there == Inbox::Temporary::present && inbox_.set_temporary(name, attributes).ok();
  if (usable) return name;
  return inbox_.write_temporary(content, attributes);
}

Result<std::string> SqliteStore::finish_received(const ReceivedRow& row) {
  const auto temporary = inbox_.find_temporary(row.temporary_name);
  if (!temporary) return temporary.error();
  std::string name = row.inbox_name;
  if (*temporary == Inbox::Temporary::present) {
    auto published = inbox_.publish(row.temporary_name, row.inbox_name);
    if (!published) return published.error();
    name = std::move(published).value();
  } else if (auto durable = inbox_.sync(row.inbox_name); !durable) {
    return durable.error();  // the file was renamed before the power went, so it is synced again
  }
  auto done = note_published(row.id, name);
  if (!done && needs_reserve(done.error())) done = note_published(row.id, name);
  if (!done) return done.error();
  return name;
}

Result<void> SqliteStore::note_published(std::int64_t row, const std::string& name) {
  auto update = db_.prepare("UPDATE received SET state = 'delivered', inbox_name = ? WHERE id = ?");
  if (!update) return update.error();
  return update->bind_blob(std::string_view(name)).bind(row).run();
}

Result<void> SqliteStore::recover() {
  // First the rows, then the files no row knows.
  std::vector<ReceivedRow> rows;
  {
    auto select =
        db_.prepare("SELECT id, temporary_name, inbox_name FROM received WHERE state = 'incoming'");
    if (!select) return select.error();
    const auto done = select->each([&] {
      rows.push_back({select->integer(0), false, select->text(1), select->octets(2)});
    });
    if (!done) return done.error();
  }
  auto temporaries = inbox_.temporaries();
  if (!temporaries) return temporaries.error();
  for (const std::string& name : *temporaries) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const ReceivedRow& row) {
      return row.temporary_name == name;
    });
    if (known) continue;
    if (auto removed = inbox_.remove_temporary(name); !removed) return removed;
  }
  for (const ReceivedRow& row : rows) {
    if (auto name = finish_received(row); !name) return name.error();
  }
  return {};
}

// A file may have been tried again since its number was found, so each row is asked once more.
Result<StoreAnswer> SqliteStore::run(const Purge& operation) {
  const std::int64_t keep = std::max(config_.keep_finished_s, config_.duplicate_window_s);
  const std::int64_t before = operation.now.value - keep;
  const std::string old = "id = ?1 AND finished_utc < ?2 AND state IN " + states(is_over);
  const std::string if_old = " = ?1 AND EXISTS (SELECT 1 FROM outgoing WHERE " + old + ")";
  auto sent = purge(
      "SELECT id FROM outgoing INDEXED BY outgoing_by_state WHERE state IN " + states(is_over),
      {"DELETE FROM outgoing_content WHERE id" + if_old,
       "DELETE FROM outgoing_try WHERE item" + if_old,
       "DELETE FROM outgoing_priority WHERE item" + if_old,
       "DELETE FROM outgoing_file WHERE item" + if_old,
       "DELETE FROM outgoing_p_mul WHERE item" + if_old, "DELETE FROM outgoing WHERE " + old},
      before);
  const auto in_inbox = rows_of_inbox(before);
  Result<void> received = in_inbox ? Result<void>() : in_inbox.error();
  if (in_inbox) {
    received =
        purge("SELECT id FROM received INDEXED BY received_by_source",
              {"DELETE FROM received WHERE id = ?1 AND state = 'delivered' AND received_utc < ?2"},
              before, *in_inbox);
  }
  auto offered = TransferTable(db_).purge({operation.now.value - config_.keep_partial_s}, {before},
                                          operation.now);
  if (!sent) return sent.error();
  if (!received) return received.error();
  if (!offered) return offered.error();
  return StoreAnswer(Saved{});
}

Result<StoreAnswer> SqliteStore::run(const MoveTimes& operation) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  auto sent = db_.prepare(
      "UPDATE outgoing SET created_utc = created_utc + ?1, next_try_utc = next_try_utc + ?1, "
      "finished_utc = iif(finished_utc > 0, max(1, finished_utc + ?1), 0) WHERE id <= ?2");
  if (!sent) return sent.error();
  const std::int64_t step = operation.step.count();
  if (auto done = sent->bind(step).bind(operation.last.value).run(); !done) return done.error();
  auto received = db_.prepare("UPDATE received SET received_utc = received_utc + ?1");
  if (!received) return received.error();
  if (auto done = received->bind(step).run(); !done) return done.error();
  auto offered = db_.prepare(
      "UPDATE transfer_in SET begun_utc = begun_utc + ?1, changed_utc = changed_utc + ?1");
  if (!offered) return offered.error();
  if (auto done = offered->bind(step).run(); !done) return done.error();
  if (auto done = transaction->commit(); !done) return done.error();
  return StoreAnswer(Saved{});
}

// --- Transfers -----------------------------------------------------------------------------------

Result<StoreAnswer> SqliteStore::run(const PrepareImage& operation) {
  const auto item = find(operation.id);
  if (!item) return item.error();
  if (!*item) return Error{ErrorCode::not_found, "no such file in the spool"};
  const auto content = read_outgoing(operation.id);
  if (!content) return content.error();
  auto ready = OutgoingImages(db_).prepare(operation, **item, *content);
  if (!ready) return ready.error();
  return StoreAnswer(std::move(ready).value());
}

Result<StoreAnswer> SqliteStore::run(const ReadImage& operation) {
  auto octets = OutgoingImages(db_).read(operation);
  if (!octets) return octets.error();
  if (*octets) return StoreAnswer(Content{std::move(**octets)});
  return run(ReadContent{operation.id, operation.offset, operation.octets_max});
}

Result<StoreAnswer> SqliteStore::run(const OpenTransfer& operation) {
  TransferTable table(db_);
  const auto row = table.find(operation.key);
  if (!row) return row.error();
  const bool anew = *row && (*row)->done &&
                    ((*row)->manifest.sha256 != operation.manifest.sha256 ||
                     (*row)->manifest.name != operation.manifest.name ||
                     (*row)->changed.value < operation.now.value - config_.duplicate_window_s);
  if (anew) {
    if (auto gone = table.drop((*row)->id); !gone) return gone.error();
  }
  auto news = *row && !anew ? go_on(**row, operation) : begin_transfer(operation);
  if (!news) return news.error();
  return StoreAnswer(std::move(news).value());
}

Result<TransferNews> SqliteStore::go_on(const TransferTable::Row& row,
                                        const OpenTransfer& operation) {
  TransferNews news;
  if (row.done) {
    news.state = TransferNews::State::done;
    news.repeated = true;
    return news;
  }
  TransferTable table(db_);
  const auto by_bftp = find_by_bftp(operation);
  if (!by_bftp) return by_bftp.error();
  if (*by_bftp) {
    if (auto ended = table.end(row.id, operation.now); !ended) return ended.error();
    return repeat_of(**by_bftp);
  }
  const auto use = table.use_of(operation.key.source);
  if (!use) return use.error();
  const std::uint64_t octets =
      use->octets - row.manifest.image_octets + operation.manifest.image_octets;
  if (octets > arriving_max(operation.quota)) {
    news.state = TransferNews::State::no_room;
    news.text = kTooManyOctets;
    return news;
  }
  if (row.received == 0) {  // otherwise the file is one of those in the inbox
    const auto full = offer_quota_problem(operation, row.id);
    if (!full) return full.error();
    if (*full) {
      news.state = TransferNews::State::no_room;
      news.text = **full;
      return news;
    }
  }
  if (auto updated = table.update(row, operation); !updated) return updated.error();
  auto have = table.have(row.id);
  if (!have) return have.error();
  news.have = std::move(have).value();
  if (!news.have.empty()) return news;
  if (auto added = add_signature(operation, news); !added) return added.error();
  return news;
}

Result<TransferNews> SqliteStore::begin_transfer(const OpenTransfer& operation) {
  const TransferManifest& manifest = operation.manifest;
  const auto by_bftp = find_by_bftp(operation);
  if (!by_bftp) return by_bftp.error();
  if (*by_bftp) return repeat_of(**by_bftp);
  TransferNews news;
  auto use = TransferTable(db_).use_of(operation.key.source);
  if (!use) return use.error();
  news.state = TransferNews::State::no_room;
  if (use->transfers >= config_.station_transfers_max) {
    const auto dropped = TransferTable(db_).drop_oldest(operation.key.source);
    if (!dropped) return dropped.error();
    if (!*dropped) {
      news.text = "too many files have begun to arrive";
      return news;
    }
    use = TransferTable(db_).use_of(operation.key.source);
    if (!use) return use.error();
  }
  if (use->octets + manifest.image_octets > arriving_max(operation.quota)) {
    news.text = kTooManyOctets;
    return news;
  }
  const auto full = offer_quota_problem(operation, 0);
  if (!full) return full.error();
  if (*full) {
    news.text = **full;
    return news;
  }
  if (auto disk = check_disk(); !disk) {
    news.text = "the disk is full";
    return news;
  }
  news.state = TransferNews::State::open;
  const auto id = TransferTable(db_).insert(operation);
  if (!id) return id.error();
  auto content = find_content(operation.key.source, manifest.sha256);
  if (!content) return content.error();
  if (*content && (*content)->size() == manifest.size) {
    const TransferTable::Row row{.id = *id,
                                 .key = operation.key,
                                 .updu_id = operation.updu_id,
                                 .manifest = manifest,
                                 .changed = operation.now,
                                 .begun = operation.now};
    auto put = put_into_inbox(row, std::move(**content), operation.now);
    if (!put) return put.error();
    put->had_it = true;
    return put;
  }
  if (auto added = add_signature(operation, news); !added) return added.error();
  return news;
}

std::uint64_t SqliteStore::arriving_max(const StationQuota& quota) const {
  return std::min(config_.station_transfer_octets_max, quota.arriving_octets_max);
}

/// Returns a text for the sender of an offer that would exceed the quota of the inbox. The files
/// that have begun to arrive count; for the row of an open transfer only those that began before
/// it, so that two of them cannot wait for each other. Row 0 is a new one.
Result<std::optional<std::string>> SqliteStore::offer_quota_problem(const OpenTransfer& operation,
                                                                    std::int64_t row) {
  if (operation.quota.inbox_octets_max == UINT64_MAX) return std::optional<std::string>();
  const auto arriving = TransferTable(db_).file_octets_of(operation.key.source, row);
  if (!arriving) return arriving.error();
  return inbox_quota_problem(operation.key.source, operation.manifest.size, *arriving,
                             operation.quota, operation.now);
}

/// Returns a text for its sender if one more file of so many octets would exceed the quota of the
/// inbox. Files that were moved or deleted there do not count, after kInboxCountS at the latest.
Result<std::optional<std::string>> SqliteStore::inbox_quota_problem(Address source,
                                                                    std::uint64_t octets,
                                                                    std::uint64_t arriving,
                                                                    const StationQuota& quota,
                                                                    UtcSeconds now) {
  if (quota.inbox_octets_max == UINT64_MAX) return std::optional<std::string>();
  if (inbox_use_.size() >= kInboxUsesMax && !inbox_use_.contains(source)) inbox_use_.clear();
  InboxUse& use = inbox_use_[source];
  if (auto added = add_received_since(source, use); !added) return added.error();
  const auto fits = [&] { return use.octets + arriving + octets <= quota.inbox_octets_max; };
  const bool fresh = use.counted && now.value >= use.counted->value &&
                     now.value - use.counted->value < kInboxCountS;
  if (!fits() && !fresh) {
    const auto there = count_inbox(source);
    if (!there) return there.error();
    use.octets = *there;
    use.counted = now;
  }
  if (fits()) return std::optional<std::string>();
  std::string text = "the inbox has " + std::to_string(use.octets) + " octets of this station";
  if (arriving > 0) text += " and " + std::to_string(arriving) + " have begun to arrive";
  return std::optional(text + ", and the limit is " + std::to_string(quota.inbox_octets_max));
}

/// Adds the files that came since the last call. Only their rows are read: `+` keeps SQLite from
/// the index of the source, which has all rows of the station.
Result<void> SqliteStore::add_received_since(Address source, InboxUse& use) {
  auto rows = db_.prepare(
      "SELECT coalesce(sum(size), 0), max(id) FROM received WHERE id > ? AND +source = ?");
  if (!rows) return rows.error();
  const auto row = rows->bind(use.last_row).bind_text(to_string(source)).step();
  if (!row) return row.error();
  use.octets += static_cast<std::uint64_t>(std::max<std::int64_t>(rows->integer(0), 0));
  use.last_row = std::max(use.last_row, rows->integer(1));
  return {};
}

/// Returns the octets of the files of a station that lie in the inbox or are about to. A name that
/// was used again is that of the last file.
Result<std::uint64_t> SqliteStore::count_inbox(Address source) {
  auto rows = db_.prepare(
      "SELECT inbox_name, -1 FROM (SELECT inbox_name, source, max(id) AS newest FROM received "
      "WHERE "
      "state = 'delivered' GROUP BY inbox_name) WHERE source = ?1 AND newest > 0 UNION ALL SELECT "
      "inbox_name, size FROM received WHERE state = 'incoming' AND source = ?1");
  if (!rows) return rows.error();
  rows->bind_text(to_string(source));
  const InboxTree tree(config_.inbox);
  std::uint64_t there = 0;
  const auto done = rows->each([&] {
    if (rows->integer(1) >= 0) {
      there += static_cast<std::uint64_t>(rows->integer(1));
    } else if (const auto entry = tree.stat(rows->octets(0)); entry && !entry->folder) {
      there += entry->size;
    }
  });
  if (!done) return done.error();
  return there;
}

/// Returns the rows from before this time whose files lie in the inbox, by which they count there.
Result<std::set<std::int64_t>> SqliteStore::rows_of_inbox(std::int64_t before) {
  auto rows = db_.prepare(
      "SELECT id, inbox_name FROM (SELECT max(id) AS id, inbox_name, received_utc FROM received "
      "WHERE state = 'delivered' GROUP BY inbox_name) WHERE received_utc < ?");
  if (!rows) return rows.error();
  rows->bind(before);
  const InboxTree tree(config_.inbox);
  std::set<std::int64_t> kept;
  const auto done = rows->each([&] {
    if (tree.stat(rows->octets(1))) kept.insert(rows->integer(0));
  });
  if (!done) return done.error();
  return kept;
}

/// Returns the name in the inbox if the same file has come by BFTP. Its acknowledgement was lost,
/// or it crossed with an offer.
Result<std::optional<std::string>> SqliteStore::find_by_bftp(const OpenTransfer& operation) {
  const TransferManifest& manifest = operation.manifest;
  const StoreFile same{.source = operation.key.source,
                       .source_sap = operation.source_sap,
                       .updu_id = operation.updu_id,
                       .name = manifest.name,
                       .content = nullptr,
                       .now = operation.now};
  const auto found = find_received(same, manifest.sha256, manifest.size);
  if (!found) return found.error();
  if (!*found || !(*found)->delivered) return std::optional<std::string>();
  return std::optional<std::string>((*found)->inbox_name);
}

/// Returns the content with this hash if a file in the inbox, from this station, has it. The files
/// of others are not looked at, because the answer would tell what they have sent.
Result<std::optional<Bytes>> SqliteStore::find_content(Address source, ByteSpan sha256) {
  std::vector<std::string> names;
  {
    auto rows = db_.prepare(
        "SELECT inbox_name FROM received WHERE sha256 = ? AND source = ? AND state = 'delivered' "
        "ORDER BY id DESC LIMIT 3");
    if (!rows) return rows.error();
    rows->bind_blob(sha256).bind_text(to_string(source));
    const auto done = rows->each([&] { names.push_back(rows->octets(0)); });
    if (!done) return done.error();
  }
  for (const std::string& name : names) {
    auto content = InboxTree(config_.inbox).read(name, config_.file_octets_max);
    if (!content) continue;
    const Bytes digest = sha256_of(*content);
    if (std::equal(digest.begin(), digest.end(), sha256.begin(), sha256.end())) {
      return std::optional<Bytes>(std::move(content).value());
    }
  }
  return std::optional<Bytes>();
}

/// Adds the signature of the last file with this name from the station, as it is in the inbox now.
Result<void> SqliteStore::add_signature(const OpenTransfer& operation, TransferNews& news) {
  if (!operation.wants_signature || operation.manifest.size < kDeltaOctetsMin) return {};
  Bytes base;
  {
    auto row = db_.prepare(
        "SELECT sha256 FROM received WHERE source = ? AND name = ? AND size >= ? AND state = "
        "'delivered' ORDER BY id DESC LIMIT 1");
    if (!row) return row.error();
    row->bind_text(to_string(operation.key.source))
        .bind_blob(std::string_view(operation.manifest.name))
        .bind(static_cast<std::int64_t>(kDeltaOctetsMin));
    const auto found = row->step();
    if (!found) return found.error();
    if (!*found) return {};
    base = row->blob(0);
  }
  const auto content = find_content(operation.key.source, base);
  if (!content) return content.error();
  if (!*content) return {};
  auto signature = signature_of(**content);
  if (!signature) return {};
  news.base = std::move(base);
  news.signature = std::move(signature).value();
  return {};
}

Result<StoreAnswer> SqliteStore::run(const SaveBlocks& operation) {
  auto done = TransferTable(db_).save(operation);
  if (!done) return done.error();
  return StoreAnswer(Saved{});
}

Result<StoreAnswer> SqliteStore::run(const DropTransfer& operation) {
  TransferTable table(db_);
  const auto row = table.find(operation.key);
  if (!row) return row.error();
  if (*row && !(*row)->done) {
    if (auto gone = table.drop((*row)->id); !gone) return gone.error();
  }
  return StoreAnswer(Saved{});
}

Result<StoreAnswer> SqliteStore::run(const ListTransfers& operation) {
  TransferTable table(db_);
  auto rows = table.open_rows(operation.transfers_max);
  if (!rows) return rows.error();
  OpenTransfers open;
  for (TransferTable::Row& row : *rows) {
    auto have = table.have(row.id);
    if (!have) return have.error();
    open.transfers.push_back(
        {row.key, row.updu_id, std::move(row.manifest), std::move(have).value(), row.begun});
  }
  return StoreAnswer(std::move(open));
}

/// Returns the file that an image gives.
Result<Bytes> SqliteStore::file_of(const TransferTable::Row& row, ByteSpan image) {
  const TransferManifest& manifest = row.manifest;
  if (manifest.form == ImageForm::plain) return Bytes(image.begin(), image.end());
  if (manifest.form == ImageForm::zstd) return expand(image, manifest.size);
  const auto base = find_content(row.key.source, manifest.base);
  if (!base) return base.error();
  if (!*base) return Error{ErrorCode::not_found, "the older version of the file is gone"};
  return apply_delta(**base, image, manifest.size);
}

namespace {

/// Drops a transfer whose octets gave a wrong file too often, or whose difference gives no file, as
/// `no_base` then explains. Otherwise returns what the receiver still has.
Result<TransferNews> after_wrong_file(TransferTable& table, const TransferTable::Row& row,
                                      const std::string* no_base) {
  TransferNews news;
  if (no_base != nullptr || row.failures >= kRejectedMax) {
    if (auto gone = table.drop(row.id); !gone) return gone.error();
    news.state = no_base != nullptr ? TransferNews::State::no_base : TransferNews::State::bad;
    news.text = no_base != nullptr ? *no_base : "what arrived is not what was offered";
    return news;
  }
  auto have = table.have(row.id);
  if (!have) return have.error();
  news.have = std::move(have).value();
  return news;
}

}  // namespace

/// Finishes a transfer whose file is there already, or has no room in the inbox. Returns nothing if
/// the file is to be made from its octets.
Result<std::optional<TransferNews>> SqliteStore::finish_without_octets(
    const TransferTable::Row& row, const FinishTransfer& operation) {
  using Finished = std::optional<TransferNews>;
  const auto begun = begun_row(row);
  if (!begun) return begun.error();
  if (*begun) {
    auto published = publish_transfer(row, **begun, operation.now);
    if (!published) return published.error();
    return Finished(std::move(published).value());
  }
  const auto by_bftp = find_by_bftp({.key = operation.key,
                                     .source_sap = kRcopSap,
                                     .updu_id = row.updu_id,
                                     .manifest = row.manifest,
                                     .now = operation.now});
  if (!by_bftp) return by_bftp.error();
  if (*by_bftp) {
    if (auto ended = TransferTable(db_).end(row.id, operation.now); !ended) return ended.error();
    return Finished(repeat_of(**by_bftp));
  }
  const auto full = inbox_quota_problem(operation.key.source, row.manifest.size, 0, operation.quota,
                                        operation.now);
  if (!full) return full.error();
  if (!*full) return Finished();
  TransferNews news;  // the octets stay until the file is offered again
  news.state = TransferNews::State::no_room;
  news.text = **full;
  return Finished(std::move(news));
}

Result<StoreAnswer> SqliteStore::run(const FinishTransfer& operation) {
  TransferTable table(db_);
  const auto row = table.find(operation.key);
  if (!row) return row.error();
  if (!*row) return Error{ErrorCode::not_found, "the transfer is not open"};
  TransferNews news;
  if ((*row)->done) {
    news.state = TransferNews::State::done;
    news.repeated = true;
    return StoreAnswer(std::move(news));
  }
  auto early = finish_without_octets(**row, operation);
  if (!early) return early.error();
  if (*early) return StoreAnswer(std::move(**early));
  auto image = table.image(**row);
  if (!image && image.error().code != ErrorCode::bad_checksum) return image.error();
  auto content = image ? file_of(**row, *image) : image.error();
  if (content && sha256_of(*content) == (*row)->manifest.sha256) {
    auto put = put_into_inbox(**row, std::move(content).value(), operation.now);
    if (!put) return put.error();
    return StoreAnswer(std::move(put).value());
  }
  const bool from_disk = !content && content.error().code == ErrorCode::io;
  if (from_disk) return content.error();
  // Damaged blocks are asked for again; if the blocks are right and the file is wrong, all is. The
  // short sums of a signature can match by chance, so a difference that gives another file is not
  // asked for again: the sender sends the file itself.
  std::optional<std::string> no_base;
  if (image && (*row)->manifest.form == ImageForm::delta) {
    no_base = content ? "the difference gives another file" : content.error().detail;
  }
  if (image) {
    if (auto rejected = table.reject(**row); !rejected) return rejected.error();
  }
  auto refused = after_wrong_file(table, **row, no_base ? &*no_base : nullptr);
  if (!refused) return refused.error();
  return StoreAnswer(std::move(refused).value());
}

// The row of the file and the note of it come at once, so that a file is published once, whenever
// the power goes.
Result<TransferNews> SqliteStore::put_into_inbox(const TransferTable::Row& transfer, Bytes content,
                                                 UtcSeconds now, const RangeSet* holes) {
  if (auto disk = check_disk(); !disk) return disk.error();
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  const StoreFile file{.source = transfer.key.source,
                       .source_sap = kRcopSap,
                       .updu_id = transfer.updu_id,
                       .name = transfer.manifest.name,
                       .content = std::make_shared<const Bytes>(std::move(content)),
                       .now = now,
                       .mtime = transfer.manifest.mtime,
                       .mode = transfer.manifest.mode,
                       .folders = true};
  auto row = insert_received(file, transfer.manifest.sha256);
  if (!row) return row.error();
  auto noted = TransferTable(db_).note_received(transfer.id, row->id);
  if (noted) noted = transaction->commit();
  if (!noted) {
    keep_spare(transfer.manifest.sha256, row->temporary_name);
    return noted.error();
  }
  return publish_transfer(transfer, *row, now, holes);
}

// The list of holes comes before the transfer ends, so that a crash between cannot leave it out.
Result<TransferNews> SqliteStore::publish_transfer(const TransferTable::Row& transfer,
                                                   const ReceivedRow& row, UtcSeconds now,
                                                   const RangeSet* holes) {
  TransferNews news;
  news.state = TransferNews::State::done;
  news.inbox_name = row.inbox_name;
  news.begun = transfer.begun;
  if (!row.delivered) {
    auto name = finish_received(row);
    if (!name) return name.error();
    news.inbox_name = std::move(name).value();
  }
  if (holes != nullptr && !holes->empty()) {
    if (auto written = write_holes(news.inbox_name, *holes); !written) return written.error();
  }
  auto ended = TransferTable(db_).end(transfer.id, now);
  if (!ended && needs_reserve(ended.error())) ended = TransferTable(db_).end(transfer.id, now);
  if (!ended) return ended.error();
  return news;
}

/// Returns the row of a file that an earlier call has written, and perhaps published.
Result<std::optional<SqliteStore::ReceivedRow>> SqliteStore::begun_row(
    const TransferTable::Row& transfer) {
  auto row = db_.prepare("SELECT id, state, temporary_name, inbox_name FROM received WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(transfer.received).step();
  if (!found) return found.error();
  if (!*found) return std::optional<ReceivedRow>();
  return std::optional<ReceivedRow>(
      {row->integer(0), row->text(1) == "delivered", row->text(2), row->octets(3)});
}

Result<StoreAnswer> SqliteStore::run(const FindOpen& operation) {
  OpenItems open;
  auto item = find(operation.id);
  if (!item) return item.error();
  const bool waits =
      *item && (*item)->destination == operation.destination && !is_over((*item)->state);
  if (waits) open.items.push_back(std::move(**item));
  return StoreAnswer(std::move(open));
}

Result<StoreAnswer> SqliteStore::run(const ReleaseSuspended& operation) {
  OpenItems open;
  const auto row = PMulTable(db_).row_for(operation.id, operation.destination);
  if (!row) return row.error();
  const SpoolId id = row->value_or(operation.id);
  const auto item = find(id);
  if (!item) return item.error();
  const bool suspended = *item && (*item)->destination == operation.destination &&
                         (*item)->state == SpoolState::held && (*item)->reason == kSuspendedThere;
  if (suspended) {
    auto released = change(SpoolChange::release, id, operation.now);
    if (!released) return released.error();
    open.items.push_back(std::move(released).value());
  }
  return StoreAnswer(std::move(open));
}

// --- Files by P_MUL ------------------------------------------------------------------------------

Result<StoreAnswer> SqliteStore::run(const TakeMessage& operation) {
  auto news = take_blocks(operation);
  if (!news) return news.error();
  // A message that is offered again, or refused, is not acknowledged after a restart either.
  using State = TransferNews::State;
  const bool taken = news->state == State::done || (news->state == State::open && operation.holes);
  if (taken && operation.whole && !operation.last) {
    const KnownNames::Name name{operation.key.source, operation.message_id, operation.expiry};
    if (auto noted = PMulTable(db_).remember(name, operation.now); !noted) return noted.error();
  }
  return StoreAnswer(std::move(news).value());
}

Result<TransferNews> SqliteStore::take_blocks(const TakeMessage& message) {
  TransferTable table(db_);
  if (message.manifest) {
    auto opened = run(OpenTransfer{.key = message.key,
                                   .source_sap = kRcopSap,
                                   .updu_id = static_cast<std::uint8_t>(message.key.number & 0xFF),
                                   .manifest = *message.manifest,
                                   .now = message.now,
                                   .quota = message.quota});
    if (!opened) return opened.error();
    auto& news = std::get<TransferNews>(*opened);
    name_file(*message.manifest, news);
    if (news.state != TransferNews::State::open) return std::move(news);
  }
  const auto row = table.find(message.key);
  if (!row) return row.error();
  if (!*row) return Error{ErrorCode::not_found, "the file is not known"};
  TransferNews news;
  name_file((*row)->manifest, news);
  if ((*row)->done) {
    news.state = TransferNews::State::done;
    news.repeated = true;
    return news;
  }
  if (message.manifest) {
    const UtcSeconds last{message.now.value + config_.keep_partial_s};
    const TransferTable::ByPMul by{std::min(message.expiry, last), message.holes, message.head};
    if (auto noted = table.note_p_mul((*row)->id, by); !noted) return noted.error();
  }
  if (auto saved = save_within(**row, message); !saved) return saved.error();
  if (auto ended = table.end_message((*row)->id, !message.last); !ended) return ended.error();
  const auto by = table.find_p_mul((*row)->id);
  if (!by) return by.error();
  auto have = table.have((*row)->id);
  if (!have) return have.error();
  news.have = std::move(have).value();
  if (news.have.octets() == (*row)->manifest.image_octets) {
    auto finished = run(FinishTransfer{message.key, message.now, message.quota});
    if (!finished) return finished.error();
    auto& end = std::get<TransferNews>(*finished);
    name_file((*row)->manifest, end);
    return std::move(end);
  }
  if (!*by || !(*by)->rest_over || (*by)->awaits_head) return news;
  if ((*by)->holes && !news.have.empty()) return end_with_holes(**row, message.now);
  if (auto gone = table.drop((*row)->id); !gone) return gone.error();
  news.state = TransferNews::State::bad;
  news.text = std::to_string(news.have.octets()) + " of " +
              std::to_string((*row)->manifest.image_octets) + " octets had arrived";
  return news;
}

/// Keeps the blocks of a message that lie in the file.
Result<void> SqliteStore::save_within(const TransferTable::Row& row, const TakeMessage& message) {
  auto blocks = std::make_shared<std::vector<SaveBlocks::Block>>();
  for (const SaveBlocks::Block& block : *message.blocks) {
    const std::uint64_t end = std::uint64_t{block.at} + block.octets.size();
    if (end <= row.manifest.image_octets) blocks->push_back(block);
  }
  auto saved = run(SaveBlocks{message.key, std::move(blocks), message.now});
  return saved ? Result<void>() : saved.error();
}

/// Stores a file whose missing octets are zeros, and beside it a list of them.
Result<TransferNews> SqliteStore::end_with_holes(const TransferTable::Row& row, UtcSeconds now) {
  TransferTable table(db_);
  const auto have = table.have(row.id);
  if (!have) return have.error();
  RangeSet holes(FileRange{0, row.manifest.image_octets});
  holes.remove(*have);
  const auto begun = begun_row(row);
  if (!begun) return begun.error();
  Result<TransferNews> news = TransferNews{};
  if (*begun) {
    news = publish_transfer(row, **begun, now, &holes);
  } else {
    auto content = table.octets(row);
    if (!content) return content.error();
    TransferTable::Row with_holes = row;
    with_holes.manifest.sha256 = sha256_of(*content);  // hash of the file as it stands in the inbox
    news = put_into_inbox(with_holes, std::move(content).value(), now, &holes);
  }
  if (!news) return news;
  name_file(row.manifest, *news);
  news->holes = std::move(holes);
  return news;
}

Result<void> SqliteStore::write_holes(const std::string& inbox_name, const RangeSet& holes) {
  std::string text = "missing octets of the file, from and up to, without the last:\n";
  for (const FileRange& hole : holes.ranges()) {
    text += std::to_string(hole.begin) + " " + std::to_string(hole.end) + "\n";
  }
  const auto temporary = inbox_.write_temporary(Bytes(text.begin(), text.end()));
  if (!temporary) return temporary.error();
  const std::size_t own = inbox_name.rfind('/') + 1;  // 0 if the name has no folder
  const auto named = inbox_.publish(
      *temporary, inbox_name.substr(0, own) + suffixed_name(inbox_name.substr(own), ".holes"));
  return named ? Result<void>() : named.error();
}

Result<StoreAnswer> SqliteStore::run(const EndOverdue& operation) {
  TransferTable table(db_);
  const auto overdue = table.overdue(operation.now);
  if (!overdue) return overdue.error();
  FilesEnded ended;
  Result<void> done;  // the first error
  for (const TransferTable::Overdue& one : *overdue) {
    auto news = end_overdue(one, operation.now);
    if (news) {
      ended.files.push_back({one.row.key, std::move(news).value()});
    } else if (done) {
      done = news.error();
    }
  }
  if (ended.files.empty() && !done) return done.error();
  return StoreAnswer(std::move(ended));
}

Result<TransferNews> SqliteStore::end_overdue(const TransferTable::Overdue& one, UtcSeconds now) {
  TransferTable table(db_);
  const auto have = table.have(one.row.id);
  if (!have) return have.error();
  if (one.holes && !have->empty()) return end_with_holes(one.row, now);
  if (auto gone = table.drop(one.row.id); !gone) return gone.error();
  TransferNews news;
  news.state = TransferNews::State::bad;
  news.text = "its time ended before the whole file had arrived";
  name_file(one.row.manifest, news);
  return news;
}

Result<StoreAnswer> SqliteStore::run(const ListNames& operation) {
  auto names = PMulTable(db_).names(operation.now);
  if (!names) return names.error();
  return StoreAnswer(KnownNames{std::move(names).value()});
}

// --- The inbox, for other stations ---------------------------------------------------------------

Result<StoreAnswer> SqliteStore::run(const ListInbox& operation) {
  auto entries = InboxTree(config_.inbox).list(operation.path);
  if (!entries) return entries.error();
  InboxListing listing;
  listing.total = static_cast<std::uint32_t>(entries->size());
  for (std::size_t i = operation.first; i < entries->size(); ++i) {
    if (listing.entries.size() == operation.entries_max) break;
    listing.entries.push_back({std::move((*entries)[i]), {}});
  }
  return StoreAnswer(std::move(listing));
}

Result<StoreAnswer> SqliteStore::run(const StatInbox& operation) {
  const InboxTree tree(config_.inbox);
  auto entry = tree.stat(operation.path);
  if (!entry) return entry.error();
  InboxListing listing{.entries = {{std::move(entry).value(), {}}}, .total = 1};
  if (!listing.entries[0].entry.folder) {
    const auto content = tree.read(operation.path, config_.file_octets_max);
    if (!content) return content.error();
    listing.entries[0].sha256 = sha256_of(*content);
  }
  return StoreAnswer(std::move(listing));
}

Result<StoreAnswer> SqliteStore::run(const RemoveFromInbox& operation) {
  auto removed = InboxTree(config_.inbox).remove(operation.path);
  if (!removed) return removed.error();
  return StoreAnswer(InboxListing{});
}

Result<StoreAnswer> SqliteStore::run(const SendFromInbox& operation) {
  {
    auto row = db_.prepare(
        "SELECT 1 FROM outgoing JOIN outgoing_file ON item = id WHERE destination = ? AND request "
        "= ? AND request <> 0 LIMIT 1");
    if (!row) return row.error();
    const auto found = row->bind_text(to_string(operation.to)).bind(operation.request).step();
    if (!found) return found.error();
    if (*found) return StoreAnswer(InboxListing{});  // the station asked for it before
  }
  Bytes content;
  auto entry =
      InboxTree(config_.inbox).stat_and_read(operation.path, config_.file_octets_max, content);
  if (!entry) return entry.error();
  auto id = enqueue({.destination = operation.to,
                     .name = entry->name,
                     .content = std::move(content),
                     .now = operation.now,
                     .mtime = entry->mtime,
                     .request = operation.request});
  if (!id) return id.error();
  return StoreAnswer(InboxListing{});
}

Result<void> SqliteStore::purge(const std::string& select,
                                const std::vector<std::string>& remove_if_before,
                                std::int64_t before, const std::set<std::int64_t>& keep) {
  std::vector<std::int64_t> ids;
  {
    auto rows = db_.prepare(select);
    if (!rows) return rows.error();
    const auto done = rows->each([&] {
      if (!keep.contains(rows->integer(0))) ids.push_back(rows->integer(0));
    });
    if (!done) return done.error();
  }
  const auto remove = [&](std::int64_t id) -> Result<void> {
    for (const std::string& sql : remove_if_before) {
      auto row = db_.prepare(sql);
      if (!row) return row.error();
      if (auto done = row->bind(id).bind(before).run(); !done) return done;
    }
    return {};
  };
  return remove_each(db_, ids, remove);
}

Result<std::optional<SpoolItem>> SqliteStore::find(SpoolId id) {
  auto row = db_.prepare(select_items("WHERE id = ?"));
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return std::optional<SpoolItem>();
  auto item = read_item(*row);
  if (!item) return item.error();
  auto added = add_p_mul_facts(*item);
  if (!added && added.error().code != ErrorCode::bad_field) return added.error();
  if (!added && !is_over(item->state)) {  // the next list parks the row
    item->state = SpoolState::corrupt;
    item->reason = added.error().detail + " cannot be read";
  }
  return std::optional<SpoolItem>(std::move(item).value());
}

Result<std::vector<SpoolItem>> SqliteStore::list(std::uint32_t items_max) {
  return list({.over = true}, items_max);
}

// States and addresses are spelled by us, so they need no quoting.
Result<std::vector<SpoolItem>> SqliteStore::list(const ListFilter& filter,
                                                 std::uint32_t items_max) {
  std::string where =
      filter.over || filter.state ? "WHERE true" : "WHERE state NOT IN " + states(is_over);
  if (filter.state) where += " AND state = '" + std::string(to_string(*filter.state)) + "'";
  if (filter.destination) where += " AND destination = '" + to_string(*filter.destination) + "'";
  return list_items<SpoolItem>(db_, select_items(where + " ORDER BY id DESC LIMIT ?"), items_max,
                               read_item);
}

Result<std::vector<OpenTransfers::Transfer>> SqliteStore::arriving_by_p_mul(
    std::uint32_t files_max) {
  TransferTable table(db_);
  auto rows = table.open_rows_by_p_mul(files_max);
  if (!rows) return rows.error();
  std::vector<OpenTransfers::Transfer> files;
  for (TransferTable::Row& row : *rows) {
    auto have = table.have(row.id);
    if (!have) return have.error();
    files.push_back(
        {row.key, row.updu_id, std::move(row.manifest), std::move(have).value(), row.begun});
  }
  return files;
}

Result<bool> SqliteStore::drop_by_p_mul(const TransferKey& key) {
  TransferTable table(db_);
  const auto row = table.find(key);
  if (!row) return row.error();
  if (!*row || (*row)->done || (*row)->received != 0) return false;
  const auto by_p_mul = table.find_p_mul((*row)->id);
  if (!by_p_mul) return by_p_mul.error();
  if (!*by_p_mul) return false;
  if (auto gone = table.drop((*row)->id); !gone) return gone.error();
  return true;
}

Result<std::vector<ReceivedFile>> SqliteStore::received(std::uint32_t files_max) {
  auto rows = db_.prepare(
      "SELECT file.source, inbox_name, size, file.sha256, received_utc, coalesce(begun_utc, -1) "
      "FROM received AS file LEFT JOIN transfer_in AS offer ON offer.received = file.id WHERE "
      "file.state = 'delivered' ORDER BY file.id DESC LIMIT ?");
  if (!rows) return rows.error();
  rows->bind(files_max);
  return rows->collect([&] {
    ReceivedFile file;
    if (const auto source = parse_address(rows->text(0))) file.source = *source;
    file.name = rows->octets(1);
    file.size = static_cast<std::uint64_t>(std::max<std::int64_t>(rows->integer(2), 0));
    file.sha256 = rows->blob(3);
    file.received = {rows->integer(4)};
    const std::int64_t begun = rows->integer(5);
    if (begun >= 0 && begun <= file.received.value) {
      file.took = std::chrono::seconds(file.received.value - begun);
    }
    return file;
  });
}

// --- Operators -----------------------------------------------------------------------------------

Result<SpoolItem> SqliteStore::change(SpoolChange change, SpoolId id, UtcSeconds now) {
  auto item = change_once(change, id, now);
  if (!item && needs_reserve(item.error())) item = change_once(change, id, now);
  return item;
}

// A file that is let go has its whole lifetime again. It keeps its U_PDU_ID and the number of its
// attempts, so that a receiver that has it recognises the repeat (decision 0001).
Result<SpoolItem> SqliteStore::change_once(SpoolChange change, SpoolId id, UtcSeconds now) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  auto found = find(id);
  if (!found) return found.error();
  if (!*found) return Error{ErrorCode::not_found, "no such file in the spool"};
  SpoolItem item = **std::move(found);
  if (!allows(item.state, change)) return not_allowed(item.state);
  if (change == SpoolChange::hold) {
    item.state = SpoolState::held;
  } else if (change == SpoolChange::cancel) {
    item.state = SpoolState::failed;
    item.reason = "cancelled by the operator";
  } else {
    item.state = item.attempts == 0 ? SpoolState::incoming : SpoolState::deferred;
    item.created = item.next_try = now;
  }
  auto update = db_.prepare(
      "UPDATE outgoing SET state = ?, created_utc = ?, next_try_utc = ?, reason = ?, "
      "finished_utc = ? WHERE id = ?");
  if (!update) return update.error();
  update->bind_text(to_string(item.state))
      .bind(item.created.value)
      .bind(item.next_try.value)
      .bind_text(item.reason)
      .bind(is_over(item.state) ? now.value : 0)
      .bind(id.value);
  if (auto done = update->run(); !done) return done.error();
  if (is_over(item.state)) {
    if (auto ended = end_row(id); !ended) return ended.error();
  }
  if (auto done = transaction->commit(); !done) return done.error();
  return item;
}

}  // namespace s5066::gateways
