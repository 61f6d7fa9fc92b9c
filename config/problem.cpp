// SPDX-License-Identifier: Apache-2.0
#include "config/problem.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace s5066::config {

std::string to_string(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) {
    text.append(":").append(std::to_string(problem.line));
    text.append(":").append(std::to_string(problem.column));
  }
  return text.append(problem.warning ? ": warning: " : ": ").append(problem.text);
}

// Other characters than printable ASCII become '?', because parts of the text come from the file
// and may hold any octet.
void Problems::add(int line, int column, std::string text, bool warning) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  }
  Problem problem{file_, line, column, std::move(text), warning};
  if (std::find(list_.begin(), list_.end(), problem) != list_.end()) return;
  if (list_.size() == kProblemsMax) {
    overflow_ = overflow_ || !warning;
    return;
  }
  list_.push_back(std::move(problem));
}

bool Problems::usable() const {
  return !overflow_ &&
         std::all_of(list_.begin(), list_.end(), [](const Problem& one) { return one.warning; });
}

std::vector<Problem> Problems::sorted(bool warnings) const {
  std::vector<Problem> out;
  std::copy_if(list_.begin(), list_.end(), std::back_inserter(out),
               [&](const Problem& one) { return one.warning == warnings; });
  std::stable_sort(out.begin(), out.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return out;
}

std::vector<Problem> Problems::errors() const {
  std::vector<Problem> out = sorted(false);
  if (overflow_) {
    out.push_back({file_, 0, 0,
                   "there are more than " + std::to_string(kProblemsMax) +
                       " problems; correct those listed first"});
  }
  return out;
}

std::vector<Problem> Problems::warnings() const {
  return sorted(true);
}

}  // namespace s5066::config
