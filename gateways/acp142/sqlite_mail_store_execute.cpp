// SPDX-License-Identifier: Apache-2.0
// How requests become commits, and what becomes of a message that the disk does not give back: it
// costs itself, and nobody else.
#include <algorithm>
#include <iterator>
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

UtcSeconds said_now(const MailOperation& operation) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.now; }) {
          return one.now;
        } else {
          return UtcSeconds{};
        }
      },
      operation);
}

}  // namespace

// Old messages go by commits of their own, and everything else together.
std::vector<MailResult> SqliteMailStore::execute(const std::vector<MailRequest>& requests) {
  const auto is_apart = [](const MailRequest& request) {
    const auto* purge = std::get_if<PurgeMail>(&request.operation);
    return purge != nullptr && purge->part == PurgeMail::Part::mails;
  };
  if (std::none_of(requests.begin(), requests.end(), is_apart)) {
    return execute_with_reserve(requests);
  }
  std::vector<MailResult> all;
  for (auto at = requests.begin(); at != requests.end();) {
    const auto apart = std::find_if(at, requests.end(), is_apart);
    auto results = execute_with_reserve({at, apart});
    all.insert(all.end(), std::move_iterator(results.begin()), std::move_iterator(results.end()));
    if (apart == requests.end()) break;
    all.push_back(purge_mails(apart->ticket, said_now(apart->operation)));
    at = apart + 1;
  }
  say_what_was_done(all.front());
  return all;
}

void SqliteMailStore::say_what_was_done(MailResult& result) {
  const auto say = [](std::vector<std::string>& to, std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
  };
  say(result.mended, mended_);
  say(result.left_out, newly_left_out_);
  result.reserve_used = std::exchange(reserve_used_, false) || result.reserve_used;
}

// Messages under way come before new ones: they get the room that was kept for them.
std::vector<MailResult> SqliteMailStore::execute_with_reserve(
    const std::vector<MailRequest>& requests) {
  auto results = execute_together(requests);
  std::vector<MailRequest> again;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& answer = results[i].answer;
    const bool is_new = std::holds_alternative<AcceptMail>(requests[i].operation);
    if (answer || answer.error().code != ErrorCode::queue_full || is_new) continue;
    again.push_back(requests[i]);
    places.push_back(i);
  }
  if (again.empty() || !give_up_reserve()) return results;
  auto more = execute_together(again);
  for (std::size_t i = 0; i < more.size(); ++i) results[places[i]] = std::move(more[i]);
  return results;
}

bool SqliteMailStore::give_up_reserve() {
  const bool given = reserve_.release();
  reserve_used_ = reserve_used_ || given;
  return given;
}

/// The work can be done again, with the room of the reserve.
bool SqliteMailStore::needs_reserve(const Result<void>& done) {
  return !done && done.error().code == ErrorCode::queue_full && give_up_reserve();
}

// A transaction that has met what cannot be read is begun anew without that message. One that some
// request has spoiled otherwise is divided, for the sake of the other requests.
std::vector<MailResult> SqliteMailStore::execute_together(
    const std::vector<MailRequest>& requests) {
  if (requests.empty()) return {};
  troubles_.clear();
  left_out_now_ = false;
  std::map<MailId, Unread> before = unread_;
  for (const MailRequest& request : requests) {
    const auto* clock = std::get_if<NoteClock>(&request.operation);
    if (clock != nullptr) move_times_in_memory(clock->step);
    now_ = std::max(now_, said_now(request.operation));
    if (std::holds_alternative<Resume>(request.operation)) look_at_indexes();
  }
  auto results = run_mended(requests);
  for (std::size_t rows = 0; !results;) {
    const bool left_out = std::exchange(left_out_now_, false);
    if (!left_out && (!met_ || rows++ == kUnreadAtOnce + stranded_.size())) break;
    if (!left_out && !pass_over(*met_)) break;
    results = run_mended(requests);
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
  }
  std::vector<MailTrouble> troubles = std::exchange(troubles_, {});
  std::vector<MailResult> all;
  if (results) {
    all = std::move(results).value();
  } else if (spoiled_ && requests.size() > 1) {
    for (const MailRequest& request : requests)
      all.push_back(std::move(execute_together({request})[0]));
  } else {
    for (const MailRequest& request : requests)
      all.push_back({request.ticket, results.error(), {}});
  }
  if (!all.empty()) {
    auto& first = all.front().troubles;
    first.insert(first.begin(), troubles.begin(), troubles.end());
    say_what_was_done(all.front());
  }
  return all;
}

