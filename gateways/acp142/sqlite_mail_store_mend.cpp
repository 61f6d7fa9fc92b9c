// Indexes of the spool hold nothing that its tables do not: a damaged one is made anew while the
// gateway serves.
#include <algorithm>
#include <utility>

#include "gateways/acp142/sqlite_mail_store.h"
#include "gateways/acp142/sqlite_mail_store_rows.h"

namespace s5066::acp142 {

using gateways::Transaction;

namespace {

constexpr std::int64_t kMendAgainS = 3600;
constexpr std::int64_t kLookAgainS = 60;  // at one that was sound

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
  bool mended = false;
  for (const Index& index : *known) {
    const auto [again, first] = mend_again_.try_emplace(index.name, now_);
    if (!first && now_ < again->second) continue;
    const bool damaged = is_damaged(index);
    again->second.value = now_.value + (damaged ? kMendAgainS : kLookAgainS);
    if (!damaged || !make_anew(index)) continue;
    mended_.push_back(index.name);
    mended = true;
  }
  return mended;
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

/// Reads all of it, and what it is of where the index alone does not say what is in it.
bool SqliteMailStore::is_damaged(const Index& index) {
  const auto where = index.sql.find(" WHERE ");
  auto all = db_.prepare("SELECT sum(1) FROM " + index.table + " INDEXED BY " + index.name +
                         (where == std::string::npos ? "" : index.sql.substr(where)));
  if (!all) return false;
  const auto row = all->step();
  return !row && row.error().code == ErrorCode::bad_checksum;
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
