// SPDX-License-Identifier: Apache-2.0
// The spool on disk: SQLite for everything but received files, which go to the inbox. A call that
// returns a value has committed; one that returns an error has changed nothing that matters and
// may be repeated. Not for two threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/common/disk_reserve.h"
#include "gateways/common/inbox.h"
#include "gateways/common/sqlite_store_db.h"
#include "gateways/common/store_port.h"
#include "gateways/common/transfer_table.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// A file that the operator hands over.
struct NewItem {
  Address destination;
  std::string name;
  Bytes content;
  UtcSeconds now;
  std::optional<std::uint8_t> priority = std::nullopt;  // 0..15
  std::int64_t mtime = 0;                               // UTC seconds; 0 if unknown
  std::uint16_t mode = 0;                               // permissions; 0 if unknown
  std::uint32_t request = 0;  // number of the `get` of the other station that asks for it
};

/// The rows that an operator wants to see.
struct ListFilter {
  bool over = false;  // includes rows that are over
  std::optional<SpoolState> state = std::nullopt;
  std::optional<Address> destination = std::nullopt;
};

/// A file in the inbox, as it came. An operator may have moved it since.
struct ReceivedFile {
  Address source;
  std::string name;  // name in the inbox
  std::uint64_t size = 0;
  Bytes sha256;
  UtcSeconds received{};
  std::optional<std::chrono::seconds> took;  // time since the offer; BFTP has none
};

class SqliteStore {
 public:
  struct Config {
    std::string path;   // path of the database file
    std::string inbox;  // directory; may be empty for a user that only hands over and looks
    std::size_t file_octets_max = 16u << 20;
    std::size_t open_items_max = 20000;
    std::size_t station_items_max = 2000;  // limit of items for one station
    SendLimits send_limits;                // limits of stations that are not in the next table
    std::map<Address, SendLimits> station_send_limits;
    std::int64_t duplicate_window_s = 2 * 86400;  // reason in decision 0001
    std::int64_t keep_finished_s = 30 * 86400;
    /// Age of files without new octets at which they are forgotten.
    std::int64_t keep_partial_s = 14 * 86400;
    std::size_t station_transfers_max = 64;  // files that one station has begun to send
    std::uint64_t station_transfer_octets_max = 128u << 20;  // octets of all these files
    std::uint8_t first_updu_id = 0;  // for a new spool; random, or peers take new files for old
    /// Room on the disk that is kept for what is in the spool already.
    std::uint64_t reserve_octets = 0;
    bool fills_reserve = true;   // false for users who only hand over and look
    const char* vfs = nullptr;   // a faulty file system in tests
    Inbox::StepHook inbox_hook;  // set by tests
  };

  /// Creates or migrates the database.
  static Result<SqliteStore> open(const Config& config);

  /// Finishes what a power cut left between two steps. The one process that stores received files
  /// calls it after a restart. An error means that some of it has to wait for the inbox.
  Result<void> recover();

  /// Returns an error if the limits do not allow that one more file of so many octets waits for
  /// this station.
  Result<void> check_room(Address destination, std::uint64_t octets);
  /// Accepts a file for sending.
  Result<SpoolId> enqueue(const NewItem& item);
  /// Call after P_MUL was taken out of the configuration. Files that may go by RCOP do so, and the
  /// rest is given up. Returns the rows that were changed.
  Result<std::vector<SpoolItem>> leave_p_mul(UtcSeconds now);
  /// Accepts a file that goes by P_MUL to all these stations, in the place of that of the item: a
  /// row for each, all or none.
  Result<std::vector<SpoolId>> enqueue_by_p_mul(const NewItem& item,
                                                const std::vector<Address>& stations,
                                                const GradeSettings& grade);

  using Request = StoreRequest;
  using Outcome = StoreResult;
  StoreResult execute(const StoreRequest& request);
  /// Executes the requests one after the other. A received file becomes a file of the inbox between
  /// two commits.
  std::vector<StoreResult> execute(const std::vector<StoreRequest>& requests);

  Result<std::optional<SpoolItem>> find(SpoolId id);
  /// Returns the youngest rows, youngest first.
  Result<std::vector<SpoolItem>> list(std::uint32_t items_max);
  Result<std::vector<SpoolItem>> list(const ListFilter& filter, std::uint32_t items_max);
  /// Returns the files by P_MUL of which the spool has a part, the newest first.
  Result<std::vector<OpenTransfers::Transfer>> arriving_by_p_mul(std::uint32_t files_max);
  /// Forgets such a file. Returns false if there is none.
  Result<bool> drop_by_p_mul(const TransferKey& key);
  /// Returns the files that have come, the newest first.
  Result<std::vector<ReceivedFile>> received(std::uint32_t files_max);
  /// Changes a file as an operator wants it and returns the row as it is then. `refused` if the
  /// state of the file does not allow that. Nothing else may be about to change the row.
  Result<SpoolItem> change(SpoolChange change, SpoolId id, UtcSeconds now);
  /// Returns the reason why this spool must be used no more, once there is one: then the process
  /// ends, and the next start recovers the spool.
  const std::optional<Error>& damage() const { return db_.damage(); }
  /// Returns an error if received files cannot be put into the inbox now.
  Result<void> check_inbox() { return inbox_.check_writable(); }
  bool has_reserve() const { return reserve_.held(); }

 private:
  SqliteStore(const Config& config, Database db);

