// SPDX-License-Identifier: Apache-2.0
// The spool of the mail gateway: the tables `mail…` of the spool that gateways share. Many requests
// are committed at once, each of them whole or not at all. A result that is no error has been
// committed. Not for two threads at once; several may have the same spool open.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/common/disk_reserve.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

class SqliteMailStore {
 public:
  using Request = MailRequest;
  using Outcome = MailResult;

  struct Config {
    std::string path;  // of the database file
    std::uint64_t open_mails_max = 200000;
    std::uint64_t open_octets_max = 4ull << 30;  // of the content of open messages
    std::uint32_t reserve_percent = 0;  // of both, for each step of precedence above routine
    std::int64_t duplicate_window_s = 2 * 86400;  // marks are known for that long
    std::int64_t keep_finished_s = 7 * 86400;
    // Kept free on the disk in a file beside the database, for what is under way; 0: nothing.
    std::uint64_t reserve_octets = 0;
    const char* vfs = nullptr;  // for tests
  };
  static Result<SqliteMailStore> open(const Config& config);

  /// Why an index could not be made that finds quickly what is too late; empty where there is one.
  const std::string& missing_index() const { return missing_index_; }

  /// False while the disk is too full for new messages; those that are there are served all the
  /// same.
  bool has_reserve() const { return reserve_.held(); }

  std::vector<MailResult> execute(const std::vector<MailRequest>& requests);

  /// For operators. `refused` where the state of the message does not allow it. One that is active
  /// can be changed only where the mail core says that it is `under_way` there; it is not taken
  /// again before the core has saved the end of its attempt.
  Result<void> change(OperatorVerb verb, MailId id, UtcSeconds now, bool under_way = false);
  /// The youngest first; no content.
  Result<std::vector<MailItem>> list(std::uint32_t items_max);
  /// The same of what fits, with targets.
  Result<std::vector<MailItem>> list(const MailFilter& filter, std::uint32_t items_max);
  /// The youngest with this number, Message-ID, or address of sender or recipient.
  Result<std::vector<MailId>> trace(std::string_view word, std::uint32_t items_max);
  Result<MailCourse> course(MailId id);
  /// All that were made of the same message, and the reports on them.
  Result<std::vector<MailId>> relatives(MailId id);
  Result<std::map<NodeId, WaitingMail>> waiting();
  Result<std::optional<MailItem>> find(MailId id);
  Result<std::vector<StationRow>> stations();
  /// Returns the stations that an operator has silenced (true) or released; node 0 is this station.
  Result<std::map<NodeId, bool>> silences();
  Result<void> set_silence(NodeId node, bool silent);

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

  /// A message that the transaction could not read.
  struct Met {
    enum class During : std::uint8_t { take, tell, told, begin, end, stray, mark };
    During during = During::take;
    MailId id;
    Error error;
    UtcSeconds now;
    std::optional<Transport> transport{};
  };
  struct Unread {
    std::uint32_t failures = 0;  // in a row
    UtcSeconds since;
    UtcSeconds again;  // not looked at before
  };

  /// Messages that wait or are under way, as far as this connection knows.
  struct Open {
    std::uint64_t mails = 0;
    std::uint64_t octets = 0;
    bool stale = true;         // something was done that is not counted
    std::int64_t version = 0;  // of the database, as other connections change it
  };

  struct Index {
    std::string name;
    std::string table;
    std::string sql;
  };

