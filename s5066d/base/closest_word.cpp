// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/closest_word.h"

#include <algorithm>

namespace s5066 {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::size_t word_distance(std::string_view a, std::string_view b) {
  // Each row holds the distances of one beginning of `a` to all beginnings of `b`.
  std::vector<std::size_t> two_above(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_above.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (equal ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string closest_word(std::string_view typed, const std::vector<std::string>& words) {
  if (typed.size() > kComparedOctetsMax) return {};
  std::size_t best = std::max<std::size_t>(typed.size() / 3, 1);
  const std::string* found = nullptr;
  for (const std::string& word : words) {
    if (word.size() > kComparedOctetsMax) continue;
    const std::size_t distance = word_distance(typed, word);
    if (distance > best || (found != nullptr && distance == best)) continue;
    best = distance;
    found = &word;
  }
  return found == nullptr ? std::string() : *found;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words) {
  const std::string word = closest_word(typed, words);
  return word.empty() ? std::string() : "; did you mean " + word + "?";
}

}  // namespace s5066
