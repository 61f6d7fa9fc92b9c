// SPDX-License-Identifier: Apache-2.0
// Tests that the check of the glossary finds the first use of a term without a link, and only that.
#include "tests/tidy/glossary.h"

#include <gtest/gtest.h>

namespace s5066::tidy {
namespace {

Problems unlinked(const std::string& page, const std::string& path = "docs/operate/x.md") {
  return check_glossary(
      {{"docs/glossary.md", "# Glossary\n### C_PDU\nCAS.\n### P_MUL\nMail.\n### Turn\nKeys.\n"},
       {path, page}});
}

TEST(Glossary, the_first_use_of_an_abbreviation_is_a_link) {
  EXPECT_TRUE(unlinked("# C_PDU\nA [C_PDU](../glossary.md#c_pdu), a C_PDU. A Turn.\n").empty());
  EXPECT_TRUE(unlinked("[a C_PDU\nor P_MUL](y.md), [C_PDUs](../glossary.md#c_pdu)\n").empty());
  EXPECT_TRUE(unlinked("`C_PDU` and XC_PDU\n```\nC_PDU\n```\n").empty());
  const Problems problems =
      unlinked("# One\nTwo `C_PDU`:\nC_PDUs, [C_PDU](../glossary.md#c_pdu)\n");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(to_string(problems[0]),
            "docs/operate/x.md:3: the first \"C_PDU\" is no link to glossary.md#c_pdu");
}

TEST(Glossary, a_link_to_another_entry_does_not_count) {
  EXPECT_EQ(unlinked("[C_PDU](../glossary.md#p_mul), C_PDU, P_MUL\n").size(), 2u);
  EXPECT_EQ(unlinked("[x](../glossary.md#c_pdu) C_PDU\n").size(), 1u);
}

TEST(Glossary, is_for_the_pages_of_readers) {
  EXPECT_EQ(unlinked("C_PDU\n", "README.md").size(), 1u);
  EXPECT_TRUE(unlinked("C_PDU\n", "docs/decisions/0001-x.md").empty());
  EXPECT_TRUE(unlinked("C_PDU\n", "sis/x.h").empty());
  EXPECT_EQ(check_glossary({{"README.md", "C_PDU\n"}}).size(), 1u);
}

}  // namespace
}  // namespace s5066::tidy
