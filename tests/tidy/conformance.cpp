// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/conformance.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace s5066::tidy {
namespace {

constexpr std::string_view kFolder = "docs/conformance/";

enum Column : std::size_t { item, tag, requirement, code, test, exception, columns };
constexpr std::string_view kHeading = "item,tag,requirement,code,test,exception";

/// The items that a table must have; items of other tables count from 1.
struct Range {
  std::string_view name;
  unsigned first;
  unsigned last;
};
constexpr Range kRanges[] = {{"annex_a.csv", 1, 180},
                             {"annex_b.csv", 181, 222},
                             {"annex_c.csv", 1, 186},
                             {"acp142.csv", 1, 66}};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_comment(std::string_view line) {
  const auto at = line.find_first_not_of(' ');
  return at != std::string_view::npos && line.substr(at).starts_with("//");
}

/// Returns the start of the comment directly above a position at the start of a line.
std::size_t with_comment_above(std::string_view text, std::size_t at) {
  while (at > 0) {
    const auto previous = text.rfind('\n', at - 1);
    const auto end_before = previous == 0 || previous == std::string_view::npos
                                ? std::string_view::npos
                                : text.rfind('\n', previous - 1);
    const auto start = end_before == std::string_view::npos ? 0 : end_before + 1;
    if (previous == std::string_view::npos) break;
    if (!is_comment(text.substr(start, previous - start))) break;
    at = start;
  }
  return at;
}

/// Returns the tags in the comment and body of each test, by "Suite.name".
std::map<std::string, std::set<std::string>> tests_of(const std::vector<SourceFile>& tree) {
  static const std::regex macro("\\bTEST(_F|_P)?\\s*\\(\\s*(\\w+)\\s*,\\s*(\\w+)\\s*\\)");
  std::map<std::string, std::set<std::string>> tests;
  for (const auto& file : tree) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with(".cpp")) continue;
    const std::string plain = code_only(file.text);
    std::vector<std::pair<std::string, std::size_t>> found;  // name and start of the comment
    for (std::sregex_iterator at(plain.begin(), plain.end(), macro), end; at != end; ++at) {
      const auto start = with_comment_above(file.text, static_cast<std::size_t>(at->position()));
      found.emplace_back((*at)[2].str() + "." + (*at)[3].str(), start);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto [name, start] = found[i];
      const auto end = i + 1 < found.size() ? found[i + 1].second : file.text.size();
      auto& tags = tests[name];
      for (auto& found_tag : tags_in(std::string_view(file.text).substr(start, end - start))) {
        tags.insert(std::move(found_tag));
      }
    }
  }
  return tests;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if (at > 0 && in_word(text[at - 1])) continue;
    if (end < text.size() && in_word(text[end])) continue;
    return true;
  }
  return false;
}

class Checker {
 public:
  explicit Checker(const std::vector<SourceFile>& tree) : tests_(tests_of(tree)) {
    for (const auto& file : tree) files_[file.path] = &file;
  }

