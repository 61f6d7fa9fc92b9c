// SPDX-License-Identifier: Apache-2.0
// Checks that the files which the pages for developers name exist, so that a reader finds them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"
#include "tests/tidy/source_text.h"

namespace s5066::tidy {

struct PageName {
  std::string name;
  std::size_t line = 0;
};
/// Returns the file names in backquotes of a page. A name with braces is several: `a/{b,c}.h` is
/// a/b.h and a/c.h.
std::vector<PageName> file_names_of(std::string_view page);

/// Checks each file name in backquotes on the pages under docs/ for people who change the code.
/// A name may leave out leading folders. Names with a placeholder (`<name>`, `*`, `…`) are skipped.
/// In docs/ARCHITECTURE.md a row of a table that begins with folders names their files without
/// ending, and each must be there.
Problems check_doc_paths(const std::vector<SourceFile>& tree);

/// Checks that docs/develop/recipes.md names, with its folder, each header that declares a table of
/// counters and each source of config/ that translates or compares settings.
Problems check_recipes(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
