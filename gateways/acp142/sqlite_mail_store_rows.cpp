// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/sqlite_mail_store_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gateways/common/sha256.h"

namespace s5066::acp142 {

using gateways::parse_spool_state;
using gateways::sha256_of;
using gateways::Statement;

namespace {

template <typename Number>
bool fits(std::int64_t value) {
  return value >= 0 && static_cast<std::uint64_t>(value) <= std::numeric_limits<Number>::max();
}

}  // namespace

// The database may have been damaged or edited: every field is checked before it is believed.
Result<MailItem> read_item(const Statement& row) {
  MailItem item;
  item.id.value = row.integer(0);
  const std::string transport = row.text(1);
  const auto state = parse_spool_state(row.text(2));
  auto from = parse_path(row.text(4), PathUse::reverse);
  const bool sane = (transport == "air" || transport == "smtp") && state && from &&
                    fits<std::uint8_t>(row.integer(3)) && fits<std::uint32_t>(row.integer(6)) &&
                    fits<std::uint32_t>(row.integer(7)) && fits<std::uint32_t>(row.integer(11)) &&
                    fits<std::uint16_t>(row.integer(12));
  if (!sane) return Error{ErrorCode::bad_field, "row cannot be read"};
  item.transport = transport == "air" ? Transport::air : Transport::smtp;
  item.state = *state;
  item.priority = static_cast<std::uint8_t>(row.integer(3));
  item.from = std::move(from).value();
  item.label = row.text(5);
  item.size = static_cast<std::uint64_t>(row.integer(6));
  item.attempts = static_cast<std::uint32_t>(row.integer(7));
  item.created.value = row.integer(8);
  item.expiry.value = row.integer(9);
  item.next_try.value = row.integer(10);
  item.message_id = static_cast<std::uint32_t>(row.integer(11));
  item.block_octets = static_cast<std::uint16_t>(row.integer(12));
  item.reason = row.text(13);
  item.finished.value = row.integer(14);
  return item;
}

}  // namespace s5066::acp142
