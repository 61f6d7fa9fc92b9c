// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/store_port.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "s5066d/base/assert.h"

namespace s5066::gateways {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(SpoolState::count)> kNames = {
    "incoming", "active", "deferred", "delivered", "failed", "expired", "held", "corrupt", "sent"};

constexpr std::array<std::string_view, static_cast<std::size_t>(FileGrade::count)> kGrades = {
    "reliable", "head", "coded", "best_effort"};

constexpr std::array<std::string_view, static_cast<std::size_t>(SpoolChange::count)> kChanges = {
    "hold", "release", "retry", "cancel"};

/// Returns the enumerator that has this name; `wanted` is the text of the error.
template <typename Enumeration, std::size_t kCount>
Result<Enumeration> parse_name(const std::array<std::string_view, kCount>& names,
                               std::string_view text, const char* wanted) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return Error{ErrorCode::bad_field, wanted};
  return static_cast<Enumeration>(found - names.begin());
}

}  // namespace

std::optional<SpoolId> parse_spool_id(std::string_view text) {
  constexpr std::size_t kDigitsMax = 18;
  SpoolId id;
  if (text.empty() || text.size() > kDigitsMax) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id.value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && id.value >= 0 ? std::optional(id) : std::nullopt;
}

std::string_view to_string(SpoolState state) {
  S5066_ASSERT(state < SpoolState::count);
  return kNames[static_cast<std::size_t>(state)];
}

Result<SpoolState> parse_spool_state(std::string_view text) {
  return parse_name<SpoolState>(kNames, text, "spool state");
}

std::string_view to_string(SpoolChange change) {
  S5066_ASSERT(change < SpoolChange::count);
  return kChanges[static_cast<std::size_t>(change)];
}

Result<SpoolChange> parse_spool_change(std::string_view text) {
  return parse_name<SpoolChange>(kChanges, text, "change of a file");
}

std::string_view to_string(FileGrade grade) {
  S5066_ASSERT(grade < FileGrade::count);
  return kGrades[static_cast<std::size_t>(grade)];
}

Result<FileGrade> parse_file_grade(std::string_view text) {
  return parse_name<FileGrade>(kGrades, text, "the grade is reliable, head, coded or best_effort");
}

Result<void> validate(const GradeSettings& settings) {
  const bool head = settings.grade == FileGrade::head;
  if (head != (settings.head_octets > 0)) {
    return Error{ErrorCode::bad_field,
                 "the grade head, and no other, has a head of 1 octet or more"};
  }
  if (settings.strength_percent > kStrengthPercentMax) {
    return Error{ErrorCode::bad_field,
                 "the strength is at most " + std::to_string(kStrengthPercentMax) + " percent"};
  }
  if (settings.grade == FileGrade::reliable && settings.strength_percent > 0) {
    return Error{ErrorCode::bad_field, "a reliable file has no strength: lost blocks are repaired"};
  }
  return {};
}

bool is_final(SpoolState state) {
  return state != SpoolState::incoming && state != SpoolState::active &&
         state != SpoolState::deferred;
}

bool is_over(SpoolState state) {
  return state == SpoolState::delivered || state == SpoolState::failed ||
         state == SpoolState::expired || state == SpoolState::sent;
}

}  // namespace s5066::gateways
