// SPDX-License-Identifier: Apache-2.0
// A set of octets of a file, kept as ranges that neither touch nor overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace s5066::gateways {

/// Octets from `begin` up to, and without, `end`.
struct FileRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t octets() const { return end - begin; }
  friend bool operator==(const FileRange&, const FileRange&) = default;
};

class RangeSet {
 public:
  RangeSet() = default;
  explicit RangeSet(FileRange range) { add(range); }

  /// An empty range changes nothing.
  void add(FileRange range);
  void add(const RangeSet& other);
  void remove(FileRange range);
  void remove(const RangeSet& other);
  void clear() { ranges_.clear(); }

  bool empty() const { return ranges_.empty(); }
  std::uint64_t octets() const;
  std::size_t size() const { return ranges_.size(); }
  bool contains(FileRange range) const;
  /// Returns the range with the lowest octets.
  std::optional<FileRange> first() const;
  /// Returns the ranges in ascending order.
  std::vector<FileRange> ranges() const;
  friend bool operator==(const RangeSet&, const RangeSet&) = default;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin and end of each range
};

}  // namespace s5066::gateways
