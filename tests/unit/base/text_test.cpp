// SPDX-License-Identifier: Apache-2.0
// Small functions about texts.
#include <gtest/gtest.h>

#include "s5066d/base/json_text.h"
#include "s5066d/base/loopback.h"

namespace s5066 {
namespace {

TEST(JsonQuoted, escapes_quotation_marks_backslashes_and_control_characters_only) {
  EXPECT_EQ(json_quoted(""), R"("")");
  EXPECT_EQ(json_quoted(R"(a "b" \c)"), R"("a \"b\" \\c")");
  EXPECT_EQ(json_quoted(std::string_view("\n\x1f\0/", 4)), R"("\u000a\u001f\u0000/")");
  EXPECT_EQ(json_quoted("\u00e4 \x7f"), "\"\u00e4 \x7f\"");
}

TEST(Loopback, is_127_and_1_of_ipv6_only) {
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("127.8.0.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("12.7.0.1"));
  EXPECT_FALSE(is_loopback("::"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_FALSE(is_loopback(""));
}

}  // namespace
}  // namespace s5066
