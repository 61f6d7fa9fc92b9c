// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/store/mail_marks.h"

#include <string_view>

#include "gateways/acp142/store/mail_rows.h"
#include "gateways/common/sha256.h"

namespace s5066::acp142 {

Result<bool> MailMarks::is_new(const std::string& mark, UtcSeconds now) {
  if (mark.empty()) return true;
  // A mark that is too old for the window counts as new, and gets a new age.
  auto put = db_->prepare(
      "INSERT INTO mail_seen VALUES (?1, ?2) ON CONFLICT (mark) DO UPDATE SET seen_utc = ?2 WHERE "
      "seen_utc <= ?3");
  if (!put) return put.error();
  put->bind_blob(std::string_view(mark)).bind(now.value).bind(now.value - window_s_);
  if (auto done = put->run(); !done) return done.error();
  return db_->changes() > 0;
}

Result<MailId> MailMarks::first_with(const std::string& mark) {
  auto row = db_->prepare("SELECT mail FROM mail_mark WHERE mark = ? ORDER BY mail DESC LIMIT 1");
  if (!row) return row.error();
  const auto found = row->bind_blob(std::string_view(mark)).step();
  if (!found) return found.error();
  return MailId{*found ? row->integer(0) : 0};
}

Result<void> MailMarks::note(MailId id, std::int64_t number, const std::string& mark,
                             UtcSeconds now) {
  return update(*db_, "INSERT OR REPLACE INTO mail_mark VALUES (?, ?, ?, ?)", id.value, number,
                Bytes(mark.begin(), mark.end()), now.value);
}

Result<void> MailMarks::release(MailId id) {
  return update(
      *db_,
      "DELETE FROM mail_seen WHERE (mark, seen_utc) IN (SELECT mark, seen_utc FROM mail_mark JOIN "
      "mail_target USING (mail, number) WHERE mail = ? AND state <> 'delivered')",
      id.value);
}

Result<void> MailMarks::restore(MailId id) {
  return update(
      *db_,
      "INSERT INTO mail_seen SELECT mark, seen_utc FROM mail_mark WHERE mail = ? ON CONFLICT DO "
      "NOTHING",
      id.value);
}

Result<void> MailMarks::keep_those_of_active() {
  return db_->execute(
      "DELETE FROM mail_mark WHERE mail IN (SELECT id FROM mail WHERE state = 'active')");
}

Result<MailKept::Repeat> MailMarks::note_received(const AcceptMail& operation) {
  using Repeat = MailKept::Repeat;
  const std::int64_t source = operation.name->source.value;
  const std::int64_t number = operation.name->message_id;
  const Bytes sha256 = gateways::sha256_of(operation.name_content);
  auto repeat = Repeat::none;
  {
    auto known = db_->prepare(
        "SELECT expiry_utc, sha256 FROM mail_received WHERE source = ? AND message_id = ?");
    if (!known) return known.error();
    const auto found = known->bind(source).bind(number).step();
    if (!found) return found.error();
    if (*found) {
      const Bytes before = known->blob(1);
      const bool same = before.empty() || before == sha256;
      const bool over = known->integer(0) < operation.now.value;
      repeat = same ? Repeat::same : over ? Repeat::none : Repeat::other;
    }
  }
  if (repeat == Repeat::none) {
    auto put = update(*db_, "INSERT OR REPLACE INTO mail_received VALUES (?, ?, ?, ?)", source,
                      number, operation.name_expiry.value, sha256);
    if (!put) return put.error();
    return repeat;
  }
  // It may have come with more time than it had before.
  auto longer = update(
      *db_,
      "UPDATE mail_received SET expiry_utc = max(expiry_utc, ?) WHERE source = ? AND message_id = "
      "?",
      operation.name_expiry.value, source, number);
  if (!longer) return longer.error();
  return repeat;
}

Result<void> MailMarks::purge_marks(UtcSeconds now) {
  return update(*db_, "DELETE FROM mail_seen WHERE seen_utc < ?", now.value - window_s_);
}

Result<void> MailMarks::purge_received(UtcSeconds now) {
  return update(*db_, "DELETE FROM mail_received WHERE expiry_utc < ?",
                now.value - kNumberLifeS - 86400);
}

}  // namespace s5066::acp142
