// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/sqlite_store_db.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "gateways/common/migrations.h"
#include "s5066d/base/assert.h"
#include "s5066d/posix/fd.h"

namespace s5066::gateways {
namespace {

ErrorCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::timed_out;
    case SQLITE_CONSTRAINT:
      return ErrorCode::already_exists;
    case SQLITE_FULL:
      return ErrorCode::queue_full;
    case SQLITE_TOOBIG:
      return ErrorCode::too_large;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return ErrorCode::bad_checksum;
    default:
      return ErrorCode::io;
  }
}

bool is_damage(int sqlite_code) {
  return code_of(sqlite_code) == ErrorCode::bad_checksum || sqlite_code == SQLITE_IOERR_CORRUPTFS;
}

bool is_read_error(int sqlite_code) {
  return sqlite_code == SQLITE_IOERR_READ || sqlite_code == SQLITE_IOERR_SHORT_READ;
}

/// The commands of an operator open the spool, too, and cannot recover it.
Error opening_error(const std::string& path, const Error& error) {
  if (error.code != ErrorCode::bad_checksum) return error;
  return Error{error.code, "spool " + path + " is damaged (" + error.detail +
                               "); the next start of its gateway recovers it"};
}

/// Read errors with more time than this between them are not one that lasts.
constexpr std::chrono::minutes kReadErrorsApart(5);

}  // namespace

void SpoolHealth::note(int sqlite_code, const std::string& message, Time now) {
  if (is_damage(sqlite_code) && !damage_) damage_ = Error{ErrorCode::bad_checksum, message};
  if (!is_read_error(sqlite_code)) return;
  if (!first_read_error_ || now - last_read_error_ > kReadErrorsApart) first_read_error_ = now;
  last_read_error_ = now;
  if (now - *first_read_error_ >= read_errors_max_ && !damage_) {
    damage_ = Error{ErrorCode::bad_checksum, message};
  }
}

void Statement::GiveBack::operator()(sqlite3_stmt* statement) const {
  // step() has reported the error already.
  static_cast<void>(sqlite3_reset(statement));
  static_cast<void>(sqlite3_clear_bindings(statement));
  idle->emplace_back(statement);
}

Statement& Statement::bind(std::int64_t value) {
  const int result = sqlite3_bind_int64(statement_.get(), next_parameter_++, value);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Statement& Statement::bind_text(std::string_view value) {
  const int result = sqlite3_bind_text64(statement_.get(), next_parameter_++, value.data(),
                                         value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Statement& Statement::bind_blob(ByteSpan value) {
  // A null pointer would bind NULL, and an empty file is not NULL.
  const void* data = value.empty() ? static_cast<const void*>("") : value.data();
  const int result = sqlite3_bind_blob64(statement_.get(), next_parameter_++, data, value.size(),
                                         SQLITE_TRANSIENT);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Statement& Statement::bind_blob(std::string_view value) {
  return bind_blob(ByteSpan(reinterpret_cast<const std::uint8_t*>(value.data()), value.size()));
}

Statement& Statement::bind_column(const Statement& row, int column) {
  const int result = sqlite3_bind_value(statement_.get(), next_parameter_++,
                                        sqlite3_column_value(row.statement_.get(), column));
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Result<bool> Statement::step() {
  const int result = bind_result_ == SQLITE_OK ? sqlite3_step(statement_.get()) : bind_result_;
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(statement_.get());
  const std::string message = std::string("spool: ") + sqlite3_errmsg(db);
  health_->note(result, message, std::chrono::steady_clock::now());
  return Error{code_of(result), message};
}

Result<void> Statement::run() {
  const auto stepped = step();
  if (!stepped) return stepped.error();
  S5066_ASSERT(!*stepped);
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* data = sqlite3_column_text(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes)};
}

std::string Statement::octets(int column) const {
  const Bytes bytes = blob(column);
  return {bytes.begin(), bytes.end()};
}

Bytes Statement::blob(int column) const {
  const auto* data =
      static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? Bytes{} : Bytes(data, data + bytes);
}

namespace {

/// Makes sure that only the owner can read the database. SQLite gives its other files the mode of
/// this one. A descriptor is opened only for a file that is not there, because closing one would
/// free the locks that this process has on the file.
void close_to_others(const std::string& path) {
  constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    const bool open_to_others = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    // Another user's file is left to its owner.
    if (S_ISREG(status.st_mode) && open_to_others) {
      for (const char* suffix : {"", "-wal", "-shm"}) {
        static_cast<void>(::chmod((path + suffix).c_str(), kOwnerOnly));
      }
    }
    return;
  }
  const posix::Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
}

}  // namespace

Result<Database> Database::open(const Options& options) {
  close_to_others(options.path);
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(options.path.c_str(), &handle, flags, options.vfs);
  Database db(handle, options.read_errors_max);
  if (result != SQLITE_OK) return db.error(("spool " + options.path).c_str());
  sqlite3_busy_timeout(handle, options.busy_timeout_ms);
  return db;
}

Result<void> Database::execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return error("spool");
  }
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  auto known = statements_.find(sql);
  if (known == statements_.end())
    known = statements_.emplace(std::string(sql), Statement::Idle()).first;
  Statement::Idle& idle = known->second;
  if (!idle.empty()) {
    sqlite3_stmt* statement = idle.back().release();
    idle.pop_back();
    return Statement(statement, &idle, health_.get());
  }
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return error("spool");
  }
  return Statement(statement, &idle, health_.get());
}

