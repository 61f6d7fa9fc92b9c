#include "config/problem.h"

#include <algorithm>
#include <tuple>

namespace s5066::config {

std::string to_string(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) {
    text.append(":").append(std::to_string(problem.line));
    text.append(":").append(std::to_string(problem.column));
  }
  return text.append(": ").append(problem.text);
}

// Parts of the text come out of the file and may hold anything.
void Problems::add(int line, int column, std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  }
  Problem problem{file_, line, column, std::move(text)};
  if (std::find(list_.begin(), list_.end(), problem) != list_.end()) return;
  if (list_.size() == kProblemsMax) {
    overflow_ = true;
    return;
  }
  list_.push_back(std::move(problem));
}

std::vector<Problem> Problems::sorted() const {
  std::vector<Problem> out = list_;
  std::stable_sort(out.begin(), out.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  if (overflow_) out.push_back({file_, 0, 0, "there are more problems than are listed here"});
  return out;
}

}  // namespace s5066::config
