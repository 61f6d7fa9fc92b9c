// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/functions.h"

#include <gtest/gtest.h>

namespace s5066::tidy {
namespace {

TEST(Functions, are_found_with_name_line_length_and_branches) {
  const auto found = functions_of(
      "#include <map>\n"
      "#define TWICE(x) \\\n  { x; x; }\n"
      "namespace a {\n"
      "struct S { int x = 0; int twice() const { return 2 * x; } };\n"
      "const std::map<int, int> table = {{1, 2}};\n"
      "S::S(int x) : x_{x}, y_(x) {\n}\n"
      "template <typename T>\nvoid S::walk(T&& each, int x = 1) const noexcept {\n"
      "  if (x && y || z) { for (auto&& e : v) each(e); }\n"
      "  auto f = [&] { return x ? 1 : 2; };\n"
      "  // if while for\n"
      "}\n"
      "auto last() -> int { switch (n) { case 1: case 2: break; default: while (true) {} } }\n"
      "}\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].name, "twice");
  EXPECT_EQ(found[1].name, "S::S");
  EXPECT_EQ(found[1].lines, 2u);
  EXPECT_EQ(found[2].name, "S::walk");
  EXPECT_EQ(found[2].line, 9u);
  EXPECT_EQ(found[2].lines, 6u);
  EXPECT_EQ(found[2].branches, 5u);
  EXPECT_EQ(found[3].name, "last");
  EXPECT_EQ(found[3].branches, 3u);
}

TEST(Functions, eighty_lines_and_25_branches_pass_and_one_more_does_not) {
  const auto lines = [](std::size_t count) {
    return SourceFile{"sis/x.cpp", "int f() {" + std::string(count - 1, '\n') + "}\n"};
  };
  EXPECT_TRUE(check_functions(lines(80)).empty());
  EXPECT_EQ(check_functions(lines(81)).size(), 1u);
  const auto branches = [](std::size_t count) {
    std::string body;
    for (std::size_t i = 0; i < count; ++i) body += "if (a) b();";
    return SourceFile{"sis/x.cpp", "int f() {" + body + "}\n"};
  };
  EXPECT_TRUE(check_functions(branches(25)).empty());
  ASSERT_EQ(check_functions(branches(26)).size(), 1u);
  EXPECT_EQ(to_string(check_functions(branches(26))[0]), "sis/x.cpp:1: f has 26 branches");
}

TEST(Classes, stand_in_one_source_of_their_folder) {
  const SourceFile one{"sis/a.cpp", "void A::f() {}\nvoid A::g() {}\n"};
  EXPECT_TRUE(check_classes({one}).empty());
  EXPECT_TRUE(check_classes({one, {"modem/a.cpp", "void A::f() {}\n"}}).empty());
  EXPECT_TRUE(check_classes({one, {"sis/b.cpp", "void B::f() {}\n"}}).empty());
  const auto twice = check_classes({one, {"sis/b.cpp", "void A::h() {}\n"}});
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(to_string(twice[0]), "sis/b.cpp:1: A::h: its class is in sis/a.cpp");
}

}  // namespace
}  // namespace s5066::tidy
