// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/glossary.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>

namespace s5066::tidy {
namespace {

constexpr std::string_view kGlossary = "docs/glossary.md";

bool leads_to_glossary(std::string_view path) {
  if (path == "README.md") return true;
  if (!path.starts_with("docs/") || !path.ends_with(".md") || path == kGlossary) return false;
  return !path.starts_with("docs/decisions/") && !path.starts_with("docs/measurements/") &&
         !path.starts_with("docs/conformance/") && path != "docs/CHANGELOG.md";
}

/// Returns the page with headings, fenced blocks and code spans blank; positions stay the same.
std::string plain_prose(const std::string& page) {
  std::istringstream lines(page);
  std::string out;
  bool fenced = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool fence = line.compare(begin, 3, "```") == 0;
    fenced = fenced != fence;
    bool blank = fenced || fence || line.starts_with('#');
    for (char& c : line) {
      const bool quote = c == '`';
      if (blank || quote) c = ' ';
      if (quote && !fenced && !fence && !line.starts_with('#')) blank = !blank;
    }
    out += line + '\n';
  }
  return out;
}

struct PageLink {
  std::size_t begin = 0;   // its opening bracket
  std::size_t middle = 0;  // its "]("
  std::size_t end = 0;
  std::string_view target;
};

std::vector<PageLink> page_links(std::string_view prose) {
  std::vector<PageLink> links;
  for (std::size_t at = 0; (at = prose.find("](", at)) != std::string_view::npos; at += 2) {
    const std::size_t begin = prose.rfind('[', at);
    const std::size_t end = prose.find(')', at);
    if (begin == std::string_view::npos || end == std::string_view::npos) continue;
    links.push_back({begin, at, end, prose.substr(at + 2, end - at - 2)});
  }
  return links;
}

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Returns the position of the next use of a term, in singular or plural, from `at` on.
std::size_t next_use(std::string_view prose, std::string_view term, std::size_t at) {
  for (; (at = prose.find(term, at)) != std::string_view::npos; at += term.size()) {
    std::size_t end = at + term.size();
    if (end < prose.size() && prose[end] == 's') ++end;
    const bool begins = at == 0 || !in_word(prose[at - 1]);
    if (begins && (end >= prose.size() || !in_word(prose[end]))) return at;
  }
  return at;
}

/// Returns the position of the first use of a term that is no link to its entry; npos if the first
/// use is one, or there is none.
std::size_t unlinked_use(std::string_view prose, const std::vector<PageLink>& links,
                         const std::string& term, const std::string& anchor) {
  std::size_t at = 0;
  while ((at = next_use(prose, term, at)) != std::string_view::npos) {
    const auto around = std::find_if(links.begin(), links.end(), [at](const PageLink& link) {
      return link.begin < at && at < link.end;
    });
    if (around == links.end()) return at;
    const bool ours = around->target.ends_with("glossary.md#" + anchor);
    if (ours && at < around->middle) return std::string_view::npos;
    at += term.size();
  }
  return at;
}

/// True for an abbreviation: other entries, such as Turn, are common words as well.
bool is_abbreviation(std::string_view term) {
  return std::count_if(term.begin(), term.end(),
                       [](unsigned char c) { return std::isupper(c) != 0; }) >= 2;
}

std::string anchor_of(const std::string& term) {
  std::string anchor;
  for (const char c : term) {
    const auto u = static_cast<unsigned char>(c);
    anchor += c == ' ' ? '-' : static_cast<char>(std::tolower(u));
  }
  return anchor;
}

}  // namespace

Problems check_glossary(const std::vector<SourceFile>& tree) {
  std::vector<std::string> terms;
  for (const SourceFile& file : tree) {
    if (file.path != kGlossary) continue;
    std::istringstream lines(file.text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("### ") && is_abbreviation(line)) terms.push_back(line.substr(4));
    }
  }
  if (terms.empty()) return {{std::string(kGlossary), 0, "has no entries"}};
  Problems problems;
  for (const SourceFile& file : tree) {
    if (!leads_to_glossary(file.path)) continue;
    const std::string prose = plain_prose(file.text);
    const auto links = page_links(prose);
    for (const std::string& term : terms) {
      const std::size_t at = unlinked_use(prose, links, term, anchor_of(term));
      if (at == std::string::npos) continue;
      problems.push_back(
          {file.path, line_at(prose, at),
           "the first \"" + term + "\" is no link to glossary.md#" + anchor_of(term)});
    }
  }
  return problems;
}

}  // namespace s5066::tidy
