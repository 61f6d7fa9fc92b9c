// The pages in docs: their links, and where other files name them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace s5066::tidy {

/// The anchors of a page as GitHub makes them of its headings, and those that it sets itself.
std::set<std::string> anchors_of(std::string_view page);

struct Link {
  std::string target;
  std::size_t line = 0;
};
/// The links of a page outside of code.
std::vector<Link> links_of(std::string_view page);

/// Each relative link of README and docs leads to a file or folder, and to an anchor that is there.
Problems check_links(const std::vector<SourceFile>& tree);
/// Each page that any file names by its path from the root is there.
Problems check_page_names(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
