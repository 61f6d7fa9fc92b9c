// SPDX-License-Identifier: Apache-2.0
// A problem of a configuration and its place in the file; each prints as one line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace s5066::config {

/// Lines and columns count from 1, as editors count them. Both are 0 when the problem concerns the
/// whole file.
struct Problem {
  std::string file;
  int line = 0;
  int column = 0;
  std::string text;
  bool warning = false;  // the configuration is usable, but probably not what its author meant
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// An example is "station.textproto:12:3: turnaround_ms: 99999 is above its limit 60000". The text
/// of a warning has "warning: " in front of it.
std::string to_string(const Problem& problem);

/// More problems than this of one file are not listed.
inline constexpr std::size_t kProblemsMax = 100;

/// This class collects the problems of one file; a problem with the same place and text as another
/// is kept once.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  /// True if one more problem is only counted as one of too many.
  bool full() const { return list_.size() >= kProblemsMax; }
  void add(int line, int column, std::string text, bool warning = false);
  /// Returns true if the configuration has no errors; it may have warnings.
  bool usable() const;
  /// Returns the errors in the order of the file. When there were more than kProblemsMax, the last
  /// entry says so.
  std::vector<Problem> errors() const;
  std::vector<Problem> warnings() const;

 private:
  std::vector<Problem> sorted(bool warnings) const;

  std::string file_;
  std::vector<Problem> list_;
  bool overflow_ = false;
};

/// `value` is absent when there are problems. Warnings come with or without a value.
template <typename T>
struct Loaded {
  std::optional<T> value;
  std::vector<Problem> problems;
  std::vector<Problem> warnings{};
};

}  // namespace s5066::config