  Result<void> check_disk();
  bool needs_reserve(const Error& error);
  Result<void> check_new(const NewItem& item);
  Result<SpoolId> insert_outgoing(const NewItem& item, Address destination, ByteSpan sha256);
  Result<void> add_p_mul_facts(SpoolItem& item);
  Result<std::uint8_t> begin_first_attempt(const SaveItem& operation);
  Result<void> end_row(SpoolId id);
  Result<SpoolItem> change_once(SpoolChange change, SpoolId id, UtcSeconds now);
  Result<std::uint8_t> choose_updu_id(std::string_view destination, const Statement& row,
                                      UtcSeconds now);
  Result<std::int64_t> try_since_which_enough_arrived(std::string_view destination);

  Result<StoreAnswer> run(const ListOpen& operation);
  Result<StoreAnswer> run(const ReadContent& operation);
  Result<StoreAnswer> run(const SaveItem& operation);
  Result<StoreAnswer> run(const StoreFile& operation);
  Result<StoreAnswer> run(const Purge& operation);
  Result<StoreAnswer> run(const MoveTimes& operation);
  Result<StoreAnswer> run(const PrepareImage& operation);
  Result<StoreAnswer> run(const ReadImage& operation);
  Result<StoreAnswer> run(const OpenTransfer& operation);
  Result<StoreAnswer> run(const SaveBlocks& operation);
  Result<StoreAnswer> run(const FinishTransfer& operation);
  Result<StoreAnswer> run(const DropTransfer& operation);
  Result<StoreAnswer> run(const ListTransfers& operation);
  Result<StoreAnswer> run(const ListInbox& operation);
  Result<StoreAnswer> run(const StatInbox& operation);
  Result<StoreAnswer> run(const RemoveFromInbox& operation);
  Result<StoreAnswer> run(const SendFromInbox& operation);
  Result<StoreAnswer> run(const FindOpen& operation);
  Result<StoreAnswer> run(const ReleaseSuspended& operation);
  Result<StoreAnswer> run(const TakeMessage& operation);
  Result<StoreAnswer> run(const EndOverdue& operation);
  Result<StoreAnswer> run(const ListNames& operation);

  Result<Bytes> read_outgoing(SpoolId id);
  std::uint64_t arriving_max(const StationQuota& quota) const;
  /// Upper limit of the files that a station has in the inbox: those that were counted last, and
  /// all that came since.
  struct InboxUse {
    std::uint64_t octets = 0;
    std::int64_t last_row = 0;
    std::optional<UtcSeconds> counted;
  };
  Result<std::optional<std::string>> inbox_quota_problem(Address source, std::uint64_t octets,
                                                         std::uint64_t arriving,
                                                         const StationQuota& quota, UtcSeconds now);
  Result<std::optional<std::string>> offer_quota_problem(const OpenTransfer& operation,
                                                         std::int64_t row);
  Result<void> add_received_since(Address source, InboxUse& use);
  Result<std::uint64_t> count_inbox(Address source);
  Result<std::set<std::int64_t>> rows_of_inbox(std::int64_t before);
  Result<std::optional<TransferNews>> finish_without_octets(const TransferTable::Row& row,
                                                            const FinishTransfer& operation);
  Result<TransferNews> go_on(const TransferTable::Row& row, const OpenTransfer& operation);
  Result<TransferNews> begin_transfer(const OpenTransfer& operation);
  Result<std::optional<std::string>> find_by_bftp(const OpenTransfer& operation);
  Result<std::optional<Bytes>> find_content(Address source, ByteSpan sha256);
  Result<void> add_signature(const OpenTransfer& operation, TransferNews& news);
  Result<Bytes> file_of(const TransferTable::Row& row, ByteSpan image);
  Result<TransferNews> take_blocks(const TakeMessage& message);
  Result<void> save_within(const TransferTable::Row& row, const TakeMessage& message);
  Result<TransferNews> end_overdue(const TransferTable::Overdue& one, UtcSeconds now);
  Result<TransferNews> end_with_holes(const TransferTable::Row& row, UtcSeconds now);
  Result<void> write_holes(const std::string& inbox_name, const RangeSet& holes);

  struct ReceivedRow {
    std::int64_t id = 0;
    bool delivered = false;
    std::string temporary_name;
    std::string inbox_name;
  };
  Result<std::optional<ReceivedRow>> find_received(const StoreFile& file, ByteSpan sha256,
                                                   std::size_t size);
  Result<bool> has_id_come_round(const StoreFile& file, std::int64_t row);
  Result<ReceivedRow> insert_received(const StoreFile& file, ByteSpan sha256);
  void keep_spare(ByteSpan sha256, const std::string& temporary_name);
  Result<std::string> take_temporary(const StoreFile& file, ByteSpan sha256);
  Result<std::string> finish_received(const ReceivedRow& row);
  Result<void> note_published(std::int64_t row, const std::string& name);
  Result<TransferNews> put_into_inbox(const TransferTable::Row& transfer, Bytes content,
                                      UtcSeconds now, const RangeSet* holes = nullptr);
  Result<TransferNews> publish_transfer(const TransferTable::Row& transfer, const ReceivedRow& row,
                                        UtcSeconds now, const RangeSet* holes = nullptr);
  Result<std::optional<ReceivedRow>> begun_row(const TransferTable::Row& transfer);
  Result<void> park(SpoolId id, std::string_view reason);
  Result<void> purge(const std::string& select, const std::vector<std::string>& remove_if_before,
                     std::int64_t before, const std::set<std::int64_t>& keep = {});

  /// A temporary file whose row could not be written.
  struct Spare {
    Bytes sha256;
    std::string temporary_name;
  };

  Config config_;
  Database db_;
  Inbox inbox_;
  DiskReserve reserve_;
  bool reserve_used_ = false;  // the reserve was given up since the last result
  std::vector<Spare> spares_;
  std::map<Address, InboxUse> inbox_use_;
};

}  // namespace s5066::gateways
