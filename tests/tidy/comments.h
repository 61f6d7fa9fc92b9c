// SPDX-License-Identifier: Apache-2.0
// Checks the language of comments, strings and pages, as far as single words show it.
#pragma once

#include <vector>

#include "tests/tidy/rules.h"

namespace s5066::tidy {

/// Checks that no block of // comments in C++ opens with a pronoun or preposition that stands in
/// place of the subject, as in "Of the last burst."
Problems check_comment_openings(const SourceFile& file);

/// Checks that comments, strings and pages use the field's terms instead of a metaphor. Pages under
/// docs/measurements are exempt, and so are identifiers, code in pages, and SQL.
Problems check_metaphors(const SourceFile& file);

}  // namespace s5066::tidy
