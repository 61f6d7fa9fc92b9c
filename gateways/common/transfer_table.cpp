// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/transfer_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gateways/common/block_digests.h"
#include "gateways/common/sha256.h"

namespace s5066::gateways {
namespace {

std::string select_rows(std::string_view rest) {
  return "SELECT id, source, number, updu_id, state, manifest, failures, received, changed_utc, "
         "begun_utc FROM transfer_in " +
         std::string(rest);
}

Bytes encoded(const TransferManifest& manifest) {
  Bytes octets;
  encode(manifest, octets);
  return octets;
}

}  // namespace

// The database may have been damaged or edited: every field is checked before it is believed.
Result<TransferTable::Row> TransferTable::read(const Statement& from) {
  Row row;
  row.id = from.integer(0);
  const std::int64_t source = from.integer(1);
  const std::int64_t number = from.integer(2);
  const std::int64_t updu_id = from.integer(3);
  const std::int64_t failures = from.integer(6);
  auto manifest = decode_manifest(from.blob(5));
  const bool good = source >= 0 && source <= Address::kMax && number >= 0 && number <= UINT32_MAX &&
                    updu_id >= 0 && updu_id <= 255 && failures >= 0 && failures <= UINT32_MAX &&
                    manifest;
  if (!good) return Error{ErrorCode::bad_field, "row of a transfer"};
  row.key = {Address{static_cast<std::uint32_t>(source)}, static_cast<std::uint32_t>(number)};
  row.updu_id = static_cast<std::uint8_t>(updu_id);
  row.done = from.text(4) == "done";
  row.manifest = std::move(manifest).value();
  row.failures = static_cast<std::uint32_t>(failures);
  row.received = from.integer(7);
  row.changed.value = from.integer(8);
  row.begun.value = from.integer(9);
  return row;
}

Result<std::optional<TransferTable::Row>> TransferTable::find(const TransferKey& key) {
  std::int64_t unreadable = 0;
  {
    auto row = db_.prepare(select_rows("WHERE source = ? AND number = ?"));
    if (!row) return row.error();
    const auto found = row->bind(key.source.value).bind(key.number).step();
    if (!found) return found.error();
    if (!*found) return std::optional<Row>();
    auto read_row = read(*row);
    if (read_row) return std::optional<Row>(std::move(read_row).value());
    unreadable = row->integer(0);
  }
  if (auto gone = drop(unreadable); !gone) return gone.error();
  return std::optional<Row>();
}

Result<std::vector<TransferTable::Row>> TransferTable::open_rows(std::uint32_t rows_max) {
  return list_open("id NOT IN (SELECT transfer FROM transfer_p_mul)", rows_max);
}

Result<std::vector<TransferTable::Row>> TransferTable::open_rows_by_p_mul(std::uint32_t rows_max) {
  return list_open("id IN (SELECT transfer FROM transfer_p_mul)", rows_max);
}

Result<std::vector<TransferTable::Row>> TransferTable::list_open(std::string_view where,
                                                                 std::uint32_t rows_max) {
  auto rows = db_.prepare(
      select_rows("WHERE state = 'open' AND " + std::string(where) + " ORDER BY id DESC LIMIT ?"));
  if (!rows) return rows.error();
  rows->bind(rows_max);
  std::vector<Row> found;
  const auto done = rows->each([&] {
    if (auto read_row = read(*rows)) found.push_back(std::move(read_row).value());
  });
  if (!done) return done.error();
  return found;
}

Result<TransferTable::Use> TransferTable::use_of(Address source) {
  auto row = db_.prepare(
      "SELECT count(*), coalesce(sum(image_octets), 0) FROM transfer_in WHERE source = ? AND state "
      "= 'open'");
  if (!row) return row.error();
  if (const auto found = row->bind(source.value).step(); !found) return found.error();
  return Use{static_cast<std::uint64_t>(row->integer(0)),
             static_cast<std::uint64_t>(row->integer(1))};
}

Result<std::uint64_t> TransferTable::file_octets_of(Address source, std::int64_t before) {
  auto rows = db_.prepare(
      select_rows("WHERE source = ?1 AND state = 'open' AND received = 0 AND (?2 = 0 OR id < ?2)"));
  if (!rows) return rows.error();
  rows->bind(source.value).bind(before);
  std::uint64_t octets = 0;
  const auto done = rows->each([&] {
    if (const auto row = read(*rows)) octets += row->manifest.size;
  });
  if (!done) return done.error();
  return octets;
}

Result<std::int64_t> TransferTable::insert(const OpenTransfer& offer) {
  auto put = db_.prepare(
      "INSERT INTO transfer_in (source, number, updu_id, state, manifest, sha256, image_octets, "
      "begun_utc, changed_utc) VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?)");
  if (!put) return put.error();
  put->bind(offer.key.source.value)
      .bind(offer.key.number)
      .bind(offer.updu_id)
      .bind_blob(ByteSpan(encoded(offer.manifest)))
      .bind_blob(ByteSpan(offer.manifest.sha256))
      .bind(offer.manifest.image_octets)
      .bind(offer.now.value)
      .bind(offer.now.value);
  if (auto done = put->run(); !done) return done.error();
  return db_.last_insert_id();
}

Result<void> TransferTable::update(const Row& row, const OpenTransfer& offer) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  if (!row.manifest.has_same_image(offer.manifest)) {
    if (auto removed = remove_octets(row.id); !removed) return removed;
  }
  // The file that an earlier call has put into the inbox is not the one that is offered now.
  auto put = db_.prepare(
      "UPDATE transfer_in SET received = iif(sha256 = ?2, received, 0), manifest = ?1, sha256 = "
      "?2, image_octets = ?3, updu_id = ?4, changed_utc = ?5, begun_utc = iif(sha256 = ?2, "
      "begun_utc, ?5) WHERE id = ?6");
  if (!put) return put.error();
  put->bind_blob(ByteSpan(encoded(offer.manifest)))
      .bind_blob(ByteSpan(offer.manifest.sha256))
      .bind(offer.manifest.image_octets)
      .bind(offer.updu_id)
      .bind(offer.now.value)
      .bind(row.id);
  if (auto done = put->run(); !done) return done;
  return transaction->commit();
}

