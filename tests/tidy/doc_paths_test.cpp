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

}  // namespace
}  // namespace s5066::tidy
