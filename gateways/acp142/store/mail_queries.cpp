// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/store/mail_queries.h"

#include <utility>

#include "gateways/acp142/store/mail_rows.h"

namespace s5066::acp142 {

using gateways::list_items;
using gateways::Statement;

namespace {

constexpr std::uint32_t kRelativesMax = 1000;

/// The condition for a message that is not over, or that an operator has to look at.
std::string is_waiting(const std::string& column) {
  return column + " IN ('incoming', 'active', 'deferred', 'held', 'corrupt')";
}

}  // namespace

Result<std::vector<MailItem>> MailQueries::list(std::uint32_t items_max) {
  const std::string in_order = std::string(kItemColumns) + "ORDER BY id DESC LIMIT ?";
  return list_items<MailItem>(*db_, in_order, items_max, read_item);
}

// A filter by station looks for it among the targets of each message.
Result<std::vector<MailItem>> MailQueries::list(const MailFilter& filter, std::uint32_t items_max) {
  std::string where = "WHERE (?1 = '' OR state = ?1)";
  if (!filter.finished && !filter.state) where += " AND " + is_waiting("state");
  where += " AND (?2 = '' OR instr(lower(reverse_path), ?2) = 1)";
  if (filter.station) {
    where += " AND EXISTS (SELECT 1 FROM mail_target t WHERE t.mail = id AND station = ?3";
    if (!filter.finished && !filter.state) where += " AND " + is_waiting("t.state");
    where += ")";
  }
  auto rows = db_->prepare(kItemColumns + where + " AND ?3 = ?3 ORDER BY id DESC LIMIT ?4");
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
    if (auto read = MailRows(*db_).read_targets(item); !read) return read.error();
  }
  return items;
}

Result<std::vector<MailId>> MailQueries::trace(std::string_view word, std::uint32_t items_max) {
  const std::string id = word.find('<') == 0 ? std::string(word) : "<" + std::string(word) + ">";
  const std::string address = lower_case(id);
  auto rows = db_->prepare(
      "SELECT id FROM mail WHERE label IN (?1, ?2) OR instr(lower(reverse_path), ?3) = 1 OR EXISTS "
      "(SELECT 1 FROM mail_target WHERE mail = id AND instr(lower(recipient), ?3) = 1) "
      "ORDER BY id DESC LIMIT ?4");
  if (!rows) return rows.error();
  rows->bind_text(word).bind_text(id).bind_text(address).bind(std::int64_t{items_max});
  return ids_of(*rows);
}

Result<MailCourse> MailQueries::course(MailId id) {
  MailCourse course{.first = id, .about = {}, .heard = {}, .came = {}};
  auto row =
      db_->prepare("SELECT first, about, node, message_id, came FROM mail_course WHERE mail = ?");
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
Result<std::vector<MailId>> MailQueries::relatives(MailId id) {
  const auto own = course(id);
  if (!own) return own.error();
  auto rows = db_->prepare(
      "SELECT mail FROM mail_course c WHERE mail >= ?1 AND (first = ?1 OR (about > 0 AND (SELECT "
      "first FROM mail_course WHERE mail = c.about) = ?1)) ORDER BY mail LIMIT ?2");
  if (!rows) return rows.error();
  rows->bind(own->first.value).bind(std::int64_t{kRelativesMax});
  auto ids = ids_of(*rows);
  if (ids && ids->empty()) ids->push_back(id);
  return ids;
}

Result<std::map<NodeId, WaitingMail>> MailQueries::waiting() {
  const std::string sql =
      "SELECT station, count(*), total(size), min(next_try_utc) FROM (SELECT DISTINCT t.station, "
      "m.id, m.size, m.next_try_utc FROM mail m JOIN mail_target t ON t.mail = m.id WHERE "
      "t.station > 0 AND " +
      is_waiting("m.state") + " AND " + is_waiting("t.state") + ") GROUP BY station";
  auto rows = db_->prepare(sql);
  if (!rows) return rows.error();
  std::map<NodeId, WaitingMail> waiting;
  const auto done = rows->each([&] {
    waiting[{static_cast<std::uint32_t>(rows->integer(0))}] = {
        static_cast<std::uint64_t>(rows->integer(1)),
        static_cast<std::uint64_t>(rows->integer(2)),
        {rows->integer(3)}};
  });
  if (!done) return done.error();
  return waiting;
}

Result<std::optional<MailItem>> MailQueries::find(MailId id) {
  auto row = db_->prepare(std::string(kItemColumns) + "WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return std::optional<MailItem>();
  auto item = read_item(*row);
  if (!item) return item.error();
  if (auto read = MailRows(*db_).read_targets(*item); !read) return read.error();
  return std::optional<MailItem>(std::move(item).value());
}

Result<std::map<NodeId, bool>> MailQueries::silences() {
  auto rows = db_->prepare("SELECT station, silent FROM mail_emcon");
  if (!rows) return rows.error();
  std::map<NodeId, bool> silences;
  const auto done = rows->each(
      [&] { silences[{static_cast<std::uint32_t>(rows->integer(0))}] = rows->integer(1) != 0; });
  if (!done) return done.error();
  return silences;
}

Result<std::vector<StationRow>> MailQueries::stations() {
  auto rows = db_->prepare(
      "SELECT station, sequence, failures, dead_until_utc, reason FROM mail_station ORDER BY "
      "station");
  if (!rows) return rows.error();
  return rows->collect([&] {
    return StationRow{.station = {static_cast<std::uint32_t>(rows->integer(0))},
                      .sequence = static_cast<std::uint32_t>(rows->integer(1)),
                      .failures = static_cast<std::uint32_t>(rows->integer(2)),
                      .dead_until = {rows->integer(3)},
                      .reason = rows->text(4)};
  });
}

}  // namespace s5066::acp142
