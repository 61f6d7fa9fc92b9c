// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/file_recovery.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gateways/common/sha256.h"

namespace s5066::gateways {
namespace {

struct Parked {
  std::int64_t id = 0;
  std::string what;
};

std::string file_name(std::int64_t id, const std::string& name, const std::string& destination) {
  return "file " + std::to_string(id) + " " + name + " to " + destination;
}

/// Returns the files that wait to be sent and are not what was accepted.
Result<std::vector<Parked>> find_unsound(Database& fresh) {
  auto rows = fresh.prepare(
      "SELECT id, name, destination, state, size, sha256, content FROM outgoing LEFT JOIN "
      "outgoing_content USING (id) WHERE state NOT IN " +
      states(is_over) + " AND state <> 'corrupt'");
  if (!rows) return rows.error();
  std::vector<Parked> found;
  const auto done = rows->each([&] {
    const Bytes content = rows->blob(6);
    const bool sound = parse_address(rows->text(2)) && parse_spool_state(rows->text(3)) &&
                       rows->integer(4) == static_cast<std::int64_t>(content.size()) &&
                       rows->blob(5) == sha256_of(content);
    if (sound) return;
    found.push_back({rows->integer(0), file_name(rows->integer(0), rows->octets(1), rows->text(2)) +
                                           ": it is not what was accepted"});
  });
  if (!done) return done.error();
  return found;
}

/// Returns the numbers of contents whose row is lost. Delivered files have no content.
Result<std::vector<std::int64_t>> contents_without_file(Database& fresh) {
  auto rows = fresh.prepare("SELECT id FROM outgoing_content EXCEPT SELECT id FROM outgoing");
  if (!rows) return rows.error();
  return rows->collect([&] { return rows->integer(0); });
}

/// Takes the files from the last copy of the spool that waited then, and whose rows are lost now.
/// They may have been sent since, so they are held for the operator.
Result<void> take_files_from_backup(Database& fresh, SpoolReport& report) {
  std::vector<std::pair<std::int64_t, std::string>> files;
  {
    auto rows =
        fresh.prepare("SELECT id, name, destination FROM backup.outgoing WHERE state NOT IN " +
                      states(is_over) + " AND id NOT IN (SELECT id FROM main.outgoing)");
    if (!rows) return rows.error();
    const auto done = rows->each([&] {
      const std::int64_t id = rows->integer(0);
      if (!report.has_gap("outgoing", id)) return;
      files.emplace_back(id, file_name(id, rows->octets(1), rows->text(2)));
    });
    if (!done) return done.error();
  }
  for (const auto& [id, name] : files) {
    for (const char* sql :
         {"INSERT INTO outgoing SELECT * FROM backup.outgoing WHERE id = ?",
          "UPDATE outgoing SET state = 'held', reason = 'damaged spool: it may have been sent' "
          "WHERE id = ?",
          "INSERT OR IGNORE INTO outgoing_content SELECT * FROM backup.outgoing_content WHERE id = "
          "?",
          "INSERT OR IGNORE INTO outgoing_priority SELECT * FROM backup.outgoing_priority WHERE "
          "item = ?",
          "INSERT OR IGNORE INTO outgoing_p_mul SELECT * FROM backup.outgoing_p_mul WHERE item = "
          "?"}) {
      auto put = fresh.prepare(sql);
      if (!put) return put.error();
      if (auto done = put->bind(id).run(); !done) return done;
    }
    report.held.push_back(name +
                          ": it is as in the last copy of the spool, and may have been sent since");
  }
  if (!report.has_gap("received")) return {};
  return fresh.execute("INSERT OR IGNORE INTO received SELECT * FROM backup.received");
}

/// The content of a file never changes, so that of the copy is right if its hash is.
Result<bool> take_content(Database& fresh, std::int64_t id) {
  auto row = fresh.prepare(
      "SELECT sha256, content FROM main.outgoing JOIN backup.outgoing_content USING (id) WHERE id "
      "= ?");
  if (!row) return row.error();
  const auto found = row->bind(id).step();
  if (!found) return found.error();
  if (!*found) return false;
  const Bytes content = row->blob(1);
  if (row->blob(0) != sha256_of(content)) return false;
  auto put = fresh.prepare("INSERT OR REPLACE INTO outgoing_content VALUES (?, ?)");
  if (!put) return put.error();
  auto done = put->bind(id).bind_blob(ByteSpan(content)).run();
  return done ? Result<bool>(true) : done.error();
}

}  // namespace

Result<void> review_files(Database& fresh, SpoolReport& report) {
  if (!report.backup.empty()) {
    if (auto taken = take_files_from_backup(fresh, report); !taken) return taken;
    const auto damaged = find_unsound(fresh);
    if (!damaged) return damaged.error();
    for (const Parked& one : *damaged) {
      if (const auto taken = take_content(fresh, one.id); !taken) return taken.error();
    }
  }
  const auto unsound = find_unsound(fresh);
  if (!unsound) return unsound.error();
  for (const Parked& one : *unsound) {
    auto park = fresh.prepare(
        "UPDATE outgoing SET state = 'corrupt', reason = 'damaged spool' WHERE id = ?");
    if (!park) return park.error();
    if (auto done = park->bind(one.id).run(); !done) return done;
    report.lost.push_back(one.what);
  }
  const auto orphans = contents_without_file(fresh);
  if (!orphans) return orphans.error();
  for (const std::int64_t id : *orphans) {
    report.lost.push_back("file " + std::to_string(id) + ": its row cannot be read");
  }
  for (const char* sql :
       {"DELETE FROM outgoing_content WHERE id NOT IN (SELECT id FROM outgoing)",
        "DELETE FROM outgoing_try WHERE item NOT IN (SELECT id FROM outgoing)",
        "DELETE FROM outgoing_priority WHERE item NOT IN (SELECT id FROM outgoing)",
        "DELETE FROM outgoing_file WHERE item NOT IN (SELECT id FROM outgoing)",
        "DELETE FROM outgoing_p_mul WHERE item NOT IN (SELECT id FROM outgoing)",
        "DELETE FROM transfer_p_mul WHERE transfer NOT IN (SELECT id FROM transfer_in)",
        "DELETE FROM outgoing_image",  // the image is made again from the file
        "DELETE FROM transfer_block WHERE transfer NOT IN (SELECT id FROM transfer_in)"}) {
    if (auto done = fresh.execute(sql); !done) return done;
  }
  if (report.has_gap("received")) {
    report.lost.push_back(
        "numbers of some received files: one that its station sends again may be stored twice");
  }
  return {};
}

}  // namespace s5066::gateways
