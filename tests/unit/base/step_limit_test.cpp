// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/step_limit.h"

#include <gtest/gtest.h>

namespace s5066 {
namespace {

TEST(StepLimitDeathTest, the_last_step_that_is_allowed_passes_and_the_next_ends_the_process) {
  StepLimit steps("the loop ends", 3);
  for (int event = 0; event < 2; ++event) {
    steps.begin();
    for (int i = 0; i < 3; ++i) steps.count();
  }
  EXPECT_DEATH(steps.count(), "assertion failed: the loop ends");
}

}  // namespace
}  // namespace s5066