  std::vector<MailResult> execute_together(const std::vector<MailRequest>& requests);
  std::vector<MailResult> execute_with_reserve(const std::vector<MailRequest>& requests);
  bool give_up_reserve();
  bool needs_reserve(const Result<void>& done);
  Result<std::vector<MailResult>> run_mended(const std::vector<MailRequest>& requests);
  bool mend_indexes();
  Result<std::vector<Index>> indexes();
  void look_at_indexes();
  std::set<std::string> damaged_indexes(const std::vector<Index>& known, const std::string& table);
  bool is_read(const Index& index);
  bool is_sound(const std::string& table);
  Result<void> make_anew(const Index& index);
  Result<std::vector<MailResult>> run_all(const std::vector<MailRequest>& requests);
  Result<std::vector<MailResult>> run_in_one_commit(const std::vector<MailRequest>& requests);
  Result<MailAnswer> run_whole(const MailOperation& operation);
  Error meet(Met::During during, MailId id, const Error& error, UtcSeconds now);
  bool is_passed_over(MailId id, UtcSeconds now) const;
  Error stray(std::optional<Transport> transport, MailId id, UtcSeconds now);
  bool is_stray(Transport transport, MailId id);
  Result<bool> is_late(MailId id, UtcSeconds now);
  static Met::During written_during(const MailOperation& operation);
  bool pass_over(const Met& met);
  bool blame(const Met& met);
  bool is_readable(MailId id);
  Result<void> need_sound_spool(std::optional<Transport> transport) const;
  bool park_apart(MailId id, const std::string& reason);
  Result<bool> is_open_for(MailId id, NodeId station);
  Result<void> note_active();
  Result<void> resume_stranded(UtcSeconds now);
  Result<void> read_counter(Resumed& resumed);
  Result<void> read_stations(Resumed& resumed);
  Result<void> read_heard(Resumed& resumed);
  Result<void> read_received(UtcSeconds now, Resumed& resumed);
  Result<void> follow_clock_put_back(UtcSeconds now);
  Result<void> move_times(std::chrono::seconds step, UtcSeconds now);
  Result<void> move_times_of_mails(std::chrono::seconds step, UtcSeconds now);
  void move_times_in_memory(std::chrono::seconds step);
  Result<MailAnswer> run(const NoteClock& operation);
  Result<void> change_once(OperatorVerb verb, MailId id, UtcSeconds now, bool under_way,
                           bool marks);
  Result<void> requeue(MailId id, UtcSeconds now, bool under_way);
  Result<void> remove(MailId id, bool under_way, bool marks);
  Result<void> count_open();
  Result<void> make_expiry_index();
  Result<std::optional<MailId>> next_expired(const TakeDue& operation);
  Result<void> recount_if_stale();
  Result<void> need_room(const std::vector<NewMail>& mails);
  Result<MailKept::Repeat> note_received(const AcceptMail& operation);
  Result<bool> is_new(const std::string& mark, UtcSeconds now);
  Result<void> note_mark(MailId id, std::int64_t number, const std::string& mark, UtcSeconds now);
  Result<void> release_marks(MailId id);
  void release_marks_apart(MailId id);
  Result<void> forget_marks(MailId id);
  void forget_marks_apart(MailId id);
  void do_apart(const std::function<Result<void>()>& work);
  Result<void> restore_marks(MailId id);
  Result<MailId> insert(const NewMail& mail, UtcSeconds now, bool check_marks, MailId first = {});
  Result<void> note_course(MailId id, MailId first, const NewMail& mail);
  Result<MailId> first_with(const std::string& mark);
  Result<std::vector<MailId>> ids_of(gateways::Statement& rows);
  /// How far the search for what is due has come within one request: what is before it is taken, or
  /// cannot be.
  struct Search {
    int priority = 0;
    std::size_t state = 0;
    std::int64_t next_try = std::numeric_limits<std::int64_t>::min();
    std::int64_t id = 0;
    std::optional<DeliveryRoom> room{};
    std::vector<NodeId> stations{};  // of what was found
  };
  Result<bool> take_one(const TakeDue& operation, Search& search, std::vector<MailItem>& items);
  Result<std::optional<MailId>> next_due(const TakeDue& operation, Search& search);
  Result<std::optional<MailId>> next_late(const TakeDue& operation);
  Result<std::vector<NodeId>> open_stations(MailId id);
  Result<std::optional<MailItem>> read_row(MailId id);
  Result<bool> read_rest(MailItem& item);
  Result<void> read_targets(MailItem& item);
  Result<void> forget_other_form(MailItem& item);
  Result<bool> read_content(MailItem& item);
  MailResult purge_mails(StoreTicket ticket, UtcSeconds now);
  Result<std::vector<std::int64_t>> finished_mails(UtcSeconds now);
  Result<void> erase(MailId id);
  Result<bool> is_over(MailId id, UtcSeconds now);
  Result<void> finish(MailId id, UtcSeconds now);
  Result<void> park(MailId id, const std::string& reason);
  bool leave_out(const char* table);
  void say_what_was_done(MailResult& result);
  template <typename Work>
  Result<void> unless_damaged(const char* table, Work work);
  template <typename... Values>
  Result<void> update(const char* sql, const Values&... values);

  Config config_;
  gateways::Database db_;
  gateways::DiskReserve reserve_;
  bool reserve_used_ = false;  // and not told yet
  std::string missing_index_;
  Open open_;
  std::optional<Met> met_;           // by the last transaction
  bool spoiled_ = false;             // the last transaction, so that it could not be committed
  std::vector<MailTrouble> parked_;  // in it
  std::vector<MailTrouble> troubles_;
  std::map<MailId, Unread> unread_;
  std::map<MailId, UtcSeconds> untold_;  // and not to be tried before
  std::set<MailId> stranded_;            // active since before the start
  std::set<MailId> resumed_;             // of these, in the last transaction
  // Entries that an index lists for a transport, or for a delay report, and that no row confirms.
  std::set<std::pair<std::optional<Transport>, MailId>> strays_;
  std::set<MailId> unwritable_;
  // Messages whose outcome the database could not keep; it is asked for again.
  std::map<MailId, std::optional<Transport>> unsaved_;
  std::set<MailId> keep_content_;                 // its deletion has failed
  std::set<std::string> left_out_;                // tables that it has to do without
  bool left_out_now_ = false;                     // one more, so that it will do the next time
  std::map<MailId, bool> undeletable_;            // and whether that is so for good
  UtcSeconds now_;                                // the latest that a request has had
  std::map<std::string, UtcSeconds> mend_again_;  // an index, not before
  std::vector<std::string> mended_;               // and not told yet
  std::vector<std::string> newly_left_out_;       // and not told yet
  UtcSeconds look_again_;                         // at all indexes
  std::set<std::string> unexplained_;             // tables that were found wrong somewhere
};

}  // namespace s5066::acp142
