// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/sqlite_store_db.h"

#include <utility>

#include "gateways/common/migrations.h"
#include "s5066d/base/assert.h"

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

Result<void> migrate(Database& db, const std::string& path) {
  auto transaction = Transaction::begin(db);
  if (!transaction) return transaction.error();
  std::int64_t current = 0;
  {
    auto version = db.prepare("PRAGMA user_version");
    if (!version) return version.error();
    if (auto row = version->step(); !row) return row.error();
    current = version->integer(0);
  }
  const auto steps = migrations();
  if (current > static_cast<std::int64_t>(steps.size())) {
    return Error{ErrorCode::unsupported, "spool " + path + " is of a newer version"};
  }
  for (const Migration& migration : steps) {
    if (migration.number <= current) continue;
    if (auto done = db.execute(migration.sql); !done) return done;
    const std::string set = "PRAGMA user_version = " + std::to_string(migration.number);
    if (auto done = db.execute(set.c_str()); !done) return done;
  }
  return transaction->commit();
}

}  // namespace

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

Result<bool> Statement::step() {
  const int result = bind_result_ == SQLITE_OK ? sqlite3_step(statement_.get()) : bind_result_;
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(statement_.get());
  return Error{code_of(result), std::string("spool: ") + sqlite3_errmsg(db)};
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

Result<Database> Database::open(const Options& options) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(options.path.c_str(), &handle, flags, options.vfs);
  Database db(handle);
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
    return Statement(statement, &idle);
  }
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return error("spool");
  }
  return Statement(statement, &idle);
}

bool Database::cannot_read() const {
  const int code = sqlite3_extended_errcode(handle_.get());
  return code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ ||
         code == SQLITE_IOERR_CORRUPTFS || code_of(code) == ErrorCode::bad_checksum;
}

Error Database::error(const char* what) const {
  const int code = sqlite3_extended_errcode(handle_.get());
  return Error{code_of(code), std::string(what) + ": " + sqlite3_errmsg(handle_.get())};
}

Result<Database> open_spool(const Database::Options& options) {
  auto db = Database::open(options);
  if (!db) return db.error();
  for (const char* pragma :
       {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"}) {
    if (auto set = db->execute(pragma); !set) return opening_error(options.path, set.error());
  }
  if (auto migrated = migrate(*db, options.path); !migrated) {
    return opening_error(options.path, migrated.error());
  }
  return db;
}

Error opening_error(const std::string& path, const Error& error) {
  if (error.code != ErrorCode::bad_checksum) return error;
  return Error{error.code, "spool " + path + " is damaged (" + error.detail +
                               "); docs/operate/maintenance.md says how to save what can be "
                               "read of it"};
}

Result<Transaction> Transaction::begin(Database& db) {
  if (auto begun = db.execute("BEGIN IMMEDIATE"); !begun) return begun.error();
  return Transaction(db);
}

Transaction::~Transaction() {
  // Nothing can be done about a failed rollback; SQLite rolls back again when the file is opened.
  if (db_ != nullptr) static_cast<void>(db_->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
  S5066_ASSERT(db_ != nullptr);
  auto committed = db_->execute("COMMIT");
  if (committed) db_ = nullptr;
  return committed;
}

}  // namespace s5066::gateways
