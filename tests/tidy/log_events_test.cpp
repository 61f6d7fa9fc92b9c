// SPDX-License-Identifier: Apache-2.0
// Tests that the check of the log events finds an event missing on either side, and passes a match.
#include "tests/tidy/log_events.h"

#include <gtest/gtest.h>

namespace s5066::tidy {
namespace {

std::string names_of(const std::vector<LogEvent>& events) {
  std::string names;
  for (const LogEvent& event : events) names += (names.empty() ? "" : " ") + event.name;
  return names;
}

/// Returns the problems of a page and a source, put together.
std::string wrong(const std::string& page, const std::string& source) {
  std::string all;
  for (const auto& problem :
       check_log_events({{std::string(kLogEventsPage), page}, {"modem/x.cpp", source}})) {
    all += problem.text + "\n";
  }
  return all;
}

TEST(LogEvents, are_the_third_arguments_of_log_lines) {
  EXPECT_EQ(names_of(events_logged_in("LogLine(log_, LogLevel::info, \"one\").kv(\"a\", \"b\");\n"
                                      "LogLine line(log(1, 2), up ? LogLevel::info : bad,\n"
                                      "             up ? \"two\" : \"three\");\n")),
            "one two three");
}

TEST(LogEvents, are_not_what_a_comment_or_another_call_has) {
  EXPECT_EQ(names_of(events_logged_in("/// LogLine(log, LogLevel::info, \"x\")\n"
                                      "MyLogLine(log, LogLevel::info, \"y\");\n"
                                      "LogLine(const LogLine&) = delete;\n")),
            "");
}

TEST(LogEvents, are_the_names_of_a_marked_table) {
  EXPECT_EQ(names_of(events_logged_in("// Names of log events.\nconstexpr X kTable = {{\n"
                                      "    {\"one\", \"octets\"},\n    {\"two\", \"\"},\n}};\n")),
            "one two");
  EXPECT_EQ(names_of(events_logged_in("// Names of log events.\nX kNames[] = {\"one\", \"two\"};\n"
                                      "X kOthers[] = {\"three\"};\n")),
            "one two");
}

TEST(LogEvents, are_also_what_the_log_says_of_itself) {
  EXPECT_EQ(names_of(events_logged_in("write(level, \"log_lines_repeated \" + sort);")),
            "log_lines_repeated");
}

TEST(LogEvents, of_the_page_stand_in_the_first_cells) {
  EXPECT_EQ(names_of(events_explained_in("`zero`\n|event|\n|---|\n|`one`, `two`|I|of `three`|\n")),
            "one two");
}

TEST(LogEvents, must_be_explained_once_and_exist) {
  const std::string logs = "LogLine(log_, LogLevel::info, \"one\");";
  EXPECT_EQ(wrong("|`one`|I|x|\n", logs), "");
  EXPECT_EQ(wrong("", logs), "logs one, which docs/operate/log_events.md does not explain\n");
  EXPECT_EQ(wrong("|`one`|I|x|\n|`two`|I|x|\n", logs), "two is logged nowhere\n");
  EXPECT_EQ(wrong("|`one`|I|x|\n|`one`|I|x|\n", logs), "explains one twice\n");
  EXPECT_EQ(check_log_events({{"modem/x.cpp", logs}}).size(), 1u);
}

TEST(LogEvents, that_come_from_a_table_need_a_marked_one) {
  const std::string logs = "LogLine(log_, level, to_string(kind));\n";
  EXPECT_NE(wrong("", logs), "");
  EXPECT_EQ(wrong("|`one`|I|x|\n", logs + "// Names of log events.\nX kNames[] = {\"one\"};\n"),
            "");
}

}  // namespace
}  // namespace s5066::tidy
