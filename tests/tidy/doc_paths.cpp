// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/doc_paths.h"

#include <algorithm>
#include <regex>
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

}  // namespace

Problems check_doc_paths(const std::vector<SourceFile>& tree) {
  static const std::regex quoted(
      "`([A-Za-z0-9_./-]+(\\.(cpp|h|proto|txt|cmake|csv|md|py|sql|supp)|/))`");
  Problems problems;
  for (const auto& file : tree) {
    if (!is_page_for_developers(file.path)) continue;
    std::size_t line_number = 0;
    for (std::size_t begin = 0; begin < file.text.size();) {
      const std::size_t end = std::min(file.text.find('\n', begin), file.text.size());
      const std::string line = file.text.substr(begin, end - begin);
      ++line_number;
      for (std::sregex_iterator it(line.begin(), line.end(), quoted), last; it != last; ++it) {
        const std::string name = (*it)[1];
        if (exists(tree, name)) continue;
        problems.push_back({file.path, line_number, "there is no " + name});
      }
      if (file.path == "docs/ARCHITECTURE.md") {
        for (const std::string& name : wrong_classes(tree, line)) {
          problems.push_back({file.path, line_number, "there is no " + name + " in that folder"});
        }
      }
      begin = end + 1;
    }
  }
  return problems;
}

}  // namespace s5066::tidy
