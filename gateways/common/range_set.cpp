// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/range_set.h"

#include <algorithm>
#include <iterator>

namespace s5066::gateways {

void RangeSet::add(FileRange range) {
  if (range.begin >= range.end) return;
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != ranges_.end() && at->first <= range.end) {
    range.begin = std::min(range.begin, at->first);
    range.end = std::max(range.end, at->second);
    at = ranges_.erase(at);
  }
  ranges_.emplace(range.begin, range.end);
}

void RangeSet::add(const RangeSet& other) {
  for (const auto& [begin, end] : other.ranges_) add({begin, end});
}

void RangeSet::remove(FileRange range) {
  if (range.begin >= range.end) return;
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin() && std::prev(at)->second > range.begin) --at;
  while (at != ranges_.end() && at->first < range.end) {
    const FileRange old{at->first, at->second};
    at = ranges_.erase(at);
    if (old.begin < range.begin) ranges_.emplace(old.begin, range.begin);
    if (old.end > range.end) ranges_.emplace(range.end, old.end);
  }
}

void RangeSet::remove(const RangeSet& other) {
  for (const auto& [begin, end] : other.ranges_) remove({begin, end});
}

std::uint64_t RangeSet::octets() const {
  std::uint64_t sum = 0;
  for (const auto& [begin, end] : ranges_) sum += end - begin;
  return sum;
}

bool RangeSet::contains(FileRange range) const {
  if (range.begin >= range.end) return true;
  const auto after = ranges_.upper_bound(range.begin);
  return after != ranges_.begin() && std::prev(after)->second >= range.end;
}

std::optional<FileRange> RangeSet::first() const {
  if (ranges_.empty()) return std::nullopt;
  return FileRange{ranges_.begin()->first, ranges_.begin()->second};
}

std::vector<FileRange> RangeSet::ranges() const {
  std::vector<FileRange> list;
  for (const auto& [begin, end] : ranges_) list.push_back({begin, end});
  return list;
}

}  // namespace s5066::gateways
