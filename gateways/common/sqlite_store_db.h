// SPDX-License-Identifier: Apache-2.0
// SQLite with Results instead of codes: one connection, prepared statements, transactions. Only
// sqlite_store uses it.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gateways/common/store_port.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// Notes the damage that a connection has found in its file. A page that makes no sense is damage
/// at once. A disk that does not read may read again, so only lasting read errors are damage.
class SpoolHealth {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit SpoolHealth(std::chrono::seconds read_errors_max) : read_errors_max_(read_errors_max) {}

  void note(int sqlite_code, const std::string& message, Time now);
  const std::optional<Error>& damage() const { return damage_; }

 private:
  std::chrono::seconds read_errors_max_;
  std::optional<Error> damage_;
  std::optional<Time> first_read_error_;  // time of the first of several read errors in a row
  Time last_read_error_{};
};

/// A prepared statement. Bind its values in order, then step. A failed bind shows at the next step.
/// The statement must be gone before its database is.
class Statement {
 public:
  Statement& bind(std::int64_t value);
  Statement& bind_text(std::string_view value);
  Statement& bind_blob(ByteSpan value);
  Statement& bind_blob(std::string_view value);
  /// Binds the value of a column of another statement, whatever its type is.
  Statement& bind_column(const Statement& row, int column);

  /// True when there is a row to read.
  Result<bool> step();
  /// Executes a statement that returns no rows.
  Result<void> run();
  /// Calls `take` for each row that is left.
  template <typename Take>
  Result<void> each(Take take);
  /// Returns what `read` makes of each row that is left, in the order of the query.
  template <typename Read>
  auto collect(Read read) -> Result<std::vector<std::invoke_result_t<Read>>>;

  std::int64_t integer(int column) const;
  std::string text(int column) const;    // reads a TEXT column
  std::string octets(int column) const;  // reads a BLOB column as a string
  Bytes blob(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Idle = std::vector<std::unique_ptr<sqlite3_stmt, Finalize>>;
  /// Gives a statement back to the idle ones of the same text, as new.
  struct GiveBack {
    Idle* idle = nullptr;
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, Idle* idle, SpoolHealth* health)
      : statement_(statement, GiveBack{idle}), health_(health) {}

  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
  SpoolHealth* health_;
  int next_parameter_ = 1;
  int bind_result_ = SQLITE_OK;
};

template <typename Take>
Result<void> Statement::each(Take take) {
  while (true) {
    const auto row = step();
    if (!row) return row.error();
    if (!*row) return {};
    take();
  }
}

template <typename Read>
auto Statement::collect(Read read) -> Result<std::vector<std::invoke_result_t<Read>>> {
  std::vector<std::invoke_result_t<Read>> all;
  const auto done = each([&] { all.push_back(read()); });
  if (!done) return done.error();
  return all;
}

class Database {
 public:
  struct Options {
    std::string path;
    const char* vfs = nullptr;  // name of a faulty file system in tests
    int busy_timeout_ms = 5000;
    std::chrono::seconds read_errors_max = std::chrono::minutes(10);
  };
  /// Creates the file if there is none.
  static Result<Database> open(const Options& options);

  Result<void> execute(const char* sql);
  /// Compiles each text once and keeps it. Use it only for a limited number of texts.
  Result<Statement> prepare(std::string_view sql);
  std::int64_t last_insert_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
  int changes() const { return sqlite3_changes(handle_.get()); }
  Error error(const char* what) const;
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  /// Returns the reason why this file must be used no more, once there is one.
  const std::optional<Error>& damage() const { return health_->damage(); }
  /// True if the file has another name now than when it was opened.
  bool has_moved() const;
  /// Makes the other one a copy of this one as it is now. Others may write meanwhile.
  Result<void> copy_to(Database& other);
  /// Leaves the file and its WAL as they are when the connection is closed.
  void keep_files_as_they_are();

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  Database(sqlite3* handle, std::chrono::seconds read_errors_max)
      : health_(std::make_unique<SpoolHealth>(read_errors_max)), handle_(handle) {}
  std::unique_ptr<SpoolHealth> health_;
  std::unique_ptr<sqlite3, Close> handle_;
  /// Statements that are not in use.
  std::map<std::string, Statement::Idle, std::less<>> statements_;
};

/// Returns the states for which `wanted` is true as a list in SQL.
std::string states(bool (*wanted)(SpoolState));

/// Returns the number of the last migration.
int newest_schema();
/// Brings the schema up to `version`, in a transaction of its own. Fails with `unsupported` where
/// the spool is of a newer version than this program.
Result<void> migrate(Database& db, const std::string& path, int version);

/// Opens a spool for writing that survives a power cut, and brings its schema up to date.
Result<Database> open_spool(const Database::Options& options);

/// Returns an item for each row of a query whose first column is its id. A row from which `read`
/// can make none is shown as corrupt.
template <typename Item, typename Read>
Result<std::vector<Item>> list_items(Database& db, std::string_view sql, std::int64_t items_max,
                                     Read read) {
  auto rows = db.prepare(sql);
  if (!rows) return rows.error();
  rows->bind(items_max);
  std::vector<Item> items;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return items;
    Result<Item> item = read(*rows);
    if (!item) {
      Item unreadable;
      unreadable.id.value = rows->integer(0);
      unreadable.state = SpoolState::corrupt;
      unreadable.reason = item.error().detail;
      item = std::move(unreadable);
    }
    items.push_back(std::move(item).value());
  }
}

/// Takes the write lock at once; rolls back unless committed. Fails with `io` where the file was
/// put aside since it was opened, because nobody would read what is written there.
class Transaction {
 public:
  static Result<Transaction> begin(Database& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& db) : db_(&db) {}
  Database* db_;
};

}  // namespace s5066::gateways
