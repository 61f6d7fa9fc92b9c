// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/octet_queue.h"

#include <gtest/gtest.h>

#include <deque>

#include "s5066d/base/rng.h"

namespace s5066::modem {
namespace {

TEST(OctetQueue, takes_what_fills_it_and_not_an_octet_more) {
  OctetQueue queue(10);
  EXPECT_TRUE(queue.fits(10));
  EXPECT_FALSE(queue.fits(11));
  queue.push(Bytes(6, 1));
  EXPECT_TRUE(queue.fits(4));
  EXPECT_FALSE(queue.fits(5));  // no free piece is that long
  queue.release(6);
  EXPECT_TRUE(queue.fits(6));  // free space is at the beginning again
  EXPECT_FALSE(queue.fits(7));
}

TEST(OctetQueue, keeps_runs_as_they_came_until_they_are_released) {
  struct Run {
    ByteSpan kept;
    Bytes sent;
    std::uint64_t until;
  };
  Rng rng(1);
  OctetQueue queue(100);
  std::deque<Run> runs;
  for (unsigned i = 0; i < 10'000; ++i) {
    Bytes sent(rng.below(30));
    for (auto& octet : sent) octet = static_cast<std::uint8_t>(rng.below(256));
    while (!queue.fits(sent.size())) {
      ASSERT_FALSE(runs.empty());
      queue.release(runs.front().until);
      runs.pop_front();
    }
    const ByteSpan kept = queue.push(sent);
    runs.push_back({kept, sent, queue.end()});
    for (const Run& run : runs) {
      ASSERT_TRUE(std::equal(run.kept.begin(), run.kept.end(), run.sent.begin(), run.sent.end()));
    }
  }
}

TEST(OctetQueueDeathTest, what_does_not_fit_is_a_bug) {
  OctetQueue queue(4);
  queue.push(Bytes(4));
  EXPECT_DEATH(queue.push(Bytes(1)), "fits");
}

}  // namespace
}  // namespace s5066::modem
