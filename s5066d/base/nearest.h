// SPDX-License-Identifier: Apache-2.0
// Finds the word that somebody meant who mistyped it, for messages with "did you mean".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s5066 {

/// Longer words are compared by their first octets only.
inline constexpr std::size_t kNearestOctetsMax = 64;

/// Returns the least number of letters that must be inserted, removed, replaced or swapped with
/// their neighbour. Capital and small letters count as equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the known word that is nearest to `word`, or nothing if more than a third of the letters
/// differ.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// Returns "; did you mean WORD?", or "" if no known word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace s5066
