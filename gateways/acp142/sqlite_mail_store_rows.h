// SPDX-License-Identifier: Apache-2.0
// How the rows of the mail tables are read and written.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateways/acp142/sqlite_mail_store.h"

namespace s5066::acp142 {

inline constexpr const char* kItemColumns =
    "SELECT id, road, state, priority, reverse_path, label, size, attempts, created_utc, "
    "expiry_utc, next_try_utc, message_id, block_octets, reason, finished_utc FROM mail ";

inline constexpr const char* kOpenStates = "('incoming', 'active', 'deferred', 'held')";

// Time after its acceptance in which a message may be sent under its first number. Its receivers
// know that number for a day longer, so that a repeat is not delivered twice.
inline constexpr std::int64_t kNumberLifeS = 30 * 86400;

// Number of the form in which a message is sent; it changes when the same row gives other octets.
inline constexpr std::int64_t kSubmittedForm = 1;
inline constexpr std::int64_t kSubmittedFormExplicit = 2;  // the same with explicit tags

/// A row of kItemColumns.
Result<MailItem> read_item(const gateways::Statement& row);

inline void bind_one(gateways::Statement& statement, std::int64_t value) {
  statement.bind(value);
}
inline void bind_one(gateways::Statement& statement, std::string_view value) {
  statement.bind_text(value);
}
inline void bind_one(gateways::Statement& statement, const Bytes& value) {
  statement.bind_blob(ByteSpan(value));
}

/// Work on a table that the gateway can do without: where that is damaged it is left out from then
/// on, though not in the same transaction, since SQLite writes nothing more in one that has met it.
template <typename Work>
Result<void> SqliteMailStore::unless_damaged(const char* table, Work work) {
  if (left_out_.contains(table)) return {};
  Result<void> done = work();
  if (!done && done.error().code == ErrorCode::bad_checksum) {
    left_out_now_ = leave_out(table);
  }
  return done;
}

template <typename... Values>
Result<void> SqliteMailStore::update(const char* sql, const Values&... values) {
  auto statement = db_.prepare(sql);
  if (!statement) return statement.error();
  (bind_one(*statement, values), ...);
  return statement->run();
}

}  // namespace s5066::acp142
