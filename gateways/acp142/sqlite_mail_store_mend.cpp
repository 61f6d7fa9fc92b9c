// SPDX-License-Identifier: Apache-2.0
// Indexes of the spool hold nothing that its tables do not: a damaged one is made anew while the
// gateway serves.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gateways/acp142/sqlite_mail_store.h"
#include "gateways/acp142/sqlite_mail_store_rows.h"

namespace s5066::acp142 {

using gateways::Transaction;

namespace {

constexpr std::int64_t kMendAgainS = 3600;
constexpr std::int64_t kLookAgainS = 60;  // at one that was sound
constexpr std::int64_t kLookS = 86400;    // without a reason

}  // namespace

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

// What an index does not have of a message is no error: it would wait for ever.
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
  // What was rolled back has to be read again.
  auto reset = db_.execute("PRAGMA writable_schema = RESET");
  return done ? reset : done;
}

}  // namespace s5066::acp142
