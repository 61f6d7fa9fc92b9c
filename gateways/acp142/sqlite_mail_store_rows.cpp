// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/sqlite_mail_store_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gateways/acp142/sqlite_mail_store.h"
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
  const std::string road = row.text(1);
  const auto state = parse_spool_state(row.text(2));
  auto from = parse_path(row.text(4), PathUse::reverse);
  const bool sane = (road == "air" || road == "smtp") && state && from &&
                    fits<std::uint8_t>(row.integer(3)) && fits<std::uint32_t>(row.integer(6)) &&
                    fits<std::uint32_t>(row.integer(7)) && fits<std::uint32_t>(row.integer(11)) &&
                    fits<std::uint16_t>(row.integer(12));
  if (!sane) return Error{ErrorCode::bad_field, "row cannot be read"};
  item.road = road == "air" ? Road::air : Road::smtp;
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

/// Without targets and content. Null where its fields make no sense, or it is not there.
Result<std::optional<MailItem>> SqliteMailStore::read_row(MailId id) {
  auto row = db_.prepare(std::string(kItemColumns) + "WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  auto item = *found ? read_item(*row) : Result<MailItem>(Error{ErrorCode::not_found, "mail"});
  return item ? std::optional<MailItem>(std::move(item).value()) : std::nullopt;
}

/// False where it is not what was accepted.
Result<bool> SqliteMailStore::read_rest(MailItem& item) {
  auto targets = read_targets(item);
  if (targets) targets = forget_other_form(item);
  if (!targets && targets.error().code == ErrorCode::bad_field) return false;
  if (!targets) return targets.error();
  return read_content(item);
}

Result<void> SqliteMailStore::read_targets(MailItem& item) {
  auto rows = db_.prepare(
      "SELECT number, recipient, station, sequence, state, reason FROM mail_target WHERE mail = ? "
      "ORDER BY number");
  if (!rows) return rows.error();
  rows->bind(item.id.value);
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    auto recipient = parse_path(rows->text(1), PathUse::forward);
    const auto state = parse_spool_state(rows->text(4));
    if (!recipient || !state) return Error{ErrorCode::bad_field, "recipient cannot be read"};
    item.targets.push_back({.number = static_cast<std::uint32_t>(rows->integer(0)),
                            .recipient = std::move(recipient).value(),
                            .station = {static_cast<std::uint32_t>(rows->integer(2))},
                            .sequence = static_cast<std::uint32_t>(rows->integer(3)),
                            .state = *state,
                            .reason = rows->text(5)});
  }
}

// Under one number the octets are always the same, because a receiver that has blocks of others
// puts both together. A message that was begun in another form, or in one that cannot be read,
// begins anew under another number. The form from before there were any differs only for several
// stations.
Result<void> SqliteMailStore::forget_other_form(MailItem& item) {
  if (item.message_id == 0) return {};
  std::int64_t form = 0;
  const auto known = unless_damaged("mail_submitted", [&]() -> Result<void> {
    auto row = db_.prepare("SELECT form FROM mail_submitted WHERE mail = ?");
    if (!row) return row.error();
    const auto found = row->bind(item.id.value).step();
    if (found && *found) form = row->integer(0);
    return found ? Result<void>() : found.error();
  });
  if (!known) return known;
  const bool several = std::any_of(item.targets.begin(), item.targets.end(), [&](const auto& one) {
    return one.station != item.targets.front().station;
  });
  if (form == kSubmittedFormExplicit) {
    item.tags = CdtTags::explicit_;
  } else if (form != kSubmittedForm && several) {
    renumber(item);
  }
  return {};
}

Result<bool> SqliteMailStore::read_content(MailItem& item) {
  auto row =
      db_.prepare("SELECT sha256, content FROM mail JOIN mail_content USING (id) WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(item.id.value).step();
  if (!found) return found.error();
  if (!*found) return false;
  Bytes content = row->blob(1);
  if (row->blob(0) != sha256_of(content)) return false;
  item.content = std::make_shared<const Bytes>(std::move(content));
  return true;
}

Result<std::vector<StationRow>> SqliteMailStore::stations() {
  auto rows = db_.prepare(
      "SELECT station, sequence, failures, dead_until_utc, reason FROM mail_station ORDER BY "
      "station");
  if (!rows) return rows.error();
  std::vector<StationRow> stations;
  while (true) {
    const auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return stations;
    stations.push_back({.station = {static_cast<std::uint32_t>(rows->integer(0))},
                        .sequence = static_cast<std::uint32_t>(rows->integer(1)),
                        .failures = static_cast<std::uint32_t>(rows->integer(2)),
                        .dead_until = {rows->integer(3)},
                        .reason = rows->text(4)});
  }
}

}  // namespace s5066::acp142
