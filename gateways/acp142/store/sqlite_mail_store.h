// SPDX-License-Identifier: Apache-2.0
// The spool of the mail gateway: the tables `mail…` of the spool that gateways share. Many requests
// are committed at once, each of them whole or not at all. A result that is no error has been
// committed. Not for two threads at once; several may have the same spool open.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/store/mail_marks.h"
#include "gateways/acp142/store/mail_queries.h"
#include "gateways/acp142/store/mail_rows.h"
#include "gateways/common/disk_reserve.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

class SqliteMailStore {
 public:
  using Request = MailRequest;
  using Outcome = MailResult;

  struct Config {
    std::string path;  // path of the database file
    std::uint64_t open_mails_max = 200000;
    std::uint64_t open_octets_max = 4ull << 30;  // limit for the content of open messages
    /// Part of both limits for each step of precedence above routine.
    std::uint32_t reserve_percent = 0;
    std::int64_t duplicate_window_s = 2 * 86400;  // marks are known for that long
    std::int64_t keep_finished_s = 7 * 86400;
    // Kept free on the disk in a file beside the database, for what is under way; 0: nothing.
    std::uint64_t reserve_octets = 0;
    const char* vfs = nullptr;  // set by tests
  };
  static Result<SqliteMailStore> open(const Config& config);

  /// The reason why this spool must be used no more, once there is one: then the process ends, and
  /// the next start recovers the spool.
  const std::optional<Error>& damage() const { return db_->damage(); }

  /// False while the disk is too full for new messages; those that are there are served all the
  /// same.
  bool has_reserve() const { return reserve_.held(); }

  std::vector<MailResult> execute(const std::vector<MailRequest>& requests);

  /// Carries out a command of an operator. `refused` where the state of the message does not allow
  /// it. One that is active can be changed only where the mail core says that it is `under_way`
  /// there; it is not taken again before the core has saved the end of its attempt.
  Result<void> change(SpoolChange asked, MailId id, UtcSeconds now, bool under_way = false);
  Result<void> set_silence(NodeId node, bool silent);

  // MailQueries says what these return.
  Result<std::vector<MailItem>> list(std::uint32_t items_max) { return queries_.list(items_max); }
  Result<std::vector<MailItem>> list(const MailFilter& filter, std::uint32_t items_max) {
    return queries_.list(filter, items_max);
  }
  Result<std::vector<MailId>> trace(std::string_view word, std::uint32_t items_max) {
    return queries_.trace(word, items_max);
  }
  Result<MailCourse> course(MailId id) { return queries_.course(id); }
  Result<std::vector<MailId>> relatives(MailId id) { return queries_.relatives(id); }
  Result<std::map<NodeId, WaitingMail>> waiting() { return queries_.waiting(); }
  Result<std::optional<MailItem>> find(MailId id) { return queries_.find(id); }
  Result<std::vector<StationRow>> stations() { return queries_.stations(); }
  Result<std::map<NodeId, bool>> silences() { return queries_.silences(); }

 private:
  SqliteMailStore(const Config& config, gateways::Database db);

  Result<MailAnswer> run(const AcceptMail& operation);
  Result<MailAnswer> run(const TakeDue& operation);
  Result<MailAnswer> run(const SaveSubmission& operation);
  Result<MailAnswer> run(const SaveOutcome& operation);
  Result<MailAnswer> run(const TakeDelayed& operation);
  Result<MailAnswer> run(const SaveDelayed& operation);
  Result<MailAnswer> run(const SaveStation& operation);
  Result<MailAnswer> run(const WakeMail& operation);
  Result<MailAnswer> run(const Resume& operation);
  Result<MailAnswer> run(const PurgeMail& operation);
  Result<MailAnswer> run(const NoteClock& operation);

  /// Messages that wait or are under way, as far as this connection knows.
  struct Open {
    std::uint64_t mails = 0;
    std::uint64_t octets = 0;
    bool stale = true;  // something was done that is not counted
    /// Version of the database, which changes of other connections raise.
    std::int64_t version = 0;
  };
  /// How far the search for what is due has come within one request: what is before it is taken, or
  /// cannot be.
  struct Search {
    int priority = 0;
    std::size_t state = 0;
    std::int64_t next_try = std::numeric_limits<std::int64_t>::min();
    std::int64_t id = 0;
    std::optional<DeliveryRoom> room{};
    std::vector<NodeId> stations{};  // stations of the messages that were found
  };

  std::vector<MailResult> execute_with_reserve(const std::vector<MailRequest>& requests);
  std::vector<MailResult> execute_together(const std::vector<MailRequest>& requests);
  Result<std::vector<MailResult>> run_in_one_commit(const std::vector<MailRequest>& requests);
  Result<MailAnswer> run_whole(const MailOperation& operation);
  bool give_up_reserve();
  bool needs_reserve(const Error& error);
  Result<void> count_open();
  Result<void> recount_if_stale();
  Result<void> need_room(const std::vector<NewMail>& mails);
  Result<MailId> insert(const NewMail& mail, UtcSeconds now, bool check_marks, MailId first = {});
  Result<bool> take_one(const TakeDue& operation, Search& search, std::vector<MailItem>& items);
  Result<std::optional<MailId>> next_due(const TakeDue& operation, Search& search);
  Result<std::optional<MailId>> next_late(const TakeDue& operation);
  Result<std::vector<NodeId>> open_stations(MailId id);
  Result<void> park(MailId id);
  Result<void> finish(MailId id, UtcSeconds now);
  Result<MailAnswer> purge_mails(UtcSeconds now);
  Result<void> read_counter(Resumed& resumed);
  Result<void> read_heard(Resumed& resumed);
  Result<void> read_received(UtcSeconds now, Resumed& resumed);
  Result<void> follow_clock_put_back(UtcSeconds now);
  Result<void> move_times(std::chrono::seconds step);
  template <typename... Values>
  Result<void> update(const char* sql, const Values&... values) {
    return acp142::update(*db_, sql, values...);
  }

  Config config_;
  std::unique_ptr<gateways::Database> db_;
  gateways::DiskReserve reserve_;
  MailRows rows_;
  MailMarks marks_;
  MailQueries queries_;
  bool reserve_used_ = false;  // true if this is not reported yet
  bool spoiled_ = false;       // the last transaction, so that it could not be committed
  Open open_;
  std::vector<MailTrouble> parked_;  // messages that the present request has parked
};

}  // namespace s5066::acp142