Result<void> TransferTable::save(const SaveBlocks& operation) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  std::int64_t id = 0;
  {
    auto row = db_.prepare(
        "SELECT id FROM transfer_in WHERE source = ? AND number = ? AND state = 'open'");
    if (!row) return row.error();
    const auto found = row->bind(operation.key.source.value).bind(operation.key.number).step();
    if (!found) return found.error();
    if (!*found) return Error{ErrorCode::not_found, "the transfer is not open"};
    id = row->integer(0);
  }
  for (const SaveBlocks::Block& block : *operation.blocks) {
    auto put = db_.prepare(
        "INSERT INTO transfer_block (transfer, at, content) VALUES (?, ?, ?) ON CONFLICT DO UPDATE "
        "SET content = excluded.content WHERE length(excluded.content) > length(content)");
    if (!put) return put.error();
    if (auto done = put->bind(id).bind(block.at).bind_blob(ByteSpan(block.octets)).run(); !done) {
      return done;
    }
  }
  auto touch = db_.prepare("UPDATE transfer_in SET changed_utc = ? WHERE id = ?");
  if (!touch) return touch.error();
  if (auto done = touch->bind(operation.now.value).bind(id).run(); !done) return done;
  return transaction->commit();
}

Result<RangeSet> TransferTable::have(std::int64_t id) {
  auto rows = db_.prepare("SELECT at, length(content) FROM transfer_block WHERE transfer = ?");
  if (!rows) return rows.error();
  rows->bind(id);
  RangeSet have;
  const auto done = rows->each([&] {
    const auto at = static_cast<std::uint64_t>(std::max<std::int64_t>(rows->integer(0), 0));
    have.add({at, at + static_cast<std::uint64_t>(rows->integer(1))});
  });
  if (!done) return done.error();
  return have;
}

