// SPDX-License-Identifier: Apache-2.0
// Questions to the operator in a terminal, line by line. The streams are arguments so that tests
// can play the operator.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace s5066::config {

/// Thrown when the input ends in the middle of the questions.
struct InputEnded {};

class Dialogue {
 public:
  /// Returns what is wrong with an answer.
  using Check = std::function<std::optional<std::string>(const std::string& answer)>;

  /// An answer of more octets is refused.
  static constexpr std::size_t kAnswerOctetsMax = 300;
  /// This many wrong answers to one question count as the end of the input.
  static constexpr unsigned kWrongMax = 20;

  Dialogue(std::istream& in, std::ostream& out) : in_(in), out_(out) {}

  void say(const std::string& line);
  /// Asks until an answer is right. An empty answer means `otherwise`, shown in brackets.
  std::string ask(const std::string& question, const std::string& otherwise, const Check& check);
  bool ask_yes_no(const std::string& question, bool otherwise);
  double ask_number(const std::string& question, double otherwise, double min, double max);
  /// Shows a numbered list and returns the index of the chosen line.
  std::size_t choose(const std::string& question, const std::vector<std::string>& lines,
                     std::size_t otherwise);

 private:
  std::istream& in_;
  std::ostream& out_;
};

}  // namespace s5066::config
