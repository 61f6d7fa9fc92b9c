// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/store/mail_rows.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "gateways/common/sha256.h"

namespace s5066::acp142 {

using gateways::parse_spool_state;
using gateways::sha256_of;
using gateways::Statement;

namespace {

// Number of the form in which a message is sent; it changes when the same row gives other octets.
constexpr std::int64_t kSubmittedForm = 1;
constexpr std::int64_t kSubmittedFormExplicit = 2;  // the same form with explicit tags

template <typename Number>
bool fits(std::int64_t value) {
  return value >= 0 && static_cast<std::uint64_t>(value) <= std::numeric_limits<Number>::max();
}

}  // namespace

// The database may have been edited: every field is checked before it is believed.
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

Result<std::vector<MailId>> ids_of(Statement& rows) {
  return rows.collect([&] { return MailId{rows.integer(0)}; });
}

Result<MailId> MailRows::insert(const NewMail& mail, UtcSeconds now) {
  std::vector<const NewTarget*> targets;
  for (const NewTarget& target : mail.targets) targets.push_back(&target);
  return insert(mail, targets, now, {});
}

Result<MailId> MailRows::insert(const NewMail& mail, const std::vector<const NewTarget*>& targets,
                                UtcSeconds now, MailId first) {
  const std::int64_t due = std::min(now.value, mail.expiry.value);
  const std::int64_t delay_s =
      mail.delay.value == 0 ? 0 : std::max<std::int64_t>(1, mail.delay.value - now.value);
  auto row = update(
      *db_,
      "INSERT INTO mail (road, state, priority, reverse_path, label, size, sha256, created_utc, "
      "expiry_utc, next_try_utc, delay_utc, lifetime_s, delay_s) VALUES (?, 'incoming', ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?)",
      to_string(mail.transport), std::int64_t{mail.priority}, to_string(mail.from), mail.label,
      static_cast<std::int64_t>(mail.content->size()), sha256_of(*mail.content), now.value,
      mail.expiry.value, due, mail.delay.value, mail.expiry.value - now.value, delay_s);
  if (!row) return row.error();
  const MailId id{db_->last_insert_id()};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto target = update(
        *db_,
        "INSERT INTO mail_target (mail, number, recipient, station, state) VALUES (?, ?, ?, ?, "
        "'incoming')",
        id.value, static_cast<std::int64_t>(i), to_string(targets[i]->recipient),
        std::int64_t{targets[i]->station.value});
    if (!target) return target.error();
  }
  auto done = update(*db_, "INSERT INTO mail_content VALUES (?, ?)", id.value, *mail.content);
  if (!done) return done.error();
  done =
      update(*db_, "INSERT OR REPLACE INTO mail_course VALUES (?, ?, ?, ?, ?, ?)", id.value,
             first.value == 0 ? id.value : first.value, mail.about.value,
             std::int64_t{mail.heard.source.value}, std::int64_t{mail.heard.message_id}, mail.came);
  if (!done) return done.error();
  return id;
}

Result<std::optional<MailItem>> MailRows::read(MailId id) {
  auto row = db_->prepare(std::string(kItemColumns) + "WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  auto item = *found ? read_item(*row) : Result<MailItem>(Error{ErrorCode::not_found, "mail"});
  return item ? std::optional<MailItem>(std::move(item).value()) : std::nullopt;
}

Result<bool> MailRows::read_rest(MailItem& item) {
  auto targets = read_targets(item);
  if (targets) targets = forget_other_form(item);
  if (!targets && targets.error().code == ErrorCode::bad_field) return false;
  if (!targets) return targets.error();
  return read_content(item);
}

Result<void> MailRows::read_targets(MailItem& item) {
  auto rows = db_->prepare(
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
// puts both together. A message that was begun in another form begins anew under another number.
// The form from before there were any differs only for several stations.
Result<void> MailRows::forget_other_form(MailItem& item) {
  if (item.message_id == 0) return {};
  std::int64_t form = 0;
  {
    auto row = db_->prepare("SELECT form FROM mail_submitted WHERE mail = ?");
    if (!row) return row.error();
    const auto found = row->bind(item.id.value).step();
    if (!found) return found.error();
    if (*found) form = row->integer(0);
  }
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

Result<bool> MailRows::read_content(MailItem& item) {
  auto row =
      db_->prepare("SELECT sha256, content FROM mail JOIN mail_content USING (id) WHERE id = ?");
  if (!row) return row.error();
  const auto found = row->bind(item.id.value).step();
  if (!found) return found.error();
  if (!*found) return false;
  Bytes content = row->blob(1);
  if (row->blob(0) != sha256_of(content)) return false;
  item.content = std::make_shared<const Bytes>(std::move(content));
  return true;
}

Result<void> MailRows::note_form(MailId id, CdtTags tags) {
  return update(*db_, "INSERT OR REPLACE INTO mail_submitted VALUES (?, ?)", id.value,
                tags == CdtTags::explicit_ ? kSubmittedFormExplicit : kSubmittedForm);
}

Result<void> MailRows::park(MailId id, std::string_view reason) {
  return update(*db_, "UPDATE mail SET state = 'corrupt', reason = ?, delay_utc = 0 WHERE id = ?",
                reason, id.value);
}

Result<void> MailRows::erase(MailId id) {
  for (const char* sql :
       {"DELETE FROM mail_target WHERE mail = ?", "DELETE FROM mail_content WHERE id = ?",
        "DELETE FROM mail_submitted WHERE mail = ?", "DELETE FROM mail_mark WHERE mail = ?",
        "DELETE FROM mail_course WHERE mail = ?", "DELETE FROM mail WHERE id = ?"}) {
    if (auto done = update(*db_, sql, id.value); !done) return done;
  }
  return {};
}

}  // namespace s5066::acp142
