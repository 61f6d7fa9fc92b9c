// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/doc_paths.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

namespace s5066::tidy {
namespace {

bool is_page_for_developers(const std::string& path) {
  if (!path.ends_with(".md")) return false;
  return path == "docs/ARCHITECTURE.md" || path == "docs/CONTRIBUTING.md" ||
         path.starts_with("docs/develop/") || path.starts_with("docs/protocol/");
}

/// True if a file of the tree has that path, or has it behind leading folders. A name that ends in
/// a slash is a folder.
bool exists(const std::vector<SourceFile>& tree, const std::string& name) {
  const std::string tail = "/" + name;
  return std::any_of(tree.begin(), tree.end(), [&](const SourceFile& file) {
    const std::string path = "/" + file.path;
    return name.ends_with('/') ? path.find(tail) != std::string::npos : path.ends_with(tail);
  });
}

std::vector<std::string> names_in(const std::string& text, const std::regex& quoted) {
  std::vector<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), quoted), last; it != last; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

/// True if one of the folders has a header or source with that name, at any depth.
bool has_class(const std::vector<SourceFile>& tree, const std::vector<std::string>& folders,
               const std::string& name) {
  return std::any_of(tree.begin(), tree.end(), [&](const SourceFile& file) {
    const bool inside = std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
      return file.path.starts_with(folder);
    });
    return inside &&
           (file.path.ends_with("/" + name + ".h") || file.path.ends_with("/" + name + ".cpp"));
  });
}

/// Returns the names in a row of a table that begins with folders, for which these folders have
/// neither header nor source.
std::vector<std::string> wrong_classes(const std::vector<SourceFile>& tree,
                                       const std::string& line) {
  static const std::regex folder("`([A-Za-z0-9_/]+/)`");
  static const std::regex stem("`([a-z0-9_]+(/[a-z0-9_]+)?)`");
  if (!line.starts_with("|`")) return {};
  const std::size_t cell = line.find('|', 1);
  const auto folders = names_in(line.substr(0, cell), folder);
  if (folders.empty() || cell == std::string::npos) return {};
  std::vector<std::string> wrong = names_in(line.substr(cell), stem);
  std::erase_if(wrong, [&](const std::string& name) { return has_class(tree, folders, name); });
  return wrong;
}

/// Appends the names that a pattern with braces stands for.
void expand(const std::string& pattern, std::vector<std::string>& names) {
  const std::size_t open = pattern.find('{');
  const std::size_t close = pattern.find('}', std::min(open, pattern.size()));
  if (close == std::string::npos) return names.push_back(pattern);
  for (std::size_t begin = open + 1; begin <= close;) {
    const std::size_t end = std::min(pattern.find(',', begin), close);
    expand(pattern.substr(0, open) + pattern.substr(begin, end - begin) + pattern.substr(close + 1),
           names);
    begin = end + 1;
  }
}

bool belongs_in_recipes(const SourceFile& file) {
  static const std::regex settings(R"(config/(translate|contradictions)(_\w+)?\.cpp)");
  static const std::regex counters(R"(CounterTable<\w+>&\s+counter_table\()");
  if (std::regex_match(file.path, settings)) return true;
  return file.path.ends_with(".h") && std::regex_search(code_only(file.text), counters);
}

}  // namespace

std::vector<PageName> file_names_of(std::string_view page) {
  static const std::regex quoted("`([A-Za-z0-9_./{},-]+)`");
  static const std::regex file("[A-Za-z0-9_./-]+(\\.(cpp|h|proto|txt|cmake|csv|md|py|sql|supp)|/)");
  std::vector<PageName> found;
  std::istringstream lines{std::string(page)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    std::vector<std::string> names;
    for (const std::string& pattern : names_in(line, quoted)) expand(pattern, names);
    for (const std::string& name : names) {
      if (std::regex_match(name, file)) found.push_back({name, number});
    }
  }
  return found;
}

Problems check_doc_paths(const std::vector<SourceFile>& tree) {
  Problems problems;
  for (const auto& file : tree) {
    if (!is_page_for_developers(file.path)) continue;
    for (const auto& [name, line] : file_names_of(file.text)) {
      if (!exists(tree, name)) problems.push_back({file.path, line, "there is no " + name});
    }
    if (file.path != "docs/ARCHITECTURE.md") continue;
    std::istringstream lines(file.text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      for (const std::string& name : wrong_classes(tree, line)) {
        problems.push_back({file.path, number, "there is no " + name + " in that folder"});
      }
    }
  }
  return problems;
}

Problems check_recipes(const std::vector<SourceFile>& tree) {
  const std::string page = "docs/develop/recipes.md";
  const auto found = std::find_if(tree.begin(), tree.end(),
                                  [&](const SourceFile& file) { return file.path == page; });
  if (found == tree.end()) return {{page, 0, "is missing"}};
  const std::vector<PageName> names = file_names_of(found->text);
  Problems problems;
  for (const SourceFile& file : tree) {
    if (file.path.starts_with("tests/") || !belongs_in_recipes(file)) continue;
    const bool named = std::any_of(names.begin(), names.end(), [&](const PageName& name) {
      return name.name.find('/') != std::string::npos &&
             ("/" + file.path).ends_with("/" + name.name);
    });
    if (!named) problems.push_back({page, 0, "does not name " + file.path});
  }
  return problems;
}

}  // namespace s5066::tidy
