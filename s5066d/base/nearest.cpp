// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/nearest.h"

#include <algorithm>
#include <array>

namespace s5066 {
namespace {

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kNearestOctetsMax);
  b = b.substr(0, kNearestOctetsMax);
  using Row = std::array<std::size_t, kNearestOctetsMax + 1>;
  Row before{};  // the row two above, for swapped letters
  Row above{};
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    Row row{};
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = small(a[i - 1]) == small(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (equal ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) &&
                           small(a[i - 2]) == small(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  std::optional<std::string> found;
  for (const std::string& one : known) {
    const std::size_t distance = edit_distance(word, one);
    if (distance >= least || distance >= std::max(word.size(), one.size())) continue;
    least = distance;
    found = one;
  }
  return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const auto meant = nearest(word, known);
  return meant ? "; did you mean " + *meant + "?" : "";
}

}  // namespace s5066
