// SPDX-License-Identifier: Apache-2.0
// Checks the links and the length of the pages in docs, and the names of pages in other files.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace s5066::tidy {

/// Returns the anchors of a page as GitHub makes them of its headings, and those that it sets
/// itself.
std::set<std::string> anchors_of(std::string_view page);

struct Link {
  std::string target;
  std::size_t line = 0;
};
/// Returns the links of a page outside of code.
std::vector<Link> links_of(std::string_view page);

/// Checks that each relative link of README and docs leads to an existing file or folder, and
/// anchor.
Problems check_links(const std::vector<SourceFile>& tree);
/// Checks that each page exists that any file names by its path from the root.
Problems check_page_names(const std::vector<SourceFile>& tree);

/// Number of words that the pages may have together, as `wc -w` counts them.
inline constexpr std::size_t kPageWordsMax = 15'000;
/// Checks that the pages for readers stay short. Decisions, measurements and conformance tables do
/// not count.
Problems check_page_words(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
