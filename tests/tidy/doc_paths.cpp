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
      begin = end + 1;
    }
  }
  return problems;
}

}  // namespace s5066::tidy
