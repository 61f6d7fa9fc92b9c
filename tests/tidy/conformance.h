// SPDX-License-Identifier: Apache-2.0
// The tables in docs/conformance: a row for each requirement of an annex or of a checklist, with
// the code that fulfils it and the tests that show it, or the reason why there is none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace s5066::tidy {

/// Limit of the exceptions in percent of the rows of one table; at this share the check fails.
inline constexpr std::size_t kExceptionPercentEnd = 3;

/// Returns the cells of each line, quoted ones unquoted (RFC 4180).
std::vector<std::vector<std::string>> csv_cells(std::string_view text);

/// Returns the numbered requirements that a text names, one by one and sorted: "A.2.1.9(1)-(3),(7)"
/// names A.2.1.9(1), A.2.1.9(2), A.2.1.9(3) and A.2.1.9(7). F.16 has no numbers and stands alone,
/// as do PM-001 and the like, the items for P_MUL.
std::vector<std::string> tags_in(std::string_view text);

/// Checks that each row has a number of its own, names existing code, and has either a reason or
/// existing tests that carry its tags in the comment above them or inside.
Problems check_conformance(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
