// SPDX-License-Identifier: Apache-2.0
// Tests that the checks of the language find each bad word in a small example, and pass the good
// ones.
#include "tests/tidy/comments.h"

#include <gtest/gtest.h>

namespace s5066::tidy {
namespace {

/// Returns the lines of the bad openings in C++ text.
std::vector<std::size_t> bad_openings(const std::string& text) {
  std::vector<std::size_t> lines;
  for (const Problem& problem : check_comment_openings({"sis/x.h", text})) {
    lines.push_back(problem.line);
  }
  return lines;
}

/// Returns the lines of the metaphors in a file.
std::vector<std::size_t> metaphors(const std::string& path, const std::string& text) {
  std::vector<std::size_t> lines;
  for (const Problem& problem : check_metaphors({path, text})) lines.push_back(problem.line);
  return lines;
}

using Lines = std::vector<std::size_t>;

TEST(CommentOpenings, may_be_a_noun_a_verb_or_an_article) {
  EXPECT_EQ(bad_openings("// Returns the mode.\nint x;\n/// The mode.\nint y;\n"), Lines{});
  EXPECT_EQ(bad_openings("// Ofcom's rule.\nint x;\n// B.3(1)\nint y;\n"), Lines{});
}

TEST(CommentOpenings, must_not_replace_the_subject) {
  EXPECT_EQ(bad_openings("int x;\n// Of the last burst.\nint y;\n"), Lines{2});
  EXPECT_EQ(bad_openings("  /// Whoever waits.\n  int y;\n//! By us.\n"), (Lines{1, 3}));
  EXPECT_EQ(bad_openings("// Such.\nint y;\n// Until: then.\n"), (Lines{1, 3}));
  EXPECT_EQ(bad_openings("// To find it.\nint y;\n// Whether it ends.\n"), (Lines{1, 3}));
  EXPECT_EQ(bad_openings("// Nothing is left.\nint y;\n// Nobody asks.\n"), (Lines{1, 3}));
  EXPECT_EQ(bad_openings("// The same again.\nint y;\n// As it was.\n"), (Lines{1, 3}));
  EXPECT_EQ(bad_openings("// The sameness.\nint y;\n// Today.\n"), Lines{});
}

TEST(CommentOpenings, are_those_of_blocks_of_whole_lines) {
  EXPECT_EQ(bad_openings("// The octets\n// By number.\nint x;  // Of it.\n"), Lines{});
  EXPECT_EQ(bad_openings("auto s = R\"(\n// Of it.\n)\";\n"), Lines{});
  EXPECT_EQ(check_comment_openings({"docs/x.md", "// Of it.\n"}).size(), 0u);
}

TEST(Metaphors, are_found_in_comments_strings_and_pages) {
  EXPECT_EQ(metaphors("sis/x.cpp", "int x;\n// A stranger calls.\n"), Lines{2});
  EXPECT_EQ(metaphors("sis/x.cpp", "say(\"Both Roads\");  /* a stray */\n"), (Lines{1, 1}));
  EXPECT_EQ(metaphors("sis/x.cpp", "say(\"1\\nroad\");\n"), Lines{1});
  EXPECT_EQ(metaphors("sis/x.cpp", "/*\n * households\n */\n"), Lines{2});
  EXPECT_EQ(metaphors("docs/x.md", "# One\n\nA feeler.\n"), Lines{3});
  EXPECT_EQ(metaphors("config/proto/x.proto", "// A farewell.\n"), Lines{1});
  EXPECT_EQ(metaphors("tests/x.py", "\nx = 1  # a stray one\n"), Lines{2});
}

TEST(Metaphors, may_be_identifiers_columns_of_sql_and_code_in_pages) {
  EXPECT_EQ(metaphors("sis/x.cpp", "int stranger = 0;  // is_stray_ and roadside\n"), Lines{});
  EXPECT_EQ(metaphors("sis/x.cpp", "f(\"SELECT id, \"\n  \"road FROM mail\");\n"), Lines{});
  EXPECT_EQ(metaphors("docs/x.md", "Test `Strangers.call`.\n```\nroad\n```\n"), Lines{});
  EXPECT_EQ(metaphors("docs/measurements/x.md", "Both roads.\n"), Lines{});
}

}  // namespace
}  // namespace s5066::tidy
