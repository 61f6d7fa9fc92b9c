// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/accept_rules.h"

#include <gtest/gtest.h>

namespace s5066::cas {
namespace {

// B.3.2(3),(4) B.3.2.1(5)-(8)
TEST(AcceptRules, nonexclusive_requests_follow_the_table) {
  const auto ask = [](LinkCensus census) { return refusal(census, LinkType::nonexclusive); };
  EXPECT_EQ(ask({.nonexclusive_max = 1}), std::nullopt);
  EXPECT_EQ(ask({.exclusive_made = 1, .nonexclusive_max = 1}),
            RejectReason::supporting_exclusive_link);
  EXPECT_EQ(ask({.exclusive_pending = 1, .nonexclusive_max = 1}),
            RejectReason::supporting_exclusive_link);
  EXPECT_EQ(ask({.nonexclusive = 7, .nonexclusive_max = 8}), std::nullopt);
  EXPECT_EQ(ask({.nonexclusive = 8, .nonexclusive_max = 8}), RejectReason::unknown);
}

// B.3(7) B.3.2(5) B.3.2.1(5),(9),(10)
TEST(AcceptRules, a_second_exclusive_link_is_taken_and_a_third_is_not) {
  const auto ask = [](LinkCensus census) { return refusal(census, LinkType::exclusive); };
  EXPECT_EQ(ask({}), std::nullopt);
  EXPECT_EQ(ask({.exclusive_made = 1}), std::nullopt);
  EXPECT_EQ(ask({.exclusive_made = 2}), RejectReason::supporting_exclusive_link);
  EXPECT_EQ(ask({.exclusive_pending = 1}), std::nullopt);
  EXPECT_EQ(ask({.exclusive_made = 1, .exclusive_pending = 1}),
            RejectReason::supporting_exclusive_link);
  EXPECT_EQ(ask({.nonexclusive = 8, .nonexclusive_max = 8}), std::nullopt);
}

// B.3.2.1(5)
TEST(AcceptRules, a_broadcast_only_node_takes_no_link_at_all) {
  for (const LinkType type : {LinkType::nonexclusive, LinkType::exclusive}) {
    EXPECT_EQ(refusal({.nonexclusive_max = 8, .broadcast_only = true}, type),
              RejectReason::broadcast_only_node);
  }
}

}  // namespace
}  // namespace s5066::cas
