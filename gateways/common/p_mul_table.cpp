// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/p_mul_table.h"

#include <algorithm>

namespace s5066::gateways {

// Each message has two numbers. They follow the calendar, so that a spool that was lost does not
// bring old ones back.
Result<std::uint32_t> PMulTable::next_number(UtcSeconds now) {
  auto row = db_.prepare("SELECT coalesce(max(message_id), 0) FROM outgoing_p_mul");
  if (!row) return row.error();
  if (const auto found = row->step(); !found) return found.error();
  return static_cast<std::uint32_t>(std::max(row->integer(0) + 2, now.value) & UINT32_MAX);
}

Result<std::uint32_t> PMulTable::next_sequence(SpoolId id) {
  auto row = db_.prepare(
      "SELECT coalesce(max(sequence), 0) FROM outgoing_p_mul JOIN outgoing ON id = item WHERE "
      "destination = (SELECT destination FROM outgoing WHERE id = ?)");
  if (!row) return row.error();
  if (const auto found = row->bind(id.value).step(); !found) return found.error();
  return static_cast<std::uint32_t>(row->integer(0) & INT32_MAX) + 1;
}

Result<void> PMulTable::note(const std::vector<SpoolId>& rows, const GradeSettings& grade,
                             UtcSeconds now) {
  const auto number = next_number(now);
  if (!number) return number.error();
  for (const SpoolId id : rows) {
    const auto sequence = next_sequence(id);
    if (!sequence) return sequence.error();
    auto put = db_.prepare(
        "INSERT INTO outgoing_p_mul (item, first, message_id, sequence, grade, strength, head) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)");
    if (!put) return put.error();
    put->bind(id.value)
        .bind(rows.front().value)
        .bind(*number)
        .bind(*sequence)
        .bind(static_cast<std::int64_t>(grade.grade))
        .bind(grade.strength_percent)
        .bind(grade.head_octets);
    if (auto done = put->run(); !done) return done;
  }
  return {};
}

// The database may have been damaged or edited: every field is checked before it is believed.
Result<std::optional<PMulFacts>> PMulTable::find(SpoolId id) {
  auto row = db_.prepare(
      "SELECT first, message_id, sequence, grade, strength, head FROM outgoing_p_mul WHERE item = "
      "?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return std::optional<PMulFacts>();
  PMulFacts facts;
  facts.first.value = row->integer(0);
  facts.message_id = static_cast<std::uint32_t>(row->integer(1) & UINT32_MAX);
  facts.sequence = static_cast<std::uint32_t>(row->integer(2) & UINT32_MAX);
  const std::int64_t grade = row->integer(3);
  facts.grade.grade = static_cast<FileGrade>(grade);
  facts.grade.strength_percent = static_cast<std::uint8_t>(row->integer(4) & UINT8_MAX);
  facts.grade.head_octets = static_cast<std::uint32_t>(row->integer(5) & UINT32_MAX);
  const bool known = grade >= 0 && grade < static_cast<std::int64_t>(FileGrade::count);
  if (!known || facts.message_id == 0 || facts.sequence == 0 || !validate(facts.grade)) {
    return Error{ErrorCode::bad_field, "row of a file by P_MUL"};
  }
  return std::optional<PMulFacts>(facts);
}

Result<std::optional<SpoolId>> PMulTable::row_for(SpoolId number, Address destination) {
  auto row = db_.prepare(
      "SELECT item FROM outgoing_p_mul JOIN outgoing ON id = item WHERE destination = ?2 AND "
      "(first = ?1 OR message_id IN (?1, ?1 - 1)) ORDER BY first = ?1 DESC LIMIT 1");
  if (!row) return row.error();
  const auto found = row->bind(number.value).bind_text(to_string(destination)).step();
  if (!found) return found.error();
  if (!*found) return std::optional<SpoolId>();
  return std::optional(SpoolId{row->integer(0)});
}

Result<void> PMulTable::forget(SpoolId id) {
  auto remove = db_.prepare("DELETE FROM outgoing_p_mul WHERE item = ?");
  if (!remove) return remove.error();
  return remove->bind(id.value).run();
}

// The expiry comes from the air, and may lie decades ahead.
Result<void> PMulTable::remember(const KnownNames::Name& name, UtcSeconds now) {
  constexpr std::int64_t kKeptMaxS = 31 * 86400;
  constexpr std::int64_t kNamesMax = 65536;  // P_MUL remembers as many
  auto put = db_.prepare(
      "INSERT OR REPLACE INTO p_mul_received (source, message_id, expiry_utc) VALUES (?, ?, ?)");
  if (!put) return put.error();
  put->bind(name.source.value)
      .bind(name.message_id)
      .bind(std::min(name.expiry.value, now.value + kKeptMaxS));
  if (auto done = put->run(); !done) return done;
  auto remove = db_.prepare(
      "DELETE FROM p_mul_received WHERE (source, message_id) IN (SELECT source, message_id FROM "
      "p_mul_received ORDER BY expiry_utc LIMIT max(0, (SELECT count(*) FROM p_mul_received) - "
      "?))");
  if (!remove) return remove.error();
  return remove->bind(kNamesMax).run();
}

Result<std::vector<KnownNames::Name>> PMulTable::names(UtcSeconds now) {
  constexpr std::int64_t kMarginS = 3600;  // allows for clocks that differ
  auto remove = db_.prepare("DELETE FROM p_mul_received WHERE expiry_utc < ?");
  if (!remove) return remove.error();
  if (auto done = remove->bind(now.value - kMarginS).run(); !done) return done.error();
  auto rows = db_.prepare("SELECT source, message_id, expiry_utc FROM p_mul_received");
  if (!rows) return rows.error();
  return rows->collect([&] {
    return KnownNames::Name{Address{static_cast<std::uint32_t>(rows->integer(0) & Address::kMax)},
                            static_cast<std::uint32_t>(rows->integer(1) & UINT32_MAX),
                            {rows->integer(2)}};
  });
}

}  // namespace s5066::gateways
