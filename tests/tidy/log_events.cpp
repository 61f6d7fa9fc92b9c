// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/log_events.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <sstream>

namespace s5066::tidy {
namespace {

constexpr std::string_view kTableMark = "Names of log events";
constexpr std::string_view kOfTheLogItself = "\"log_lines_";
constexpr std::string_view kLogLine = "LogLine";

bool is_name_character(char c) {
  return std::islower(static_cast<unsigned char>(c)) != 0 ||
         std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns the name that begins at `at`, which may be empty.
std::string name_at(std::string_view text, std::size_t at) {
  const auto* const begin = text.begin() + at;
  return {begin, std::find_if_not(begin, text.end(), is_name_character)};
}

std::vector<LogEvent> literals_in(std::string_view text, Range range) {
  std::vector<LogEvent> found;
  std::size_t at = range.begin;
  while ((at = text.find('"', at)) < range.end) {
    found.push_back({name_at(text, at + 1), line_at(text, at)});
    at = text.find('"', at + 1);
    if (at == std::string_view::npos) break;
    ++at;
  }
  return found;
}

/// Returns the third argument of the call whose '(' is at `open`; nothing if it has fewer
/// arguments.
std::optional<Range> third_argument(std::string_view code, std::size_t open) {
  std::vector<std::size_t> commas;
  int depth = 0;
  for (std::size_t at = open; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ',' && depth == 1) commas.push_back(at);
    if (c != ')' && c != '}' && c != ']') continue;
    if (--depth > 0) continue;
    if (commas.size() < 2) return std::nullopt;
    return Range{commas[1] + 1, commas.size() > 2 ? commas[2] : at};
  }
  return std::nullopt;
}

/// Returns the third argument of each LogLine in the code.
std::vector<Range> log_lines(std::string_view code) {
  std::vector<Range> found;
  for (std::size_t at = 0; (at = code.find(kLogLine, at)) != std::string_view::npos;) {
    const bool inside_a_word = at > 0 && std::isalnum(static_cast<unsigned char>(code[at - 1]));
    at += kLogLine.size();
    std::size_t open = at;
    while (open < code.size() && (code[open] == ' ' || is_name_character(code[open]))) ++open;
    if (inside_a_word || open >= code.size() || code[open] != '(') continue;
    if (const auto event = third_argument(code, open)) found.push_back(*event);
  }
  return found;
}

/// Returns the events of the table behind a mark: the first literal of each row, or all of a plain
/// list.
std::vector<LogEvent> events_of_table(std::string_view text, std::string_view code,
                                      std::size_t mark) {
  const std::size_t end = code.find(';', mark);
  std::vector<std::vector<LogEvent>> rows;
  for (std::size_t at = mark; at < std::min(end, code.size()); ++at) {
    if (code[at] != '{') continue;
    const std::size_t close = code.find_first_of("{}", at + 1);
    if (close == std::string_view::npos || code[close] != '}') continue;
    if (auto row = literals_in(text, {at, close}); !row.empty()) rows.push_back(std::move(row));
  }
  if (rows.size() == 1) return rows.front();
  std::vector<LogEvent> first;
  for (const auto& row : rows) first.push_back(row.front());
  return first;
}

std::vector<std::size_t> marks_in(std::string_view text) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; (at = text.find(kTableMark, at)) != std::string_view::npos; ++at) {
    found.push_back(at);
  }
  return found;
}

bool is_of_a_program(std::string_view path) {
  if (!is_cpp(path) || path.starts_with("s5066d/base/log.")) return false;
  const std::initializer_list<std::string_view> folders = {"s5066d/", "gateways/", "modem/", "sis/",
                                                           "config/"};
  return std::any_of(folders.begin(), folders.end(),
                     [path](std::string_view folder) { return path.starts_with(folder); });
}

}  // namespace

std::vector<LogEvent> events_logged_in(std::string_view text) {
  const std::string code = code_only(text);
  std::vector<LogEvent> events;
  const auto add = [&events](const std::vector<LogEvent>& more) {
    events.insert(events.end(), more.begin(), more.end());
  };
  for (const Range event : log_lines(code)) add(literals_in(text, event));
  for (const std::size_t mark : marks_in(text)) add(events_of_table(text, code, mark));
  for (std::size_t at = 0; (at = text.find(kOfTheLogItself, at)) != std::string_view::npos; ++at) {
    events.push_back({name_at(text, at + 1), line_at(text, at)});
  }
  return events;
}

std::size_t log_lines_with_names_from_a_table(std::string_view text) {
  const auto lines = log_lines(code_only(text));
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [text](Range r) { return literals_in(text, r).empty(); }));
}

std::size_t marked_tables_in(std::string_view text) {
  return marks_in(text).size();
}

std::vector<LogEvent> events_explained_in(std::string_view page) {
  std::vector<LogEvent> events;
  std::istringstream lines{std::string(page)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (!line.starts_with("|`") && !line.starts_with("| `")) continue;
    const std::size_t end = line.find('|', 1);
    for (std::size_t at = 0; (at = line.find('`', at)) < end;) {
      events.push_back({name_at(line, at + 1), number});
      at = line.find('`', at + 1);
      if (at != std::string::npos) ++at;
    }
  }
  return events;
}

Problems check_log_events(const std::vector<SourceFile>& tree) {
  const auto page = std::find_if(tree.begin(), tree.end(),
                                 [](const SourceFile& f) { return f.path == kLogEventsPage; });
  if (page == tree.end()) return {{std::string(kLogEventsPage), 0, "is missing"}};
  Problems problems;
  std::set<std::string> explained;
  const std::vector<LogEvent> on_page = events_explained_in(page->text);
  for (const LogEvent& event : on_page) {
    if (explained.insert(event.name).second) continue;
    problems.push_back({page->path, event.line, "explains " + event.name + " twice"});
  }
  std::set<std::string> logged;
  std::size_t from_tables = 0;
  std::size_t tables = 0;
  for (const SourceFile& file : tree) {
    if (!is_of_a_program(file.path)) continue;
    from_tables += log_lines_with_names_from_a_table(file.text);
    tables += marked_tables_in(file.text);
    for (const LogEvent& event : events_logged_in(file.text)) {
      logged.insert(event.name);
      if (explained.contains(event.name)) continue;
      problems.push_back({file.path, event.line,
                          "logs " + event.name + ", which " + page->path + " does not explain"});
    }
  }
  for (const LogEvent& event : on_page) {
    if (logged.contains(event.name)) continue;
    problems.push_back({page->path, event.line, event.name + " is logged nowhere"});
  }
  if (tables != from_tables) {
    problems.push_back({page->path, 0,
                        std::to_string(from_tables) + " LogLines take their event from a table, " +
                            std::to_string(tables) + " tables are marked with '" +
                            std::string(kTableMark) + "'"});
  }
  return problems;
}

}  // namespace s5066::tidy
