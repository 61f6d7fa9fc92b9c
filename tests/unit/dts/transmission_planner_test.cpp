// SPDX-License-Identifier: Apache-2.0
// TransmissionPlanner chooses the stations of the next transmission from a list of waiting work.
#include "s5066d/dts/transmission_planner.h"

#include <gtest/gtest.h>

namespace s5066::dts {
namespace {

constexpr Address kA{1};
constexpr Address kB{2};
constexpr Address kC{3};

TEST(TransmissionPlanner, connections_take_turns_in_the_order_of_their_addresses) {
  TransmissionPlanner planner;
  const WaitingWork work{.connections = {{kA}, {kB}, {kC}}};
  for (const Address expected : {kA, kB, kC, kA}) {
    const auto plan = planner.plan(work, false);
    ASSERT_EQ(plan.served(), expected);
    EXPECT_FALSE(plan.only_answer);
    planner.on_served(expected);
  }
}

TEST(TransmissionPlanner, an_owed_answer_goes_first_but_only_twice_in_a_row) {
  TransmissionPlanner planner;
  const WaitingWork work{.connections = {{kA, true}, {kB, false}}};
  for (const Address expected : {kA, kA, kB, kA}) {
    const auto plan = planner.plan(work, false);
    ASSERT_EQ(plan.served(), expected);
    planner.on_served(expected);
  }
}

TEST(TransmissionPlanner, the_peer_served_last_gets_an_answer_alone_while_others_wait) {
  TransmissionPlanner planner;
  planner.on_served(kA);
  EXPECT_TRUE(planner.plan({.connections = {{kA, true}, {kB, false}}}, false).only_answer);
  planner.on_served(kA);
  EXPECT_FALSE(planner.plan({.connections = {{kA, true}}}, false).only_answer);
  EXPECT_TRUE(planner.plan({.connections = {{kA, true}}}, true).only_answer) << "the run is over";
}

TEST(TransmissionPlanner, type_6_goes_before_all_else_but_only_twice_in_a_row) {
  TransmissionPlanner planner;
  const WaitingWork work{.controls = {kB}, .connections = {{kA}}};
  EXPECT_EQ(planner.plan(work, false).control, kB);
  EXPECT_EQ(planner.plan(work, false).control, kB);
  const auto third = planner.plan(work, false);
  EXPECT_EQ(third.control, std::nullopt);
  EXPECT_EQ(third.connection, kA);
  EXPECT_EQ(planner.plan({.controls = {kB}}, false).control, kB) << "nobody else waits";
}

TEST(TransmissionPlanner, type_8_for_another_station_keeps_a_connection_waiting_only_twice) {
  TransmissionPlanner planner;
  const WaitingWork work{.connections = {{kA}}, .nonarq = true, .expedited_audience = kB};
  for (int i = 0; i < 2; ++i) {
    const auto plan = planner.plan(work, false);
    EXPECT_EQ(plan.served(), std::nullopt);
    EXPECT_EQ(plan.audience, kB);
  }
  const auto third = planner.plan(work, false);
  EXPECT_EQ(third.connection, kA);
  EXPECT_EQ(third.audience, kA) << "no other station may answer this transmission";
}

TEST(TransmissionPlanner, type_8_for_the_same_station_shares_the_transmission) {
  TransmissionPlanner planner;
  const auto plan =
      planner.plan({.connections = {{kA}}, .nonarq = true, .expedited_audience = kA}, false);
  EXPECT_EQ(plan.connection, kA);
  EXPECT_EQ(plan.audience, kA);
}

TEST(TransmissionPlanner, unfinished_data_for_all_has_the_next_transmission_once) {
  TransmissionPlanner planner;
  planner.give_next_to_nonarq(true);
  const WaitingWork work{.connections = {{kA}}, .nonarq = true};
  EXPECT_EQ(planner.plan(work, false).served(), std::nullopt);
  EXPECT_EQ(planner.plan(work, false).served(), kA);
  planner.give_next_to_nonarq(true);
  EXPECT_EQ(planner.plan({.connections = {{kA}}}, false).served(), kA) << "nothing waits";
}

}  // namespace
}  // namespace s5066::dts
