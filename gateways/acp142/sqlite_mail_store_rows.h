// How the rows of the mail tables are read.
#pragma once

#include "gateways/acp142/mail_store_port.h"
#include "gateways/common/sqlite_store_db.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

inline constexpr const char* kItemColumns =
    "SELECT id, road, state, priority, reverse_path, label, size, attempts, created_utc, "
    "expiry_utc, next_try_utc, message_id, block_octets, reason FROM mail ";

/// A row of kItemColumns.
Result<MailItem> read_item(const gateways::Statement& row);

}  // namespace s5066::acp142
