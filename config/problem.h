// What is wrong with a configuration, and where: one line for people per problem.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace s5066::config {

/// Lines and columns count from 1, as editors do; both are 0 where the whole file is meant.
struct Problem {
  std::string file;
  int line = 0;
  int column = 0;
  std::string text;
  bool warning = false;  // the configuration can be used, but probably not as its author thinks
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// "station.textproto:12:3: turnaround_ms: 99999 is above its limit 60000"; "warning: " stands in
/// front of the text of a warning.
std::string to_string(const Problem& problem);

/// A file with more problems than this is not worth more lines.
inline constexpr std::size_t kProblemsMax = 100;

/// The problems of one file, each place and text once.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(int line, int column, std::string text, bool warning = false);
  /// True if the configuration can be used; it may have warnings.
  bool usable() const;
  /// The errors in the order of the file; the last says so when there were more than kProblemsMax.
  std::vector<Problem> errors() const;
  std::vector<Problem> warnings() const;

 private:
  std::vector<Problem> sorted(bool warnings) const;

  std::string file_;
  std::vector<Problem> list_;
  bool overflow_ = false;
};

/// A value and perhaps warnings, or the reasons why there is no value.
template <typename T>
struct Loaded {
  std::optional<T> value;
  std::vector<Problem> problems;
  std::vector<Problem> warnings{};
};

}  // namespace s5066::config