// What has not been committed has not changed what we count.
Result<std::vector<MailResult>> SqliteMailStore::run_all(const std::vector<MailRequest>& requests) {
  const Open before = open_;
  auto results = run_in_one_commit(requests);
  if (!results) {
    open_ = before;
    return results;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto id = written_by(requests[i].operation);
    if (!id || !(*results)[i].answer) continue;
    unsaved_.erase(*id);
    keep_content_.erase(*id);
  }
  for (const MailId id : resumed_) stranded_.erase(id);
  for (const MailTrouble& one : parked_) release_marks_apart(one.id);
  troubles_.insert(troubles_.end(), parked_.begin(), parked_.end());
  return results;
}

// A savepoint around each lets one fail without the others.
Result<std::vector<MailResult>> SqliteMailStore::run_in_one_commit(
    const std::vector<MailRequest>& requests) {
  met_.reset();
  parked_.clear();
  resumed_.clear();
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
    spoiled_ = error.code == ErrorCode::bad_checksum || !db_.in_transaction();
    const auto id = written_by(request.operation);
    if (spoiled_ && !met_ && !left_out_now_ && id && !unwritable_.contains(*id)) {
      met_ = Met{written_during(request.operation), *id, error, {}};
    }
    if (spoiled_ || met_) return error;
  }
  if (auto committed = transaction->commit(); !committed) return committed.error();
  return results;
}

SqliteMailStore::Met::During SqliteMailStore::written_during(const MailOperation& operation) {
  if (std::holds_alternative<SaveSubmission>(operation)) return Met::During::begin;
  if (std::holds_alternative<SaveOutcome>(operation)) return Met::During::end;
  return Met::During::told;
}

Result<MailAnswer> SqliteMailStore::run_whole(const MailOperation& operation) {
  if (auto begun = update("SAVEPOINT request"); !begun) return begun.error();
  const Open open_before = open_;
  const std::set<MailId> resumed_before = resumed_;
  auto answer = std::visit([this](const auto& one) { return run(one); }, operation);
  if (!answer) {
    static_cast<void>(db_.execute("ROLLBACK TO request"));
    open_ = open_before;
    resumed_ = resumed_before;
  }
  if (auto released = update("RELEASE request"); !released) {
    return answer ? released.error() : answer.error();
  }
  return answer;
}

/// To be called at once after the error.
Error SqliteMailStore::meet(Met::During during, MailId id, const Error& error, UtcSeconds now) {
  if (!left_out_now_ && db_.cannot_read()) met_ = Met{during, id, error, now};
  return error;
}

/// The same where an index has what its table has not; `road`: of what is taken there, or told of.
Error SqliteMailStore::stray(std::optional<Road> road, MailId id, UtcSeconds now) {
  const Error error{ErrorCode::bad_checksum, "spool: an index does not fit its table"};
  met_ = Met{Met::During::stray, id, error, now, road};
  return error;
}

/// Of the entries that a message has the row says whether they are right.
bool SqliteMailStore::is_stray(Road road, MailId id) {
  if (!strays_.contains({road, id})) return false;
  auto row = db_.prepare(
      "SELECT 1 FROM mail WHERE id = ? AND road = ? AND state IN ('incoming', 'deferred')");
  if (!row) return false;
  const auto waits = row->bind(id.value).bind_text(to_string(road)).step();
  return waits && !*waits;
}

/// From now on. False where it has been before.
bool SqliteMailStore::leave_out(const char* table) {
  if (!left_out_.insert(table).second) return false;
  newly_left_out_.emplace_back(table);
  return true;
}

bool SqliteMailStore::is_passed_over(MailId id, UtcSeconds now) const {
  const auto at = unread_.find(id);
  return at != unread_.end() && at->second.again > now;
}