Result<Bytes> TransferTable::octets(const Row& row) {
  Bytes image(row.manifest.image_octets);
  auto rows = db_.prepare("SELECT at, content FROM transfer_block WHERE transfer = ? ORDER BY at");
  if (!rows) return rows.error();
  rows->bind(row.id);
  const auto done = rows->each([&] {
    const Bytes content = rows->blob(1);
    const std::int64_t at = rows->integer(0);
    if (at < 0 || static_cast<std::uint64_t>(at) + content.size() > image.size()) return;
    std::copy(content.begin(), content.end(), image.begin() + at);
  });
  if (!done) return done.error();
  return image;
}

Result<void> TransferTable::note_p_mul(std::int64_t row, const ByPMul& by) {
  auto put = db_.prepare(
      "INSERT INTO transfer_p_mul (transfer, until_utc, holes, awaits_head) VALUES (?, ?, ?, ?) ON "
      "CONFLICT DO UPDATE SET until_utc = max(until_utc, excluded.until_utc), holes = "
      "excluded.holes");
  if (!put) return put.error();
  return put->bind(row)
      .bind(by.until.value)
      .bind(by.holes ? 1 : 0)
      .bind(by.awaits_head ? 1 : 0)
      .run();
}

Result<std::optional<TransferTable::ByPMul>> TransferTable::find_p_mul(std::int64_t id) {
  auto row = db_.prepare(
      "SELECT until_utc, holes, awaits_head, rest_over FROM transfer_p_mul WHERE transfer = ?");
  if (!row) return row.error();
  const auto found = row->bind(id).step();
  if (!found) return found.error();
  if (!*found) return std::optional<ByPMul>();
  return std::optional<ByPMul>(
      {{row->integer(0)}, row->integer(1) != 0, row->integer(2) != 0, row->integer(3) != 0});
}

Result<void> TransferTable::end_message(std::int64_t id, bool acknowledged) {
  auto put =
      db_.prepare(acknowledged ? "UPDATE transfer_p_mul SET awaits_head = 0 WHERE transfer = ?"
                               : "UPDATE transfer_p_mul SET rest_over = 1 WHERE transfer = ?");
  if (!put) return put.error();
  return put->bind(id).run();
}

Result<std::vector<TransferTable::Overdue>> TransferTable::overdue(UtcSeconds now) {
  auto rows = db_.prepare(
      "SELECT id, source, number, updu_id, state, manifest, failures, received, changed_utc, "
      "begun_utc, holes FROM transfer_in JOIN transfer_p_mul ON transfer = id WHERE state = 'open' "
      "AND until_utc < ?");
  if (!rows) return rows.error();
  rows->bind(now.value);
  std::vector<Overdue> found;
  const auto done = rows->each([&] {
    if (auto row = read(*rows)) {
      found.push_back({std::move(row).value(), rows->integer(10) != 0});
    }
  });
  if (!done) return done.error();
  return found;
}

Result<Bytes> TransferTable::image(const Row& row) {
  auto assembled = octets(row);
  if (!assembled) return assembled.error();
  Bytes& image = *assembled;
  const auto digests = block_digests_of(image, row.manifest.block_size_log2);
  if (digests == row.manifest.block_digests) return assembled;
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  const std::int64_t size = std::int64_t{1} << row.manifest.block_size_log2;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (digests[i] == row.manifest.block_digests[i]) continue;
    const std::int64_t begin = static_cast<std::int64_t>(i) * size;
    auto remove = db_.prepare(
        "DELETE FROM transfer_block WHERE transfer = ? AND at < ? AND at + length(content) > ?");
    if (!remove) return remove.error();
    if (auto done = remove->bind(row.id).bind(begin + size).bind(begin).run(); !done) {
      return done.error();
    }
  }
  if (auto counted = count_failure(row.id); !counted) return counted.error();
  if (auto done = transaction->commit(); !done) return done.error();
  return Error{ErrorCode::bad_checksum, "blocks are not what was offered"};
}

