// SPDX-License-Identifier: Apache-2.0
// Writes, reads, checks and erases the rows of a message in the mail tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

inline constexpr const char* kItemColumns =
    "SELECT id, road, state, priority, reverse_path, label, size, attempts, created_utc, "
    "expiry_utc, next_try_utc, message_id, block_octets, reason, finished_utc FROM mail ";

inline constexpr const char* kOpenStates = "('incoming', 'active', 'deferred', 'held')";

// Time after its acceptance in which a message may be sent under its first number. Its receivers
// know that number for a day longer, so that a repeat is not delivered twice.
inline constexpr std::int64_t kNumberLifeS = 30 * 86400;

/// Reads a row of kItemColumns and checks each field.
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

template <typename... Values>
Result<void> update(gateways::Database& db, const char* sql, const Values&... values) {
  auto statement = db.prepare(sql);
  if (!statement) return statement.error();
  (bind_one(*statement, values), ...);
  return statement->run();
}

/// Returns the first column of each row that is left.
Result<std::vector<MailId>> ids_of(gateways::Statement& rows);

class MailRows {
 public:
  explicit MailRows(gateways::Database& db) : db_(&db) {}

  /// `first`: the message that was made of the same mail before; 0: there is none.
  Result<MailId> insert(const NewMail& mail, const std::vector<const NewTarget*>& targets,
                        UtcSeconds now, MailId first);
  /// Inserts the message with all of its targets.
  Result<MailId> insert(const NewMail& mail, UtcSeconds now);

  /// Reads a message without targets and content. Returns null if a field makes no sense or the
  /// message is missing.
  Result<std::optional<MailItem>> read(MailId id);
  Result<void> read_targets(MailItem& item);
  /// Reads targets and content. Returns false if they are not what was accepted.
  Result<bool> read_rest(MailItem& item);

  Result<void> note_form(MailId id, CdtTags tags);
  Result<void> park(MailId id, std::string_view reason);
  /// Deletes a message with all rows that belong to it alone.
  Result<void> erase(MailId id);

 private:
  Result<void> forget_other_form(MailItem& item);
  Result<bool> read_content(MailItem& item);

  gateways::Database* db_;
};

}  // namespace s5066::acp142
