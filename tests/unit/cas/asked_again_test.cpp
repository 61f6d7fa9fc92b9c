// SPDX-License-Identifier: Apache-2.0
// A peer may ask more often than it is answered.
#include "tests/unit/cas/link_fixture.h"

namespace s5066::cas {
namespace {

TEST_F(Link, what_is_asked_again_before_the_answer_has_left_is_answered_once) {
  for (int i = 0; i < 100; ++i) hear("44");
  EXPECT_EQ(said(), "50");
  leaves();
  hear("44");
  EXPECT_EQ(said(), "50");
  core->on_cpdu_rejected(now, {last_id, CpduFailure::expired});
  hear("44");
  EXPECT_EQ(said(), "50");
  leaves();
  for (int i = 0; i < 100; ++i) hear("10");
  std::string all = "make made-by-peer 20";
  for (int i = 1; i < 100; ++i) all += " make";
  EXPECT_EQ(said(), all);
  leaves();
  core->set_broadcast(now, true);
  said();
  for (int i = 0; i < 100; ++i)
    core->on_cpdu(now, {Service::expedited_nonarq, kOther, Address{1}, {0x10}});
  EXPECT_EQ(said().size(), 2u);
}

}  // namespace
}  // namespace s5066::cas
