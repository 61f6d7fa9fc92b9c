// SPDX-License-Identifier: Apache-2.0
// What has been finished, or known, for long enough is forgotten.
#include <algorithm>
#include <utility>

#include "gateways/acp142/sqlite_mail_store.h"
#include "gateways/acp142/sqlite_mail_store_rows.h"
#include "gateways/common/remove_each.h"
#include "s5066d/base/assert.h"

namespace s5066::acp142 {

using gateways::Removal;

namespace {

constexpr std::size_t kAtOnceMax = 4096;  // others wait meanwhile

}  // namespace

Result<MailAnswer> SqliteMailStore::run(const PurgeMail& operation) {
  S5066_ASSERT(operation.part != PurgeMail::Part::mails);
  const bool marks = operation.part == PurgeMail::Part::marks;
  if (marks && left_out_.contains("mail_seen")) return MailAnswer(Done{});
  auto done = marks ? update("DELETE FROM mail_seen WHERE seen_utc < ?",
                             operation.now.value - config_.duplicate_window_s)
                    : update("DELETE FROM mail_received WHERE expiry_utc < ?",
                             operation.now.value - kNumberLifeS - 86400);
  if (!done) return done.error();
  return MailAnswer(Done{});
}

/// By commits of its own, so that a spool of many old messages neither is locked for long nor does
/// it all again for each that it cannot read.
MailResult SqliteMailStore::purge_mails(StoreTicket ticket, UtcSeconds now) {
  MailResult result{ticket, MailAnswer(Done{}), {}, {}};
  now_ = std::max(now_, now);
  look_at_indexes();
  auto finished = finished_mails(now);
  if (!finished && finished.error().code == ErrorCode::bad_checksum && mend_indexes()) {
    finished = finished_mails(now);
  }
  if (!finished) {
    result.answer = finished.error();
    return result;
  }
  const bool more = finished->size() > kAtOnceMax;
  if (more) finished->resize(kAtOnceMax);
  const auto remove = [&](std::int64_t id) -> Result<void> {
    const auto old = is_over({id}, now);
    if (!old) return old.error();
    return *old ? erase({id}) : Result<void>();
  };
  Removal removal = gateways::remove_each(db_, *finished, remove);
  const bool damaged = std::any_of(
      removal.kept.begin(), removal.kept.end(),
      [](const Removal::Kept& one) { return one.error.code == ErrorCode::bad_checksum; });
  const bool again = std::exchange(left_out_now_, false);
  if ((damaged && (mend_indexes() || again)) || needs_reserve(removal.done)) {
    removal = gateways::remove_each(db_, *finished, remove);
  }
  for (const Removal::Kept& one : removal.kept) {
    const bool for_good = one.error.code == ErrorCode::bad_checksum;
    const auto [at, first] = undeletable_.insert({MailId{one.id}, for_good});
    at->second = at->second || for_good;
    if (!first) continue;
    result.troubles.push_back({{one.id}, "cannot be deleted: " + one.error.detail, false});
  }
  if (more) result.answer = MailAnswer(PurgedInPart{});
  if (!removal.done) result.answer = removal.done.error();
  return result;
}

/// For long enough, one more than go at once at most: by an index that holds all that is asked for;
/// not again what is damaged.
Result<std::vector<std::int64_t>> SqliteMailStore::finished_mails(UtcSeconds now) {
  auto rows = db_.prepare(
      "SELECT id FROM mail INDEXED BY mail_open WHERE state IN ('delivered', 'failed', "
      "'expired')");
  if (!rows) return rows.error();
  std::vector<std::int64_t> finished;
  while (finished.size() <= kAtOnceMax) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) break;
    const std::int64_t id = rows->integer(0);
    const auto at = undeletable_.find({id});
    if (at != undeletable_.end() && at->second) continue;
    const auto over = is_over({id}, now);
    if (!over || *over) finished.push_back(id);
  }
  return finished;
}

/// An operator may have queued it again since it was found.
Result<bool> SqliteMailStore::is_over(MailId id, UtcSeconds now) {
  auto row = db_.prepare(
      "SELECT state IN ('delivered', 'failed', 'expired') AND finished_utc < ? FROM mail WHERE id "
      "= ?");
  if (!row) return row.error();
  const auto found = row->bind(now.value - config_.keep_finished_s).bind(id.value).step();
  if (!found) return found.error();
  return *found && row->integer(0) != 0;
}

/// A message, and all that is known of it alone.
Result<void> SqliteMailStore::erase(MailId id) {
  const auto remove = [&](const char* sql) { return update(sql, id.value); };
  auto done = remove("DELETE FROM mail_target WHERE mail = ?");
  if (done) done = remove("DELETE FROM mail_content WHERE id = ?");
  if (done) {
    done = unless_damaged("mail_submitted",
                          [&] { return remove("DELETE FROM mail_submitted WHERE mail = ?"); });
  }
  if (done) {
    done =
        unless_damaged("mail_mark", [&] { return remove("DELETE FROM mail_mark WHERE mail = ?"); });
  }
  if (done) {
    done = unless_damaged("mail_course",
                          [&] { return remove("DELETE FROM mail_course WHERE mail = ?"); });
  }
  return done ? remove("DELETE FROM mail WHERE id = ?") : done;
}

}  // namespace s5066::acp142
