// SPDX-License-Identifier: Apache-2.0
// The marks by which a repeat is known of what came before.
#include <string>
#include <string_view>

#include "gateways/acp142/sqlite_mail_store.h"
#include "gateways/acp142/sqlite_mail_store_rows.h"

namespace s5066::acp142 {

using gateways::Transaction;

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

/// Of whom the message has not reached: another copy may, which is not the first one then.
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

/// What keeps it is no worse than a copy that is suppressed.
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

}  // namespace s5066::acp142
