// SPDX-License-Identifier: Apache-2.0
// Tests that the check of the conformance tables finds each defect in a small tree, and passes the
// good one.
#include "tests/tidy/conformance.h"

#include <gtest/gtest.h>

namespace s5066::tidy {
namespace {

const std::string kHead = "item,tag,requirement,code,test,exception\n";
const std::string kGood = "1,\"A.1(1),(2)\",\"It asks, then acts.\",sis/x.cpp:act,X.asks X.acts,\n";
const std::string kTests =
    "// Goal: A.9(9).\n\n"
    "// A.1(1)\n"
    "TEST(X, asks) {\n}\n\n"
    "// First\n// A.1(2)\n"
    "TEST_F(X,\n       acts) {\n  // A.2(1)-(3),(5)\n}\n";

/// Returns the problems of a table with these rows as one text.
std::string wrong(const std::string& rows, const std::string& name = "annex_d.csv") {
  const std::vector<SourceFile> tree = {
      {"sis/x.cpp", "void act();  // A.1(1), other\n"},
      {"tests/unit/sis/x_test.cpp", kTests},
      {"docs/conformance/" + name, kHead + rows},
      {"docs/conformance/notes.md", "nothing to check"},
  };
  std::string all;
  for (const auto& problem : check_conformance(tree)) all += problem.text + "\n";
  return all;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string row = kGood;
  return row.replace(row.find(from), from.size(), to);
}

TEST(Csv, keeps_quoted_commas_quotes_and_empty_cells) {
  const auto rows = csv_cells("a,\"b,\"\"c\"\"\",\n,d\n\ne");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"a", "b,\"c\"", ""}));
  EXPECT_EQ(rows[1], (std::vector<std::string>{"", "d"}));
  EXPECT_EQ(rows[2], (std::vector<std::string>{""}));
  EXPECT_EQ(rows[3], (std::vector<std::string>{"e"}));
}

TEST(Tags, are_counted_out) {
  using Tags = std::vector<std::string>;
  EXPECT_EQ(tags_in("A.2.1.6(2)"), Tags{"A.2.1.6(2)"});
  EXPECT_EQ(tags_in("A.1(1)-(3),(5) and B.3(3.1)"),
            (Tags{"A.1(1)", "A.1(2)", "A.1(3)", "A.1(5)", "B.3(3.1)"}));
  EXPECT_EQ(tags_in("F.16, B.3 end(1); A.2.1.3 without a number"), (Tags{"B.3 end(1)", "F.16"}));
  EXPECT_EQ(tags_in("PM-001, PM-133: text"), (Tags{"PM-001", "PM-133"}));
  EXPECT_EQ(tags_in("PM-01 PM-0011 XPM-001 pm-001"), Tags{});
  EXPECT_EQ(tags_in("AA.1(1) A.1 (1) f(2)"), Tags{});
}

TEST(Conformance, passes_what_is_complete) {
  EXPECT_EQ(wrong(kGood), "");
  EXPECT_EQ(wrong(changed("A.1(1),(2)", "A.2(1)-(3),(5)")), "");
}

TEST(Conformance, wants_a_test_or_an_exception_and_not_both) {
  EXPECT_EQ(wrong(changed("X.asks X.acts", "")), "neither a test nor an exception\n");
  EXPECT_EQ(wrong(changed("acts,", "acts,because")),
            "a test and an exception\n1 exceptions are too many\n");
}

TEST(Conformance, wants_tests_that_exist) {
  EXPECT_EQ(wrong(changed("X.acts", "X.sleeps X.acts")), "no such test: X.sleeps\n");
}

TEST(Conformance, wants_files_and_symbols_that_exist) {
  EXPECT_EQ(wrong(changed("sis/x.cpp:act", "sis/y.cpp:act")), "no such file: sis/y.cpp:act\n");
  EXPECT_EQ(wrong(changed("sis/x.cpp:act", "sis/x.cpp:ac")), "no such symbol: sis/x.cpp:ac\n");
  EXPECT_EQ(wrong(changed("sis/x.cpp:act", "sis/x.cpp:other")),
            "no such symbol: sis/x.cpp:other\n");  // the name is only in a comment
  EXPECT_EQ(wrong(changed("sis/x.cpp:act", "sis/x.cpp")), "no symbol: sis/x.cpp\n");
  EXPECT_EQ(wrong(changed("sis/x.cpp:act", "")), "names no code\n");
}

TEST(Conformance, wants_the_tag_at_a_test_of_the_row) {
  EXPECT_EQ(wrong(changed("X.asks X.acts", "X.asks")), "no test of the row carries A.1(2)\n");
  EXPECT_EQ(wrong(changed("X.asks X.acts", "X.acts")), "no test of the row carries A.1(1)\n");
  EXPECT_EQ(wrong(changed("A.1(1),(2)", "A.9(9)")), "no test of the row carries A.9(9)\n");
  EXPECT_EQ(wrong(changed("A.1(1),(2)", "somewhere")), "names no clause: somewhere\n");
}

TEST(Conformance, wants_every_number_once) {
  EXPECT_EQ(wrong(kGood + kGood), "item 1 is there twice\n");
  EXPECT_EQ(wrong(kGood + changed("1,", "3,")), "item 2 is missing\n");
  EXPECT_EQ(wrong(changed("1,", "one,")), "no item number: one\nitem 1 is missing\n");
  EXPECT_EQ(wrong(changed("1,", "223,"), "annex_b.csv").find("item 181 is missing\n"), 0u);
  EXPECT_NE(wrong(changed("1,", "223,"), "annex_b.csv").find("item 223 does not belong here\n"),
            std::string::npos);
  EXPECT_NE(wrong(kGood, "annex_a.csv").find("item 180 is missing\n"), std::string::npos);
  EXPECT_NE(wrong(kGood, "acp142.csv").find("item 66 is missing\n"), std::string::npos);
}

TEST(Conformance, takes_fewer_exceptions_than_three_in_a_hundred) {
  const auto rows = [](int good, int excepted) {
    std::string all;
    for (int i = 1; i <= good + excepted; ++i) {
      const bool is_good = i <= good;
      const std::string row = is_good ? kGood : changed("X.asks X.acts,", ",no clock");
      all += std::to_string(i) + row.substr(1);
    }
    return all;
  };
  EXPECT_EQ(wrong(rows(33, 1)), "");
  EXPECT_EQ(wrong(rows(32, 1)), "1 exceptions are too many\n");
  EXPECT_EQ(wrong(rows(98, 2)), "");
  EXPECT_EQ(wrong(rows(97, 3)), "3 exceptions are too many\n");
  EXPECT_EQ(wrong(rows(0, 1)), "1 exceptions are too many\n");
}

TEST(Conformance, wants_six_columns_under_their_heading) {
  EXPECT_EQ(wrong("1,A.1(1)\n"), "has 2 columns\nitem 1 is missing\n");
  const std::vector<SourceFile> tree = {{"docs/conformance/x.csv", "item,tag\n"}};
  EXPECT_EQ(check_conformance(tree).at(0).text, "the heading is another");
  EXPECT_EQ(wrong(changed("\"It asks, then acts.\"", "")), "says nothing\n");
}

}  // namespace
}  // namespace s5066::tidy