/// False where it would be the same again.
bool SqliteMailStore::pass_over(const Met& met) {
  using During = Met::During;
  if (met.during == During::begin || met.during == During::end || met.during == During::told) {
    return blame(met);
  }
  const bool damaged = met.error.code == ErrorCode::bad_checksum;
  if (met.during == During::stray) {
    if (!strays_.insert({met.road, met.id}).second) return false;
    troubles_.push_back({met.id, met.error.detail, false});
    return true;
  }
  if (met.during == During::mark) {
    return damaged && !is_sound("mail_seen") && leave_out("mail_seen");
  }
  MailTrouble trouble{met.id, "cannot be read: " + met.error.detail, false};
  if (met.during == During::tell) {
    untold_[met.id].value = met.now.value + (damaged ? kTellAgainS : kReadAgainMinS);
  } else {
    Unread& one = unread_[met.id];
    if (++one.failures == 1) one.since = met.now;
    const bool long_enough =
        one.failures >= kReadFailuresMax && met.now.value - one.since.value >= kReadFailuresS;
    const bool its_own = !is_readable(met.id);
    if (!its_own) trouble.reason = "cannot be taken: " + met.error.detail;
    const bool written = its_own && (damaged || long_enough) && park_apart(met.id, trouble.reason);
    trouble.parked = written || (damaged && its_own);
    if (written) {
      stranded_.contains(met.id) ? forget_marks_apart(met.id) : release_marks_apart(met.id);
      unread_.erase(met.id);
    } else {
      const std::int64_t wait = kReadAgainMinS << std::min(one.failures - 1, 6u);
      one.again.value = met.now.value + std::min(wait, kReadAgainMaxS);
      if (damaged && its_own) one.again = kNever;  // its row cannot be written, either
    }
  }
  troubles_.push_back(std::move(trouble));
  return true;
}

// A message that can be read is not to blame where it cannot be written: it shares pages with all
// others, of indexes, counters and what is free. Parked it would be requeued one day, though what
// the transaction was to keep may be that it has been delivered.
bool SqliteMailStore::blame(const Met& met) {
  const bool damaged = met.error.code == ErrorCode::bad_checksum;
  // What became of it matters; its content, readable or not, is only in the way.
  const bool try_less = damaged && met.during == Met::During::end;
  if (try_less && keep_content_.insert(met.id).second) return true;
  if (is_readable(met.id)) {
    if (met.during == Met::During::told) return false;
    const auto item = read_row(met.id);
    unsaved_[met.id] = item && *item ? std::optional((*item)->road) : std::nullopt;
    return false;
  }
  if (!damaged) return false;  // the disk may be well again
  unwritable_.insert(met.id);
  unsaved_.erase(met.id);
  MailTrouble trouble{met.id, "cannot be read: " + met.error.detail, true};
  static_cast<void>(park_apart(met.id, trouble.reason));
  troubles_.push_back(std::move(trouble));
  return true;
}

/// As it was accepted, or gone.
bool SqliteMailStore::is_readable(MailId id) {
  auto item = read_row(id);
  if (!item) return false;
  if (!*item) return true;
  auto intact = read_rest(**item);
  while (!intact && std::exchange(left_out_now_, false)) intact = read_rest(**item);
  return intact && *intact;
}

/// Whether something can be begun: what becomes of it has to be kept. `road`: on that one.
Result<void> SqliteMailStore::need_sound_spool(std::optional<Road> road) const {
  for (const auto& [id, other] : unsaved_) {
    if (road && other && *other != *road) continue;
    return Error{ErrorCode::io, "what became of message " + std::to_string(id.value) +
                                    " cannot be written, though it can be read"};
  }
  return {};
}

bool SqliteMailStore::park_apart(MailId id, const std::string& reason) {
  auto transaction = Transaction::begin(db_);
  return transaction && park(id, reason) && transaction->commit();
}

Result<void> SqliteMailStore::park(MailId id, const std::string& reason) {
  open_.stale = true;
  return update(
      "UPDATE mail SET state = 'corrupt', reason = ?, delay_utc = 0 WHERE id = ? AND state <> "
      "'corrupt'",
      reason, id.value);
}

// --- Start ---------------------------------------------------------------------------------------

Result<void> SqliteMailStore::note_active() {
  auto rows = db_.prepare("SELECT id FROM mail WHERE state = 'active'");
  if (!rows) return rows.error();
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    stranded_.insert({rows->integer(0)});
  }
}

// Message by message: one that the disk cannot read must not keep the others back. It is still
// 'active' then, which nobody takes, and comes here again. Whom it has reached by now nobody knows,
// so that no copy will be taken for the first.
Result<void> SqliteMailStore::resume_stranded(UtcSeconds now) {
  for (const MailId id : stranded_) {
    if (is_passed_over(id, now) || resumed_.contains(id)) continue;
    auto done = update(
        "UPDATE mail SET state = 'deferred', next_try_utc = ? WHERE id = ? AND state = 'active'",
        now.value, id.value);
    if (done) done = unless_damaged("mail_mark", [&] { return forget_marks(id); });
    if (!done) return meet(Met::During::take, id, done.error(), now);
    resumed_.insert(id);
  }
  return {};
}

}  // namespace s5066::acp142
