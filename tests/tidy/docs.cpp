// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/docs.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <sstream>

namespace s5066::tidy {
namespace {

bool is_page(std::string_view path) {
  return path == "README.md" || (path.starts_with("docs/") && path.ends_with(".md"));
}

/// Calls `take(line, number)` for each line that is not in a fenced block.
void each_line_of_prose(std::string_view page,
                        const std::function<void(const std::string&, std::size_t)>& take) {
  std::istringstream lines{std::string(page)};
  bool fenced = false;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line.compare(begin, 3, "```") == 0) {
      fenced = !fenced;
    } else if (!fenced) {
      take(line, number);
    }
  }
}

/// Returns the anchor of a heading: letters and digits in lower case, '-' and '_'; '-' for a blank.
std::string slug_of(std::string_view heading) {
  std::string slug;
  for (const char c : heading) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0 || c == '_' || c == '-' || u >= 0x80) {
      slug.push_back(static_cast<char>(std::tolower(u)));
    } else if (c == ' ') {
      slug.push_back('-');
    }
  }
  return slug;
}

/// Returns the text of a heading; a link in it counts as its words.
std::string heading_of(const std::string& line) {
  static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
  const std::size_t begin = line.find_first_not_of('#');
  if (begin == 0 || begin > 6 || begin == std::string::npos || line[begin] != ' ') return {};
  return std::regex_replace(line.substr(begin + 1), link, "$1");
}

/// Returns the path from the root that `target` on the page at `path` means.
std::string resolved(const std::string& path, const std::string& target) {
  namespace fs = std::filesystem;
  return (fs::path(path).parent_path() / target).lexically_normal().string();
}

class Places {
 public:
  explicit Places(const std::vector<SourceFile>& tree) {
    for (const SourceFile& file : tree) {
      files_.emplace(file.path, &file);
      for (std::size_t at = 0; (at = file.path.find('/', at)) != std::string::npos; ++at) {
        folders_.insert(file.path.substr(0, at));
      }
    }
  }
  bool has(std::string place) const {
    if (place.ends_with('/')) place.pop_back();
    return files_.contains(place) || folders_.contains(place);
  }
  bool has_anchor(const std::string& path, const std::string& anchor) {
    const auto file = files_.find(path);
    if (file == files_.end() || !path.ends_with(".md")) return false;
    auto known = anchors_.find(path);
    if (known == anchors_.end()) {
      known = anchors_.emplace(path, anchors_of(file->second->text)).first;
    }
    return known->second.contains(anchor);
  }

 private:
  std::map<std::string, const SourceFile*> files_;
  std::set<std::string> folders_;
  std::map<std::string, std::set<std::string>> anchors_;
};

}  // namespace

std::set<std::string> anchors_of(std::string_view page) {
  static const std::regex own(R"(<a (?:id|name)="([^"]+)\")");
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  each_line_of_prose(page, [&](const std::string& line, std::size_t) {
    for (std::sregex_iterator at(line.begin(), line.end(), own), end; at != end; ++at) {
      anchors.insert((*at)[1]);
    }
    const std::string heading = heading_of(line);
    if (heading.empty()) return;
    const std::string slug = slug_of(heading);
    const int before = seen[slug]++;
    anchors.insert(before == 0 ? slug : slug + "-" + std::to_string(before));
  });
  return anchors;
}

std::vector<Link> links_of(std::string_view page) {
  static const std::regex code("`[^`]*`");
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  std::vector<Link> links;
  each_line_of_prose(page, [&](const std::string& line, std::size_t number) {
    const std::string prose = std::regex_replace(line, code, "");
    for (std::sregex_iterator at(prose.begin(), prose.end(), link), end; at != end; ++at) {
      links.push_back({(*at)[1], number});
    }
  });
  return links;
}

Problems check_links(const std::vector<SourceFile>& tree) {
  Places places(tree);
  Problems problems;
  for (const SourceFile& file : tree) {
    if (!is_page(file.path)) continue;
    for (const Link& link : links_of(file.text)) {
      if (link.target.find(':') != std::string::npos) continue;  // a link to another site
      const std::size_t hash = std::min(link.target.find('#'), link.target.size());
      const std::string name = link.target.substr(0, hash);
      const std::string path = name.empty() ? file.path : resolved(file.path, name);
      if (!places.has(path)) {
        problems.push_back({file.path, link.line, link.target + " leads nowhere"});
      } else if (hash < link.target.size() &&
                 !places.has_anchor(path, link.target.substr(hash + 1))) {
        problems.push_back({file.path, link.line, link.target + " names no heading there"});
      }
    }
  }
  return problems;
}

Problems check_page_names(const std::vector<SourceFile>& tree) {
  static const std::regex page(R"((^|[^A-Za-z0-9_/.-])(docs/[A-Za-z0-9_/-]+\.md))");
  const Places places(tree);
  Problems problems;
  for (const SourceFile& file : tree) {
    if (file.path.starts_with("tests/tidy/")) continue;  // has made-up names
    std::istringstream lines(file.text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      if (line.find("docs/") == std::string::npos) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), page), end; at != end; ++at) {
        const std::string name = (*at)[2];
        // "NNNN" stands for the number of any decision.
        if (name.find("NNNN") == std::string::npos && !places.has(name)) {
          problems.push_back({file.path, number, name + " is not there"});
        }
      }
    }
  }
  return problems;
}

Problems check_page_words(const std::vector<SourceFile>& tree) {
  std::size_t words = 0;
  for (const SourceFile& file : tree) {
    const bool counts = file.path.starts_with("docs/") && file.path.ends_with(".md") &&
                        !file.path.starts_with("docs/decisions/") &&
                        !file.path.starts_with("docs/measurements/") &&
                        !file.path.starts_with("docs/conformance/");
    if (!counts) continue;
    std::istringstream text(file.text);
    for (std::string word; text >> word;) ++words;
  }
  if (words <= kPageWordsMax) return {};
  return {{"docs", 0,
           "the pages have " + std::to_string(words) + " words, more than " +
               std::to_string(kPageWordsMax)}};
}

}  // namespace s5066::tidy