  void check(const SourceFile& table) {
    path_ = table.path;
    line_ = 1;
    const auto rows = csv_cells(table.text);
    if (!table.text.starts_with(std::string(kHeading) + "\n")) report("the heading is another");
    numbers_.clear();
    std::size_t exceptions = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      line_ = i + 1;
      if (rows[i].size() != columns) {
        report("has " + std::to_string(rows[i].size()) + " columns");
        continue;
      }
      check_row(rows[i]);
      if (!rows[i][exception].empty()) ++exceptions;
    }
    line_ = 0;
    check_numbers();
    if (exceptions > 0 && exceptions * 100 >= (rows.size() - 1) * kExceptionPercentEnd) {
      report(std::to_string(exceptions) + " exceptions are too many");
    }
  }

  Problems problems;

 private:
  void report(const std::string& text) { problems.push_back({path_, line_, text}); }

  void check_row(const std::vector<std::string>& row) {
    number(row[item]);
    if (row[requirement].empty()) report("says nothing");
    if (row[test].empty() && row[exception].empty()) report("neither a test nor an exception");
    if (!row[test].empty() && !row[exception].empty()) report("a test and an exception");
    for (const auto& place : words_of(row[code])) check_code(place);
    if (row[code].empty() && row[exception].empty()) report("names no code");

    const auto tags = tags_in(row[tag]);
    if (tags.empty()) report("names no clause: " + row[tag]);
    const auto names = words_of(row[test]);
    std::set<std::string> shown;
    for (const auto& name : names) {
      const auto found = tests_.find(name);
      if (found == tests_.end()) {
        report("no such test: " + name);
      } else {
        shown.insert(found->second.begin(), found->second.end());
      }
    }
    if (names.empty()) return;
    for (const auto& wanted : tags) {
      if (!shown.contains(wanted)) report("no test of the row carries " + wanted);
    }
  }

  void check_code(const std::string& place) {
    const auto colon = place.find(':');
    const auto file = files_.find(place.substr(0, colon));
    if (file == files_.end()) {
      report("no such file: " + place);
    } else if (colon == std::string::npos) {
      report("no symbol: " + place);
    } else if (!has_word(code_only(file->second->text), place.substr(colon + 1))) {
      report("no such symbol: " + place);
    }
  }

  void number(const std::string& text) {
    const bool digits = !text.empty() && text.size() < 6 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return report("no item number: " + text);
    if (!numbers_.insert(static_cast<unsigned>(std::stoul(text))).second) {
      report("item " + text + " is there twice");
    }
  }

  void check_numbers() {
    Range range{"", 1, numbers_.empty() ? 1 : *numbers_.rbegin()};
    for (const Range& known : kRanges) {
      if (path_ == std::string(kFolder) + std::string(known.name)) range = known;
    }
    for (unsigned n = range.first; n <= range.last; ++n) {
      if (!numbers_.contains(n)) report("item " + std::to_string(n) + " is missing");
    }
    for (const unsigned n : numbers_) {
      if (n < range.first || n > range.last) {
        report("item " + std::to_string(n) + " does not belong here");
      }
    }
  }

  std::map<std::string, const SourceFile*> files_;
  std::map<std::string, std::set<std::string>> tests_;
  std::string path_;
  std::size_t line_ = 0;
  std::set<unsigned> numbers_;
};

}  // namespace

std::vector<std::vector<std::string>> csv_cells(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      row.back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      row.emplace_back();
    } else if (!quoted && c == '\n') {
      rows.push_back(std::move(row));
      row = {""};
    } else {
      row.back() += c;
    }
  }
  if (row.size() > 1 || !row[0].empty()) rows.push_back(std::move(row));
  return rows;
}

std::vector<std::string> tags_in(std::string_view text) {
  static const std::regex clause("\\bF\\.16\\b|\\b([A-H](\\.[0-9]+)+( end)?)\\(");
  static const std::regex item("\\bPM-[0-9]{3}\\b");  // item of the checklist for P_MUL
  static const std::regex numbers("^\\(([0-9]+)(\\.[0-9]+)?\\)(-\\(([0-9]+)\\))?,?");
  constexpr unsigned kRangeMax = 100;
  std::set<std::string> tags;
  const std::string all(text);
  for (std::sregex_iterator at(all.begin(), all.end(), item), end; at != end; ++at) {
    tags.insert(at->str());
  }
  for (std::sregex_iterator at(all.begin(), all.end(), clause), end; at != end; ++at) {
    if (!(*at)[1].matched) {
      tags.insert("F.16");
      continue;
    }
    const std::string name = (*at)[1];
    std::string rest = all.substr(static_cast<std::size_t>(at->position()) + name.size());
    for (std::smatch match; std::regex_search(rest, match, numbers); rest = match.suffix()) {
      if (!match[3].matched) {
        tags.insert(name + "(" + match[1].str() + match[2].str() + ")");
        continue;
      }
      const unsigned long first = std::stoul(match[1].str().substr(0, 6));
      const unsigned long last = std::stoul(match[4].str().substr(0, 6));
      for (auto n = first; n <= last && n < first + kRangeMax; ++n) {
        tags.insert(name + "(" + std::to_string(n) + ")");
      }
    }
  }
  return {tags.begin(), tags.end()};
}

Problems check_conformance(const std::vector<SourceFile>& tree) {
  Checker checker(tree);
  for (const auto& file : tree) {
    if (file.path.starts_with(kFolder) && file.path.ends_with(".csv")) checker.check(file);
  }
  return checker.problems;
}

}  // namespace s5066::tidy
