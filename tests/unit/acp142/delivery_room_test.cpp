// SPDX-License-Identifier: Apache-2.0
// DeliveryRoom limits how many messages may be in progress, by destination and precedence.
#include "gateways/acp142/mail/delivery_room.h"

#include <gtest/gtest.h>

namespace s5066::acp142 {
namespace {

constexpr NodeId kAbsent{2};
constexpr NodeId kUp{3};
constexpr std::uint8_t kRoutine = 8, kPriority = 6, kImmediate = 4, kFlash = 2;

constexpr DeliveryRoom::Limits kLimits{.items_max = 6,
                                       .items_reserve = 1,
                                       .octets_max = 1000,
                                       .octets_reserve = 100,
                                       .station_items_max = 2,
                                       .station_items_reserve = 1,
                                       .station_octets_max = 500,
                                       .station_octets_reserve = 50};

struct Room : DeliveryRoom {
  Room() : DeliveryRoom(kLimits, kLimits) {}
  /// Adds as many messages as are admitted.
  int fill(std::uint8_t priority, const std::vector<NodeId>& stations, std::uint64_t octets = 1,
           bool gives_way = false) {
    int added = 0;
    for (; admits(priority, stations) && added < 100; ++added) {
      add({priority, octets, stations}, gives_way);
    }
    return added;
  }
};

TEST(DeliveryRoom, a_station_fills_its_own_share_and_leaves_the_others_theirs) {
  Room room;
  EXPECT_EQ(room.fill(kRoutine, {kAbsent}), 2);
  EXPECT_EQ(room.fill(kRoutine, {kUp}), 2);
}

TEST(DeliveryRoom, each_step_of_precedence_has_a_reserve_with_a_full_station) {
  Room room;
  for (const std::uint8_t priority : {kRoutine, kPriority, kImmediate, kFlash}) {
    EXPECT_EQ(room.fill(priority, {kAbsent}), priority == kRoutine ? 2 : 1) << int{priority};
  }
  EXPECT_EQ(room.fill(0, {kAbsent}), 0);  // override shares its room with flash
}

TEST(DeliveryRoom, each_step_of_precedence_has_a_reserve_of_all) {
  Room room;
  for (std::uint32_t node = 10; room.admits(kRoutine, {NodeId{node}}); ++node) {
    room.add({kRoutine, 1, {NodeId{node}}});
  }
  for (const std::uint8_t priority : {kPriority, kImmediate, kFlash}) {
    EXPECT_EQ(room.fill(priority, {kUp}), 1) << int{priority};
  }
  EXPECT_FALSE(room.admits(kFlash, {kUp}));
}

TEST(DeliveryRoom, a_group_is_admitted_while_one_of_its_stations_has_room) {
  Room room;
  EXPECT_EQ(room.fill(kRoutine, {kAbsent}), 2);
  EXPECT_EQ(room.fill(kRoutine, {kAbsent, kUp}), 2);
}

TEST(DeliveryRoom, octets_are_bounded_with_one_message_besides) {
  Room room;
  EXPECT_EQ(room.fill(kRoutine, {kAbsent}, 499), 2);
  Room other;
  EXPECT_EQ(other.fill(kRoutine, {kAbsent}, 500), 1);
  EXPECT_EQ(other.fill(kPriority, {kAbsent}, 500), 1);  // it uses the reserve
  EXPECT_EQ(other.fill(kRoutine, {kUp}, 500), 0);       // all octets are taken
  EXPECT_EQ(other.fill(kPriority, {kUp}, 500), 1);
}

TEST(DeliveryRoom, what_waits_for_stations_that_did_not_answer_gives_way) {
  Room room;
  for (std::uint32_t node = 10; node < 13; ++node) {
    EXPECT_EQ(room.fill(kRoutine, {NodeId{node}}, 1, true), 2);
  }
  EXPECT_TRUE(room.admits(kRoutine, {kUp}));
  room.set_unanswering({{20}});
  EXPECT_FALSE(room.admits(kRoutine, {{20}}));  // it has no better right than the waiting ones
  EXPECT_FALSE(room.is_over(false));
  for (int i = 0; i < 4; ++i) room.add({kRoutine, 1, {kUp}});
  EXPECT_TRUE(room.is_over(false));
}

TEST(DeliveryRoom, stations_in_emcon_have_limits_of_their_own_each) {
  Room room;
  room.set_silent({kAbsent, {4}});
  EXPECT_EQ(room.fill(kRoutine, {kAbsent}), 2);
  EXPECT_EQ(room.fill(kRoutine, {{4}}), 2);
  EXPECT_EQ(room.fill(kRoutine, {kUp}), 2);
  // A message that has been sent as often as configured leaves its place to others.
  Room done;
  done.set_silent({kAbsent});
  for (int i = 0; i < 9; ++i) done.add({kRoutine, 1, {kAbsent}}, true);
  EXPECT_FALSE(done.is_over(true));
  EXPECT_TRUE(done.admits(kRoutine, {kAbsent}));
  done.add({kRoutine, 1, {kAbsent}}, true);
  EXPECT_TRUE(done.is_over(true));
}

}  // namespace
}  // namespace s5066::acp142
