// SPDX-License-Identifier: Apache-2.0
// Checks that the files which the pages for developers name exist, so that a reader finds them.
#pragma once

#include <vector>

#include "tests/tidy/rules.h"
#include "tests/tidy/source_text.h"

namespace s5066::tidy {

/// Checks each file name in backquotes on the pages under docs/ for people who change the code.
/// A name may leave out leading folders. Names with a placeholder (`<name>`, `*`, `…`) are skipped.
/// In docs/ARCHITECTURE.md a row of a table that begins with folders names their files without
/// ending, and each must be there.
Problems check_doc_paths(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
