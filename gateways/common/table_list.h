// SPDX-License-Identifier: Apache-2.0
// The list of the tables of a spool is kept in a file beside the spool. SQLite has its own list on
// the first pages of the database and finds no row without it, so one damaged page would cost all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

class TableList {
 public:
  /// `spool` is the path of the database. The list has the name of the spool with ".tables".
  explicit TableList(std::string spool) : spool_(std::move(spool)), file_(spool_ + ".tables") {}

  /// Writes the list of the tables as they are now. Call this at each start, when the schema of the
  /// spool is as this program wants it.
  Result<void> keep() const;

  /// False if this connection to the spool lacks a table of the list. True if there is no list, or
  /// the spool has another version of the schema.
  bool is_complete(Database& spool) const;

  /// Makes a copy of the spool in which SQLite has this list. The copy has all that is in the WAL.
  Result<void> copy_spool(const std::string& copy) const;

 private:
  struct Content {
    std::int64_t page_octets = 0;
    std::int64_t version = 0;  // version of the schema
    struct Row {
      std::string type, name, table, sql;
      std::int64_t root = 0;
      friend bool operator==(const Row&, const Row&) = default;
    };
    std::vector<Row> rows;
    friend bool operator==(const Content&, const Content&) = default;
  };

  static Result<Content> read(const std::string& path, const std::string& table);
  Result<Content> kept() const { return read(file_, "list"); }
  static Result<void> write(const std::string& path, const Content& content);
  static Result<void> put_first_page(const std::string& copy, const Content& content, bool wal);
  static Result<void> put_rows(const std::string& copy, const Content& content);

  std::string spool_;
  std::string file_;
};

/// Keeps the list of this spool, and writes a line to the log if that fails.
void keep_table_list(LogSink& log, const std::string& spool);

}  // namespace s5066::gateways