bool Database::has_moved() const {
  int moved = 0;
  const int asked = sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return asked == SQLITE_OK && moved != 0;
}

void Database::keep_files_as_they_are() {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

// All pages in one step, because what is written between two steps would begin the copy anew.
Result<void> Database::copy_to(Database& other) {
  sqlite3_backup* copy = sqlite3_backup_init(other.handle_.get(), "main", handle_.get(), "main");
  if (copy == nullptr) return other.error("copy of the spool");
  static_cast<void>(sqlite3_backup_step(copy, -1));
  if (sqlite3_backup_finish(copy) != SQLITE_OK) return other.error("copy of the spool");
  return {};
}

Error Database::error(const char* what) const {
  const int code = sqlite3_extended_errcode(handle_.get());
  const std::string message = std::string(what) + ": " + sqlite3_errmsg(handle_.get());
  health_->note(code, message, std::chrono::steady_clock::now());
  return Error{code_of(code), message};
}

std::string states(bool (*wanted)(SpoolState)) {
  std::string list;
  for (int number = 0; number < static_cast<int>(SpoolState::count); ++number) {
    const auto state = static_cast<SpoolState>(number);
    if (!wanted(state)) continue;
    list.append(list.empty() ? "('" : ", '").append(to_string(state)).append("'");
  }
  return list + ")";
}

int newest_schema() {
  return static_cast<int>(migrations().size());
}

Result<void> migrate(Database& db, const std::string& path, int version) {
  auto transaction = Transaction::begin(db);
  if (!transaction) return transaction.error();
  std::int64_t current = 0;
  {
    auto known = db.prepare("PRAGMA user_version");
    if (!known) return known.error();
    if (auto row = known->step(); !row) return row.error();
    current = known->integer(0);
  }
  if (current > newest_schema()) {
    return Error{ErrorCode::unsupported, "spool " + path + " is of a newer version"};
  }
  for (const Migration& migration : migrations()) {
    if (migration.number <= current || migration.number > version) continue;
    if (auto done = db.execute(migration.sql); !done) return done;
    const std::string set = "PRAGMA user_version = " + std::to_string(migration.number);
    if (auto done = db.execute(set.c_str()); !done) return done;
  }
  return transaction->commit();
}

Result<Database> open_spool(const Database::Options& options) {
  auto db = Database::open(options);
  if (!db) return db.error();
  for (const char* pragma :
       {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"}) {
    if (auto set = db->execute(pragma); !set) return opening_error(options.path, set.error());
  }
  if (auto migrated = migrate(*db, options.path, newest_schema()); !migrated) {
    return opening_error(options.path, migrated.error());
  }
  return db;
}

Result<Transaction> Transaction::begin(Database& db) {
  if (auto begun = db.execute("BEGIN IMMEDIATE"); !begun) return begun.error();
  Transaction transaction(db);
  if (db.has_moved()) return Error{ErrorCode::io, "the spool was put aside and has a new one"};
  return transaction;
}

Transaction::~Transaction() {
  // A failed rollback is ignored, because SQLite rolls back again when the file is opened.
  if (db_ != nullptr) static_cast<void>(db_->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
  S5066_ASSERT(db_ != nullptr);
  auto committed = db_->execute("COMMIT");
  if (committed) db_ = nullptr;
  return committed;
}

}  // namespace s5066::gateways
