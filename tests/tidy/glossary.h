// SPDX-License-Identifier: Apache-2.0
// Checks that the pages lead a reader to the glossary.
#pragma once

#include <vector>

#include "tests/tidy/rules.h"
#include "tests/tidy/source_text.h"

namespace s5066::tidy {

/// Checks that the first use of each abbreviation of docs/glossary.md on a page is a link to its
/// entry. Headings, code and the texts of other links are no use. The pages are README and those
/// for readers in docs: without changelog, decisions, measurements and conformance tables.
Problems check_glossary(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
