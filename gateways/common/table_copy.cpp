// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/table_copy.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace s5066::gateways {
namespace {

constexpr std::size_t kProbesMax = 65'536;      // limit of probes in one table
constexpr std::size_t kProbesInVainMax = 4096;  // limit of probes until the first row is found
constexpr std::size_t kProbesOfOneKeyMax = 64;
constexpr std::int64_t kSecondKeyMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kPlaceOctets = 4;  // octets of a key of octets that count
constexpr std::size_t kKeyOctetsMax = 64;

Bytes octets_of(std::int64_t place) {
  Bytes octets(kPlaceOctets);
  for (std::size_t i = 0; i < kPlaceOctets; ++i) {
    octets[i] = static_cast<std::uint8_t>(place >> 8 * (kPlaceOctets - 1 - i));
  }
  return octets;
}

}  // namespace

Result<TableCopy> TableCopy::of(Database& fresh, const std::string& table) {
  TableCopy copy(table);
  auto rows = fresh.prepare("SELECT name, type, pk FROM pragma_table_info('" + table + "')");
  if (!rows) return rows.error();
  const auto done = rows->each([&] {
    copy.columns_.push_back(rows->text(0));
    if (rows->integer(2) == 1) {
      copy.first_key_ = rows->text(0);
      copy.key_of_octets_ = rows->text(1) == "BLOB";
    }
    if (rows->integer(2) == 2) copy.second_key_ = rows->text(0);
  });
  if (!done) return done.error();
  if (copy.first_key_.empty()) copy.first_key_ = "rowid";
  return copy;
}

bool TableCopy::has_row_numbers() const {
  return !key_of_octets_ && first_key_ != "station" && first_key_ != "source";
}

// The table itself is read, never an index of it.
std::string TableCopy::select(const Range& range, bool backwards) const {
  std::string sql = "SELECT " + first_key_;
  sql += ", " + (second_key_.empty() ? "0" : second_key_);
  for (const std::string& column : columns_) sql += ", " + column;
  const std::string& key = range.lead ? second_key_ : first_key_;
  sql += " FROM " + table_ + " NOT INDEXED WHERE " + key + " >= ?1 AND " + key +
         (key_of_octets_ ? " < ?2" : " <= ?2");
  if (range.lead) sql += " AND " + first_key_ + " = ?3";
  const std::string down = backwards ? " DESC" : "";
  sql += " ORDER BY " + first_key_ + down;
  if (!second_key_.empty()) sql += ", " + second_key_ + down;
  return sql;
}

void TableCopy::bind(Statement& rows, const Range& range) const {
  if (key_of_octets_) {
    const bool to_end = range.last >= kSecondKeyMax;
    rows.bind_blob(ByteSpan(octets_of(range.first)));
    rows.bind_blob(ByteSpan(to_end ? Bytes(kKeyOctetsMax, 0xFF) : octets_of(range.last + 1)));
    return;
  }
  rows.bind(range.first).bind(range.last);
  if (range.lead) rows.bind(*range.lead);
}

TableCopy::Key TableCopy::key_of(const Statement& row) const {
  if (key_of_octets_) return {0, 0, row.octets(0)};
  return {row.integer(0), row.integer(1), {}};
}

std::int64_t TableCopy::place_of(const Key& key, const Range& range) const {
  if (!key_of_octets_) return range.lead ? key.second : key.first;
  std::int64_t place = 0;
  for (std::size_t i = 0; i < kPlaceOctets; ++i) {
    const auto octet = i < key.octets.size() ? static_cast<std::uint8_t>(key.octets[i]) : 0;
    place = place << 8 | octet;
  }
  return place;
}

// A row that the schema does not allow is none that was ever written.
Result<void> TableCopy::insert(Database& fresh, const Statement& row) {
  std::string sql = "INSERT OR IGNORE INTO " + table_ + " VALUES (?";
  for (std::size_t i = 1; i < columns_.size(); ++i) sql += ", ?";
  auto put = fresh.prepare(sql + ")");
  if (!put) return put.error();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    put->bind_column(row, static_cast<int>(i) + 2);
  }
  auto done = put->run();
  if (!done && done.error().code == ErrorCode::already_exists) return {};
  return done;
}

/// Rows in an order that no table has are damage like a page that cannot be read.
Result<TableCopy::Reading> TableCopy::read(Database& old, Database& fresh, const Range& range,
                                           bool backwards) {
  Reading reading;
  auto rows = old.prepare(select(range, backwards));
  if (!rows) return reading;
  bind(*rows, range);
  while (true) {
    const auto row = rows->step();
    if (!row) return reading;
    if (!*row) break;
    Key key = key_of(*rows);
    const std::int64_t place = place_of(key, range);
    if (place < range.first || place > range.last) return reading;
    if (reading.last && (backwards ? key >= *reading.last : key <= *reading.last)) return reading;
    if (auto done = insert(fresh, *rows); !done) return done.error();
    reading.last = std::move(key);
  }
  reading.whole = true;
  return reading;
}

/// Returns no ranges if the range is one key that cannot be read.
std::vector<TableCopy::Range> TableCopy::halves_of(const Range& range) const {
  if (range.first == range.last) {
    if (second_key_.empty() || range.lead) return {};
    return {{0, kSecondKeyMax, range.first, kProbesOfOneKeyMax}};
  }
  if (range.lead && range.probes <= 1) return {};
  const std::int64_t middle = range.first + (range.last - range.first) / 2;
  return {{range.first, middle, range.lead, range.probes / 2},
          {middle + 1, range.last, range.lead, range.probes / 2}};
}

// Wide ranges come before narrow ones, so that a key with few rows in a wide space is searched
// evenly until there have been enough attempts.
Result<void> TableCopy::run(Database& old, Database& fresh, Range all) {
  if (!old.prepare(select(all, false))) {  // nothing tells where the table is
    gaps_.push_back(all);
    return {};
  }
  std::deque<Range> ranges{all};
  bool found = false;
  for (std::size_t probes = 0; !ranges.empty(); ++probes) {
    Range range = ranges.front();
    ranges.pop_front();
    if (probes >= (found ? kProbesMax : kProbesInVainMax)) {
      gaps_.push_back(range);
      continue;
    }
    const auto up = read(old, fresh, range, false);
    if (!up) return up.error();
    if (up->whole) continue;
    // The last key that was read may have more rows where a key has a second column.
    const bool several = key_of_octets_ || (!second_key_.empty() && !range.lead);
    const std::int64_t beside = several ? 0 : 1;
    if (up->last) range.first = place_of(*up->last, range) + beside;
    const auto down = read(old, fresh, range, true);
    if (!down) return down.error();
    if (down->whole) continue;
    found = found || up->last || down->last;
    if (down->last) range.last = place_of(*down->last, range) - beside;
    if (range.first > range.last) continue;
    const std::vector<Range> halves = halves_of(range);
    if (halves.empty()) gaps_.push_back(range);
    ranges.insert(ranges.end(), halves.begin(), halves.end());
  }
  join_gaps();
  return {};
}

void TableCopy::join_gaps() {
  for (Range& gap : gaps_) {
    if (gap.lead) gap = {*gap.lead, *gap.lead};
  }
  std::sort(gaps_.begin(), gaps_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> joined;
  for (const Range& gap : gaps_) {
    if (!joined.empty() && gap.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, gap.last);
    } else {
      joined.push_back(gap);
    }
  }
  gaps_ = std::move(joined);
}

}  // namespace s5066::gateways
