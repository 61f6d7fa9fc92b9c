// SPDX-License-Identifier: Apache-2.0
// Finds the known word that a mistyped word most likely means, for "did you mean" in messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace s5066 {

/// Longer words are not compared.
inline constexpr std::size_t kComparedOctetsMax = 64;

/// Returns the number of letters to insert, remove, replace or swap with their neighbour to turn
/// one word into the other. Upper and lower case of ASCII count as equal.
std::size_t word_distance(std::string_view a, std::string_view b);

/// Returns the closest of `words`, the first of equally close ones. The result is empty if none is
/// within a third of the length of `typed`, or one letter.
std::string closest_word(std::string_view typed, const std::vector<std::string>& words);

/// Returns "; did you mean X?", or an empty text when no word is close enough.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

}  // namespace s5066
