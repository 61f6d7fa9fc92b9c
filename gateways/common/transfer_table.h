// SPDX-License-Identifier: Apache-2.0
// Files that other stations have offered: what has arrived of each, kept in the spool. Each call
// that returns a value has committed. Names and the inbox are the caller's part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gateways/common/sqlite_store_db.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

class TransferTable {
 public:
  struct Row {
    std::int64_t id = 0;
    TransferKey key;
    std::uint8_t updu_id = 0;
    bool done = false;
    TransferManifest manifest;
    std::uint32_t failures = 0;
    std::int64_t received = 0;  // row of the file in the inbox
    UtcSeconds changed;
    UtcSeconds begun{};
  };
  /// The open transfers of one station.
  struct Use {
    std::uint64_t transfers = 0;
    std::uint64_t octets = 0;  // octets of all their images
  };

  explicit TransferTable(Database& db) : db_(db) {}

  Result<std::optional<Row>> find(const TransferKey& key);
  /// Returns open transfers that come by RCOP.
  Result<std::vector<Row>> open_rows(std::uint32_t rows_max);
  /// Returns open transfers of which messages by P_MUL have come.
  Result<std::vector<Row>> open_rows_by_p_mul(std::uint32_t rows_max);
  Result<Use> use_of(Address source);
  /// Returns the octets of the files of the open transfers of one station that have no row in the
  /// inbox yet; only of those that began before the row `before`, if it is not 0.
  Result<std::uint64_t> file_octets_of(Address source, std::int64_t before);
  Result<std::int64_t> insert(const OpenTransfer& offer);
  /// Gives an open transfer another manifest. Its octets stay if the image is the same.
  Result<void> update(const Row& row, const OpenTransfer& offer);
  Result<void> save(const SaveBlocks& blocks);
  Result<RangeSet> have(std::int64_t row);
  /// Returns the image with zeros where octets are missing. Nothing is compared.
  Result<Bytes> octets(const Row& row);
  /// Notes that a transfer comes by P_MUL: its sender cannot be asked for ranges.
  struct ByPMul {
    UtcSeconds until;
    bool holes = false;
    bool awaits_head = false;
    bool rest_over = false;
  };
  Result<void> note_p_mul(std::int64_t row, const ByPMul& by);
  /// Returns nothing if the transfer comes by RCOP.
  Result<std::optional<ByPMul>> find_p_mul(std::int64_t row);
  /// Notes that one of the messages of a transfer is over.
  Result<void> end_message(std::int64_t row, bool acknowledged);
  /// Open transfers by P_MUL whose time is over.
  struct Overdue {
    Row row;
    bool holes = false;
  };
  Result<std::vector<Overdue>> overdue(UtcSeconds now);
  /// Returns the image. If it is not what the manifest says, forgets the blocks with another
  /// digest, or all octets, and returns `bad_checksum`.
  Result<Bytes> image(const Row& row);
  /// Forgets all octets, because they do not give the file.
  Result<void> reject(const Row& row);
  /// Begins no transaction of its own.
  Result<void> note_received(std::int64_t row, std::int64_t received);
  Result<void> end(std::int64_t row, UtcSeconds now);
  Result<void> drop(std::int64_t row);
  /// Forgets the open transfer of a station for which nothing has come for longest. Returns false
  /// if there is none.
  Result<bool> drop_oldest(Address source);
  /// Forgets transfers that nothing has come for, and those that were done, before these times, and
  /// those that their senders have given up by now.
  Result<void> purge(UtcSeconds open_before, UtcSeconds done_before, UtcSeconds now);

 private:
  Result<std::vector<Row>> list_open(std::string_view where, std::uint32_t rows_max);
  Result<void> remove_octets(std::int64_t row);
  Result<void> remove_p_mul(std::int64_t row);
  Result<void> count_failure(std::int64_t row);
  static Result<Row> read(const Statement& row);

  Database& db_;
};

}  // namespace s5066::gateways