Result<void> TransferTable::reject(const Row& row) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  if (auto removed = remove_octets(row.id); !removed) return removed;
  if (auto counted = count_failure(row.id); !counted) return counted;
  return transaction->commit();
}

Result<void> TransferTable::count_failure(std::int64_t id) {
  auto count = db_.prepare("UPDATE transfer_in SET failures = failures + 1 WHERE id = ?");
  if (!count) return count.error();
  return count->bind(id).run();
}

Result<void> TransferTable::note_received(std::int64_t id, std::int64_t received) {
  auto put = db_.prepare("UPDATE transfer_in SET received = ? WHERE id = ?");
  if (!put) return put.error();
  return put->bind(received).bind(id).run();
}

Result<void> TransferTable::end(std::int64_t id, UtcSeconds now) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  if (auto removed = remove_octets(id); !removed) return removed;
  if (auto removed = remove_p_mul(id); !removed) return removed;
  auto put = db_.prepare("UPDATE transfer_in SET state = 'done', changed_utc = ? WHERE id = ?");
  if (!put) return put.error();
  if (auto done = put->bind(now.value).bind(id).run(); !done) return done;
  return transaction->commit();
}

Result<void> TransferTable::drop(std::int64_t id) {
  auto transaction = Transaction::begin(db_);
  if (!transaction) return transaction.error();
  if (auto removed = remove_octets(id); !removed) return removed;
  if (auto removed = remove_p_mul(id); !removed) return removed;
  auto remove = db_.prepare("DELETE FROM transfer_in WHERE id = ?");
  if (!remove) return remove.error();
  if (auto done = remove->bind(id).run(); !done) return done;
  return transaction->commit();
}

Result<void> TransferTable::remove_octets(std::int64_t id) {
  auto remove = db_.prepare("DELETE FROM transfer_block WHERE transfer = ?");
  if (!remove) return remove.error();
  return remove->bind(id).run();
}

Result<void> TransferTable::remove_p_mul(std::int64_t id) {
  auto remove = db_.prepare("DELETE FROM transfer_p_mul WHERE transfer = ?");
  if (!remove) return remove.error();
  return remove->bind(id).run();
}

Result<bool> TransferTable::drop_oldest(Address source) {
  std::int64_t id = 0;
  {
    auto row = db_.prepare(
        "SELECT id FROM transfer_in WHERE source = ? AND state = 'open' AND received = 0 ORDER BY "
        "changed_utc, id LIMIT 1");
    if (!row) return row.error();
    const auto found = row->bind(source.value).step();
    if (!found) return found.error();
    if (!*found) return false;
    id = row->integer(0);
  }
  if (auto gone = drop(id); !gone) return gone.error();
  return true;
}

Result<void> TransferTable::purge(UtcSeconds open_before, UtcSeconds done_before, UtcSeconds now) {
  std::vector<std::int64_t> ids;
  {
    auto rows = db_.prepare(select_rows("WHERE state = 'open' AND received = 0"));
    if (!rows) return rows.error();
    const auto done = rows->each([&] {
      const auto open = read(*rows);
      const bool given_up = open && open->manifest.expiry_s > 0 &&
                            open->changed.value + open->manifest.expiry_s < now.value;
      if (given_up) ids.push_back(open->id);
    });
    if (!done) return done.error();
  }
  {
    auto rows = db_.prepare(
        "SELECT id FROM transfer_in WHERE (state = 'open' AND changed_utc < ?) OR (state = 'done' "
        "AND changed_utc < ?)");
    if (!rows) return rows.error();
    rows->bind(open_before.value).bind(done_before.value);
    const auto done = rows->each([&] { ids.push_back(rows->integer(0)); });
    if (!done) return done.error();
  }
  for (const std::int64_t id : ids) {
    if (auto done = drop(id); !done) return done;
  }
  return {};
}

}  // namespace s5066::gateways
