// SPDX-License-Identifier: Apache-2.0
// Checks the page of log events against the code that logs them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace s5066::tidy {

inline constexpr std::string_view kLogEventsPage = "docs/operate/log_events.md";

/// An event that a file logs, or that the page explains.
struct LogEvent {
  std::string name;
  std::size_t line = 0;
};

/// Returns the events that C++ text logs: the third argument of each LogLine, the names in each
/// table that a comment marks with "Names of log events", and the lines that the log writes about
/// itself.
std::vector<LogEvent> events_logged_in(std::string_view text);
/// Returns how many LogLines of the text take their event from a table.
std::size_t log_lines_with_names_from_a_table(std::string_view text);
/// Returns how many tables of the text are marked.
std::size_t marked_tables_in(std::string_view text);
/// Returns the events in the first cells of the page's tables.
std::vector<LogEvent> events_explained_in(std::string_view page);

/// Checks that every event of the programs is explained once on the page, and that the page has no
/// other.
Problems check_log_events(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
