// SPDX-License-Identifier: Apache-2.0
// Tests the check of file names in the pages for developers, on made-up pages and on this source
// tree.
#include "tests/tidy/doc_paths.h"

#include <gtest/gtest.h>

namespace s5066::tidy {
namespace {

Problems check(const std::string& page, const std::string& path = "docs/develop/page.md") {
  return check_doc_paths({{"modem/audio/device.h", ""}, {path, page}});
}

TEST(DocPaths, a_file_may_be_named_with_or_without_its_leading_folders) {
  EXPECT_TRUE(check("See `modem/audio/device.h`, `audio/device.h` and `device.h`.").empty());
  EXPECT_TRUE(check("See `modem/audio/` and `audio/`.").empty());
}

TEST(DocPaths, a_file_or_folder_that_does_not_exist_is_a_problem_on_its_line) {
  const Problems problems = check("Good: `device.h`\nBad: `evice.h` and `modem/video/`\n");
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(to_string(problems[0]), "docs/develop/page.md:2: there is no evice.h");
  EXPECT_EQ(to_string(problems[1]), "docs/develop/page.md:2: there is no modem/video/");
}

TEST(DocPaths, braces_name_several_files) {
  EXPECT_TRUE(check("`{modem/audio,audio}/device.h`, `{a, b}`, `x{`, `{}`").empty());
  const Problems problems = check("`modem/{audio,video}/{device,evice}.h`");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].text, "there is no modem/audio/evice.h");
  EXPECT_EQ(problems[1].text, "there is no modem/video/device.h");
  EXPECT_EQ(problems[2].text, "there is no modem/video/evice.h");
}

TEST(DocPaths, placeholders_and_other_words_are_skipped) {
  EXPECT_TRUE(check("`<name>_test.cpp`, `data_*.cpp`, `on_*`, `--help`, `FILE.pcap`").empty());
}

TEST(DocPaths, records_of_decisions_may_name_files_of_their_time) {
  EXPECT_TRUE(check("`gone.cpp`", "docs/decisions/0099-page.md").empty());
}

TEST(DocPaths, a_row_about_a_folder_names_files_of_that_folder) {
  const std::string page = "docs/ARCHITECTURE.md";
  EXPECT_TRUE(check("|`audio/`, `modem/audio/`|cards `device`|\n", page).empty());
  EXPECT_TRUE(check("|`modem/`|cards `audio/device`|\n", page).empty());
  EXPECT_TRUE(check("|`word`|`device`|\n", page).empty());
  const Problems problems = check("|`modem/audio/`|cards `evice`|\n", page);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(to_string(problems[0]), page + ":1: there is no evice in that folder");
  EXPECT_EQ(check("|`modem/ptt/`|cards `device`|\n", page).size(), 2u);
}

TEST(DocPaths, every_file_that_the_pages_of_this_tree_name_exists) {
  for (const Problem& problem : check_doc_paths(read_tree(S5066_SOURCE_DIR))) {
    ADD_FAILURE() << to_string(problem);
  }
}

/// Returns what the page of recipes does not name of one header with counters and two settings.
std::string not_named(const std::string& page) {
  const std::string table = "const CounterTable<XCounter>&\n    counter_table(XCounter);\n";
  const Problems problems = check_recipes({{"config/contradictions.cpp", ""},
                                           {"config/translate_x.cpp", ""},
                                           {"config/translate.h", ""},
                                           {"docs/develop/recipes.md", page},
                                           {"sis/other.h", "// " + table.substr(0, 20)},
                                           {"sis/x_core.h", table}});
  std::string text;
  for (const Problem& problem : problems) text += problem.text + "\n";
  return text;
}

TEST(Recipes, name_each_header_with_counters_and_each_source_of_settings) {
  EXPECT_EQ(not_named("`sis/x_core.h`, `config/{contradictions,translate_x}.cpp`"), "");
  EXPECT_EQ(not_named("`x_core.h`, `sis/x_core.cpp`, `config/contradictions.cpp`"),
            "does not name config/translate_x.cpp\ndoes not name sis/x_core.h\n");
}

TEST(Recipes, of_this_tree_are_complete) {
  for (const Problem& problem : check_recipes(read_tree(S5066_SOURCE_DIR))) {
    ADD_FAILURE() << to_string(problem);
  }
}

}  // namespace
}  // namespace s5066::tidy
