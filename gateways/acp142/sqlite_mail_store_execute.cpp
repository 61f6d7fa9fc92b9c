// How requests become commits, and what becomes of a message that the disk does not give back: it
// costs itself, and nobody else.
#include <algorithm>
#include <limits>
#include <utility>

#include "gateways/acp142/sqlite_mail_store.h"
#include "gateways/acp142/sqlite_mail_store_rows.h"

namespace s5066::acp142 {

using gateways::Transaction;

namespace {

constexpr std::size_t kUnreadAtOnce = 64;  // more than that: the request fails, and comes again
// A disk that fails may be well again; a message is parked when it could not be read so often, over
// so long, each time while others were.
constexpr std::uint32_t kReadFailuresMax = 8;
constexpr std::int64_t kReadFailuresS = 3600;
constexpr std::int64_t kReadAgainMinS = 60;  // doubled after each failure …
constexpr std::int64_t kReadAgainMaxS = 600;
constexpr std::int64_t kTellAgainS = 86400;  // what is damaged
constexpr UtcSeconds kNever{std::numeric_limits<std::int64_t>::max()};

std::optional<MailId> written_by(const MailOperation& operation) {
  if (const auto* one = std::get_if<SaveSubmission>(&operation)) return one->id;
  if (const auto* one = std::get_if<SaveOutcome>(&operation)) return one->id;
  if (const auto* one = std::get_if<SaveDelayed>(&operation)) return one->id;
  return std::nullopt;
}

}  // namespace

// A transaction that has met what cannot be read is begun anew without that message. One that some
// request has spoiled otherwise is divided, for the sake of the other requests.
std::vector<MailResult> SqliteMailStore::execute(const std::vector<MailRequest>& requests) {
  troubles_.clear();
  std::map<MailId, Unread> before = unread_;
  auto results = run_all(requests);
  for (std::size_t rows = 0; !results && met_ && rows < kUnreadAtOnce; ++rows) {
    pass_over(*met_);
    results = run_all(requests);
  }
  if (!results) {
    // Nothing says that it was the message and not the disk.
    std::erase_if(unread_, [&](const auto& one) {
      return one.second.again != kNever && !before.contains(one.first);
    });
    for (const auto& [id, one] : before) {
      if (const auto at = unread_.find(id); at != unread_.end() && at->second.again != kNever) {
        at->second = one;
      }
    }
    std::erase_if(troubles_, [](const MailTrouble& one) { return !one.parked; });
    static_cast<void>(count_open());
  }
  std::vector<MailTrouble> troubles = std::exchange(troubles_, {});
  std::vector<MailResult> all;
  if (results) {
    all = std::move(results).value();
  } else if (spoiled_ && requests.size() > 1) {
    for (const MailRequest& request : requests) all.push_back(std::move(execute({request})[0]));
  } else {
    for (const MailRequest& request : requests)
      all.push_back({request.ticket, results.error(), {}});
  }
  if (!all.empty()) {
    auto& first = all.front().troubles;
    first.insert(first.begin(), troubles.begin(), troubles.end());
  }
  return all;
}

// One commit for all requests. A savepoint around each lets one fail without the others.
Result<std::vector<MailResult>> SqliteMailStore::run_all(const std::vector<MailRequest>& requests) {
  met_.reset();
  parked_.clear();
  spoiled_ = false;
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  std::vector<MailResult> results;
  results.reserve(requests.size());
  for (const MailRequest& request : requests) {
    results.push_back({request.ticket, run_whole(request.operation), {}});
    if (results.back().answer) continue;
    const Error error = results.back().answer.error();
    // SQLite has given a transaction up in which the disk failed, and writes nothing more in one
    // that has met a damaged page.
    const bool damaged = error.code == ErrorCode::bad_checksum;
    spoiled_ = damaged || !db_.in_transaction();
    const auto id = written_by(request.operation);
    if (damaged && !met_ && id && !unwritable_.contains(*id)) {
      met_ = Met{Met::During::write, *id, error, {}};
    }
    if (spoiled_ || met_) return error;
  }
  if (auto committed = transaction->commit(); !committed) return committed.error();
  troubles_.insert(troubles_.end(), parked_.begin(), parked_.end());
  return results;
}

Result<MailAnswer> SqliteMailStore::run_whole(const MailOperation& operation) {
  if (auto begun = update("SAVEPOINT request"); !begun) return begun.error();
  auto answer = std::visit([this](const auto& one) { return run(one); }, operation);
  if (!answer) static_cast<void>(db_.execute("ROLLBACK TO request"));
  if (auto released = update("RELEASE request"); !released) {
    return answer ? released.error() : answer.error();
  }
  return answer;
}

/// To be called at once after the error.
Error SqliteMailStore::meet(Met::During during, MailId id, const Error& error, UtcSeconds now) {
  if (db_.cannot_read()) met_ = Met{during, id, error, now};
  return error;
}

bool SqliteMailStore::is_passed_over(MailId id, UtcSeconds now) const {
  const auto at = unread_.find(id);
  return at != unread_.end() && at->second.again > now;
}

void SqliteMailStore::pass_over(const Met& met) {
  const bool damaged = met.error.code == ErrorCode::bad_checksum;
  const std::string reason = "cannot be read: " + met.error.detail;
  MailTrouble trouble{met.id, reason, false};
  if (met.during == Met::During::tell) {
    untold_[met.id].value = met.now.value + (damaged ? kTellAgainS : kReadAgainMinS);
  } else if (met.during == Met::During::purge) {
    undeletable_.insert(met.id);
    trouble.reason = "cannot be deleted: " + met.error.detail;
  } else if (met.during == Met::During::write) {
    unwritable_.insert(met.id);
    trouble.parked = true;
    static_cast<void>(park_apart(met.id, reason));
  } else {
    Unread& one = unread_[met.id];
    if (++one.failures == 1) one.since = met.now;
    const bool long_enough =
        one.failures >= kReadFailuresMax && met.now.value - one.since.value >= kReadFailuresS;
    const bool written = (damaged || long_enough) && park_apart(met.id, reason);
    trouble.parked = damaged || written;
    if (written) {
      unread_.erase(met.id);
    } else {
      const std::int64_t wait = kReadAgainMinS << std::min(one.failures - 1, 6u);
      one.again.value = met.now.value + std::min(wait, kReadAgainMaxS);
      if (damaged) one.again = kNever;  // its row cannot be written, either
    }
  }
  troubles_.push_back(std::move(trouble));
}

bool SqliteMailStore::park_apart(MailId id, const std::string& reason) {
  auto transaction = Transaction::begin(db_);
  return transaction && park(id, reason) && transaction->commit();
}

Result<void> SqliteMailStore::park(MailId id, const std::string& reason) {
  return update("UPDATE mail SET state = 'corrupt', reason = ?, delay_utc = 0 WHERE id = ?", reason,
                id.value);
}

// --- Start ---------------------------------------------------------------------------------------

// Message by message: a disk that cannot read one of them must not keep all the others back.
Result<void> SqliteMailStore::resume_active(UtcSeconds now) {
  std::vector<MailId> active;
  {
    auto rows = db_.prepare("SELECT id FROM mail WHERE state = 'active'");
    if (!rows) return rows.error();
    while (true) {
      const auto row = rows->step();
      if (!row) return row.error();
      if (!*row) break;
      active.push_back({rows->integer(0)});
    }
  }
  for (const MailId id : active) {
    if (is_passed_over(id, now)) continue;
    auto done = update("UPDATE mail SET state = 'deferred', next_try_utc = ? WHERE id = ?",
                       now.value, id.value);
    if (done) continue;
    Error error = done.error();
    const bool read = db_.cannot_read();
    if (read && error.code != ErrorCode::bad_checksum &&
        ++resume_failures_[id] >= kReadFailuresMax) {
      error.code = ErrorCode::bad_checksum;
    }
    if (read && error.code == ErrorCode::bad_checksum)
      met_ = Met{Met::During::take, id, error, now};
    return error;
  }
  return {};
}

}  // namespace s5066::acp142
