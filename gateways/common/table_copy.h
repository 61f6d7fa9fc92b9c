// SPDX-License-Identifier: Apache-2.0
// Copies one table of a damaged spool into a fresh one, row by row. Rows behind pages that cannot
// be read are found by their keys: from both ends of the table, then by halves of the range
// between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

class TableCopy {
 public:
  /// Keys from `first` to `last` of the first column of the primary key. If `lead` is set, they are
  /// keys of the second column among the rows with that first one. A key of octets counts as its
  /// first four.
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::optional<std::int64_t> lead{};
    std::size_t probes = 0;  // probes that are left for this range
  };

  /// Reads the columns and the primary key from the fresh spool, where nothing is damaged.
  static Result<TableCopy> of(Database& fresh, const std::string& table);

  /// Returns the column that a range is about. has_row_numbers() is true if it has numbers of rows,
  /// as most do. Others have addresses of stations or octets.
  const std::string& first_key() const { return first_key_; }
  bool has_row_numbers() const;

  /// Copies all that can be read. An error is one of the fresh spool.
  Result<void> run(Database& old, Database& fresh, Range all);

  /// Returns the first keys of which rows could not be read, in order.
  const std::vector<Range>& gaps() const { return gaps_; }

 private:
  struct Key {
    std::int64_t first = 0;
    std::int64_t second = 0;
    std::string octets;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Reading {
    bool whole = false;       // nothing stopped the reading
    std::optional<Key> last;  // key of the last row that was read
  };

  explicit TableCopy(std::string table) : table_(std::move(table)) {}
  std::string select(const Range& range, bool backwards) const;
  void bind(Statement& rows, const Range& range) const;
  Key key_of(const Statement& row) const;
  Result<Reading> read(Database& old, Database& fresh, const Range& range, bool backwards);
  Result<void> insert(Database& fresh, const Statement& row);
  std::int64_t place_of(const Key& key, const Range& range) const;
  std::vector<Range> halves_of(const Range& range) const;
  void join_gaps();

  std::string table_;
  std::vector<std::string> columns_;
  std::string first_key_;
  std::string second_key_;  // empty: the key has one column
  bool key_of_octets_ = false;
  std::vector<Range> gaps_;
};

}  // namespace s5066::gateways
