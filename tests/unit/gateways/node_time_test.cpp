// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/node_time.h"

#include <gtest/gtest.h>

#include "gateways/common/node_status.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::gateways {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr NodeTime cable(Duration up) {
  return {.up = up, .lockstep = true};
}

TEST(NodeTime, is_read_from_the_status_of_the_node) {
  const std::string json =
      "{\n \"address\": \"1.2.0.1\",\n \"mode\": \"110a\",\n \"up_s\": 3600.25,\n"
      " \"lockstep\": true,\n \"links\": []\n}\n";
  const auto time = node_time_of(json);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->up, seconds(3600) + milliseconds(250));
  EXPECT_TRUE(time->lockstep);
  EXPECT_EQ(time->rate_bps, 0);  // of a mode that we do not know
  EXPECT_EQ(node_time_of("{\"up_s\":7,\"mode\":\"110a-300-short\"}")->rate_bps, 300);
  EXPECT_EQ(node_time_of("{\"up_s\":7,\"lockstep\":false}")->up, seconds(7));
  EXPECT_FALSE(node_time_of("{\"up_s\":7,\"lockstep\":false}")->lockstep);
  EXPECT_EQ(node_time_of("{\"up_s\": 1e9}")->up, seconds(1'000'000'000));
  for (const char* none : {"", "{}", "error: x", "{\"up_s\": \"\"}", "{\"up_s\": -1}",
                           "{\"up_s\": 1e30}", "{\"up_s\": nan}", "{\"up_s\"", "{\"up_s\":"}) {
    EXPECT_FALSE(node_time_of(none)) << none;
  }
  for (std::size_t n = 0; n <= json.size(); ++n) node_time_of(std::string_view(json).substr(0, n));
}

TEST(NodeTime, is_this_machine_s_while_no_node_has_told_any) {
  NodeTimeFollower time(seconds(5));
  EXPECT_EQ(time.now(seconds(5)), Instant{});
  EXPECT_EQ(time.now(seconds(65)), Instant{minutes(1)});
  EXPECT_EQ(time.machine_time_of(Instant{minutes(1)}), seconds(65));
  time.on_silence(seconds(65));
  time.on_reading(seconds(66), {.up = hours(9), .lockstep = false});
  EXPECT_FALSE(time.follows());
  EXPECT_EQ(time.now(seconds(125)), Instant{minutes(2)});
}

TEST(NodeTime, runs_and_stands_still_with_the_clock_of_the_cable) {
  NodeTimeFollower time(Duration::zero());
  time.on_reading(seconds(1), cable(hours(3)));
  EXPECT_TRUE(time.follows());
  EXPECT_EQ(time.now(seconds(1)), Instant{seconds(1)});
  EXPECT_FALSE(time.machine_time_of(Instant{seconds(2)}));
  time.on_reading(seconds(2), cable(hours(4)));
  EXPECT_EQ(time.now(seconds(2)), Instant{seconds(1) + hours(1)});
  time.on_reading(hours(5), cable(hours(4)));
  EXPECT_EQ(time.now(hours(9)), Instant{seconds(1) + hours(1)}) << "the cable stands still";
}

TEST(NodeTime, goes_on_over_a_restart_of_the_node_and_never_back) {
  NodeTimeFollower time(Duration::zero());
  time.on_reading(seconds(0), cable(hours(1)));
  time.on_reading(seconds(10), cable(hours(2)));
  time.on_silence(seconds(11));
  EXPECT_FALSE(time.follows());
  EXPECT_EQ(time.now(seconds(71)), Instant{hours(1) + minutes(1)}) << "nothing waits for ever";
  EXPECT_EQ(time.machine_time_of(Instant{hours(1) + minutes(1)}), seconds(71));
  time.on_reading(seconds(71), cable(seconds(3)));
  EXPECT_EQ(time.now(seconds(80)), Instant{hours(1) + minutes(1)});
  time.on_reading(seconds(81), cable(seconds(33)));
  EXPECT_EQ(time.now(seconds(81)), Instant{hours(1) + seconds(90)});
  // Without a question in between that was not answered.
  time.on_reading(seconds(82), cable(seconds(1)));
  EXPECT_EQ(time.now(seconds(82)), Instant{hours(1) + seconds(90)});
}

TEST(NodeTime, counts_no_time_twice_when_an_answer_was_only_late) {
  NodeTimeFollower time(Duration::zero());
  time.on_reading(seconds(0), cable(seconds(100)));
  time.on_silence(seconds(2));
  time.on_reading(seconds(12), cable(seconds(105)));
  EXPECT_EQ(time.now(seconds(12)), Instant{seconds(10)}) << "ahead by silence, it waits";
  time.on_silence(seconds(12));
  time.on_reading(seconds(13), cable(seconds(305)));
  EXPECT_EQ(time.now(seconds(13)), Instant{seconds(210)});
}

TEST(NodeTime, a_node_that_is_no_longer_on_a_cable_is_not_followed_and_time_goes_on) {
  NodeTimeFollower time(Duration::zero());
  time.on_reading(seconds(0), cable(seconds(0)));
  time.on_reading(seconds(1), cable(minutes(10)));
  time.on_reading(seconds(2), {.up = seconds(1), .lockstep = false});
  EXPECT_EQ(time.now(seconds(62)), Instant{minutes(11)});
}

TEST(UtcClock, takes_the_pace_of_a_node_for_no_change_of_the_clock) {
  UtcClock utc;
  EXPECT_EQ(utc.set(Instant{}, {1000}, Duration::zero()).count(), 0);
  EXPECT_EQ(utc.set(Instant{hours(1)}, {1060}, minutes(1)).count(), 0);
  EXPECT_EQ(utc.utc(Instant{hours(1) + seconds(5)}).value, 1065);
  EXPECT_EQ(utc.set(Instant{hours(1)}, {1120}, minutes(2)).count(), 0);
  EXPECT_EQ(utc.set(Instant{hours(2)}, {1180 + 7200}, minutes(3)).count(), 7200);
}

}  // namespace
}  // namespace s5066::gateways
