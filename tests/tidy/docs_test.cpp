// SPDX-License-Identifier: Apache-2.0
// Tests that the checks of links and page names find each one that leads nowhere, and pass the good
// ones.
#include "tests/tidy/docs.h"

#include <gtest/gtest.h>

namespace s5066::tidy {
namespace {

/// Returns the problems of a page in docs/a beside docs/b/two.md.
std::string wrong(const std::string& page) {
  const std::vector<SourceFile> tree = {
      {"docs/a/one.md", page},
      {"docs/b/two.md", "# Two `words`, here\n## Again\n## Again\n```\n# no heading\n```\n"},
      {"config/x.proto", "message X {}\n"},
  };
  std::string all;
  for (const auto& problem : check_links(tree)) all += problem.text + "\n";
  return all;
}

TEST(Links, may_lead_to_a_page_a_folder_or_a_heading) {
  EXPECT_EQ(wrong("[x](../b/two.md) [x](../b/two.md#two-words-here) [x](../b/two.md#again-1)\n"
                  "[x](../../config/x.proto) [x](../b/) [x](#here) [x](https://example.org/y)\n"
                  "## Here\n"),
            "");
}

TEST(Links, must_lead_to_what_is_there) {
  EXPECT_EQ(wrong("[x](two.md)\n"), "two.md leads nowhere\n");
  EXPECT_EQ(wrong("[x](../b/two.md#no-heading)\n"),
            "../b/two.md#no-heading names no heading there\n");
  EXPECT_EQ(wrong("[x](../b/two.md#again-2)\n"), "../b/two.md#again-2 names no heading there\n");
  EXPECT_EQ(wrong("[x](#there)\n"), "#there names no heading there\n");
}

TEST(Links, are_not_looked_for_in_code) {
  EXPECT_EQ(wrong("`[x](two.md)`\n```\n[x](two.md)\n```\n"), "");
}

TEST(Anchors, are_those_of_headings_and_those_that_a_page_sets) {
  EXPECT_EQ(anchors_of("# One\n<a id=\"u_pdu\"></a>\n### [U_PDU](x.md) 2\n#no\n"),
            (std::set<std::string>{"one", "u_pdu", "u_pdu-2"}));
}

TEST(PageWords, are_limited_in_all_pages_together) {
  std::string half;
  for (std::size_t i = 0; i < kPageWordsMax / 2; ++i) half += "a ";
  const auto problems = [&](const std::string& path, const std::string& more) {
    return check_page_words({{"docs/a.md", half}, {"docs/b/c.md", half}, {path, more}}).size();
  };
  EXPECT_EQ(problems("docs/d.md", " \n"), 0u);
  EXPECT_EQ(problems("docs/d.md", "word\n"), 1u);
  EXPECT_EQ(problems("docs/decisions/0001-x.md", "word"), 0u);
  EXPECT_EQ(problems("docs/measurements/x.md", "word"), 0u);
  EXPECT_EQ(problems("docs/conformance/x.md", "word"), 0u);
  EXPECT_EQ(problems("README.md", "word"), 0u);
}

TEST(PageNames, in_any_file_are_those_of_pages_that_are_there) {
  const auto problems = [](const std::string& text) {
    return check_page_names({{"docs/a/one.md", ""}, {"modem/x.h", text}}).size();
  };
  EXPECT_EQ(problems("// See docs/a/one.md.\n"), 0u);
  EXPECT_EQ(problems("// See docs/ONE.md.\n"), 1u);
  EXPECT_EQ(problems("Write docs/decisions/NNNN-title.md.\n"), 0u);
}

}  // namespace
}  // namespace s5066::tidy
