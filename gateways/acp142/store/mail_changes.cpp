// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/store/mail_changes.h"

#include <string>

#include "gateways/acp142/store/mail_rows.h"

namespace s5066::acp142 {

using gateways::Transaction;

namespace {

const Error kNoSuchMessage{ErrorCode::refused, "no such message in such a state"};

}  // namespace

Result<void> MailChanges::change(SpoolChange asked, MailId id, UtcSeconds now, bool under_way) {
  auto transaction = Transaction::begin(*db_);
  if (!transaction) return transaction.error();
  Result<void> done;
  switch (asked) {
    case SpoolChange::hold:
      done = update(*db_,
                    under_way ? "UPDATE mail SET state = 'held' WHERE id = ? AND state = 'active'"
                              : "UPDATE mail SET state = 'held' WHERE id = ? AND state IN "
                                "('incoming', 'deferred')",
                    id.value);
      break;
    case SpoolChange::release:
      done = under_way
                 ? update(*db_, "UPDATE mail SET state = 'active' WHERE id = ? AND state = 'held'",
                          id.value)
                 : update(*db_,
                          "UPDATE mail SET state = 'deferred', next_try_utc = ? WHERE id = ? AND "
                          "state = 'held'",
                          now.value, id.value);
      break;
    case SpoolChange::retry:
      done = retry(id, now, under_way);
      break;
    case SpoolChange::cancel:
      done = cancel(id, under_way);
      break;
    case SpoolChange::count:
      return Error{ErrorCode::bad_field, "change of a message"};
  }
  if (!done) return done;
  if (db_->changes() == 0) return kNoSuchMessage;
  if (asked == SpoolChange::retry) {
    done =
        update(*db_,
               "UPDATE mail_target SET state = 'deferred' WHERE mail = ? AND state IN ('failed', "
               "'expired')",
               id.value);
    if (done) done = marks_.restore(id);
    if (!done) return done;
  }
  return transaction->commit();
}

// The marks of a message that is under way stay, because it may reach its recipients all the same.
Result<void> MailChanges::cancel(MailId id, bool under_way) {
  bool there = false;
  {
    auto row = db_->prepare("SELECT 1 FROM mail WHERE id = ? AND (? OR state <> 'active')");
    if (!row) return row.error();
    const auto found = row->bind(id.value).bind(std::int64_t{under_way}).step();
    if (!found) return found.error();
    there = *found;
  }
  if (!there) return kNoSuchMessage;
  if (!under_way) {
    if (auto released = marks_.release(id); !released) return released;
  }
  return MailRows(*db_).erase(id);
}

// The message gets its whole lifetime again, and its sender may be told again that it is late,
// because the sender was told that it was over. A message that keeps its number ends before its
// receivers may have forgotten the number.
Result<void> MailChanges::retry(MailId id, UtcSeconds now, bool under_way) {
  const std::string states =
      under_way ? "('active', 'held')" : "('deferred', 'failed', 'expired', 'held', 'corrupt')";
  const std::string renumbered =
      under_way ? "(message_id = 0)" : "(message_id = 0 OR state IN ('failed', 'corrupt'))";
  const std::string number_ends = "(created_utc + " + std::to_string(kNumberLifeS) + ")";
  auto too_old =
      db_->prepare("SELECT 1 FROM mail WHERE id = ?1 AND state IN " + states + " AND NOT " +
                   renumbered + " AND max(expiry_utc, " + number_ends + ") <= ?2");
  if (!too_old) return too_old.error();
  const auto found = too_old->bind(id.value).bind(now.value).step();
  if (!found) return found.error();
  if (*found) {
    return Error{
        ErrorCode::refused,
        "the message is too old: a station that has it would no longer know it as a repeat; "
        "send it as a new message"};
  }
  const std::string sql =
      "UPDATE mail SET attempts = 0, next_try_utc = ?1, expiry_utc = max(expiry_utc, iif(" +
      renumbered + ", ?1 + lifetime_s, min(?1 + lifetime_s, " + number_ends +
      "))), delay_utc = iif(delay_s > 0 AND state IN ('failed', 'expired', 'corrupt'), ?1 + "
      "delay_s, delay_utc), message_id = iif(" +
      renumbered + ", 0, message_id), block_octets = iif(" + renumbered +
      ", 0, block_octets), finished_utc = 0, state = '" + (under_way ? "active" : "deferred") +
      "' WHERE id = ?2 AND state IN " + states;
  return update(*db_, sql.c_str(), now.value, id.value);
}

}  // namespace s5066::acp142
