// SPDX-License-Identifier: Apache-2.0
// What operators do to the spool of mail, and see of it.
#include <string>
#include <utility>

#include "gateways/acp142/sqlite_mail_store.h"
#include "gateways/acp142/sqlite_mail_store_rows.h"

namespace s5066::acp142 {

using gateways::list_items;
using gateways::Statement;
using gateways::Transaction;

namespace {

constexpr std::uint32_t kRelativesMax = 1000;

/// What is not over, and what an operator has to look at.
std::string is_waiting(const std::string& column) {
  return column + " IN ('incoming', 'active', 'deferred', 'held', 'corrupt')";
}

const Error kNoSuchMessage{ErrorCode::refused, "no such message in such a state"};

}  // namespace

// Who is asked for a message again under a number that he knows does not deliver it twice; so a
// number is kept as long as anybody may have the message under it.
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

// What is under way may reach its recipients all the same.
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

// With its whole lifetime again, and told of again when it is late: its sender has been told that
// it was over. What keeps its number ends before its receivers may have forgotten that.
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

// Where some rows cannot be read, those that can are looked up one by one.
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

}  // namespace s5066::acp142
