// SPDX-License-Identifier: Apache-2.0
// The two sessions use watched writing, which these tests check.
#include "modem/remote/streams.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"

namespace s5066::modem::remote {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StallWatch, counts_from_when_something_owed_last_moved) {
  StallWatch watch;
  EXPECT_EQ(watch.look(true, false, seconds(10)), Duration{});
  EXPECT_EQ(watch.look(true, false, seconds(12)), seconds(2));
  EXPECT_EQ(watch.look(true, true, seconds(13)), Duration{});
  EXPECT_EQ(watch.look(true, false, seconds(14)), seconds(1));
  EXPECT_EQ(watch.look(false, false, seconds(20)), Duration{});
  EXPECT_EQ(watch.look(true, false, seconds(21)), seconds(1));
}

TEST(StallWatches, a_message_is_not_held_against_the_next) {
  StallWatches watches;
  EXPECT_EQ(watches.look_at_incomplete({}, seconds(1)), Duration{});
  EXPECT_EQ(watches.look_at_incomplete(Incomplete{7, 0}, seconds(2)), Duration{});
  EXPECT_EQ(watches.look_at_incomplete(Incomplete{7, 0}, seconds(5)), seconds(3));
  EXPECT_EQ(watches.look_at_incomplete(Incomplete{8, 0}, seconds(6)), Duration{});
}

TEST(Streams, a_peer_that_takes_nothing_is_given_up_and_one_that_does_is_not) {
  for (const bool reads : {false, true}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    const posix::Fd ours(ends[0]);
    const posix::Fd theirs(ends[1]);
    Bytes octets(1U << 22);
    StallWatch watch;
    Result<void> wrote;
    Bytes part(1U << 16);
    // A peer that reads a little at every look is not stalled, however long the whole write takes.
    const Duration stalled_max = reads ? test::kPatience : Duration(milliseconds(20));
    test::eventually([&] {
      wrote = write_some(ours.get(), octets, watch, stalled_max);
      if (reads) static_cast<void>(posix::receive_some(theirs.get(), part, Duration{}));
      return !wrote || octets.empty();
    });
    EXPECT_EQ(wrote.ok(), reads);
    EXPECT_EQ(octets.empty(), reads);
    if (!wrote) {
      EXPECT_EQ(wrote.error().code, ErrorCode::timed_out);
    }
  }
}

}  // namespace
}  // namespace s5066::modem::remote
