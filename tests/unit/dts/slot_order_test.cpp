// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/slot_order.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr Address station(std::uint32_t i) {
  return {0x01020300u + i};
}
constexpr Instant kStart{1min};

/// Returns the knowledge of each of `n` stations that have all heard each other.
std::vector<SlotOrder> company(std::uint32_t n) {
  std::vector<SlotOrder> orders;
  for (std::uint32_t i = 0; i < n; ++i) {
    orders.emplace_back(station(i));
    for (std::uint32_t k = 0; k < n; ++k) orders.back().on_station(kStart, station(k));
  }
  return orders;
}

TEST(SlotOrder, stations_that_heard_the_same_never_choose_the_same_slot) {
  Rng rng(1);
  for (std::uint32_t n = 2; n <= SlotOrder::kStationsMax; ++n) {
    auto orders = company(n);
    for (std::uint32_t began = 0; began < n; ++began) {
      std::set<std::uint32_t> slots;
      for (auto& order : orders) {
        order.on_exchange_begun(station(began));
        slots.insert(order.draw_slot(kStart, rng));
        EXPECT_EQ(order.slots(kStart), n + SlotOrder::kSpareSlots);
      }
      EXPECT_EQ(slots.size(), n);
      EXPECT_EQ(*slots.rbegin(), n - 1);
      EXPECT_EQ(orders[began].draw_slot(kStart, rng), n - 1);
      EXPECT_EQ(orders[(began + 1) % n].draw_slot(kStart, rng), 0u);
    }
  }
}

TEST(SlotOrder, all_are_first_equally_often_when_all_always_want_to_begin) {
  Rng rng(1);
  auto orders = company(5);
  std::vector<int> firsts(5);
  for (int i = 0; i < 50; ++i) {
    for (std::uint32_t k = 0; k < 5; ++k) {
      if (orders[k].draw_slot(kStart, rng) != 0) continue;
      ++firsts[k];
      for (auto& order : orders) order.on_exchange_begun(station(k));
      break;
    }
  }
  EXPECT_EQ(firsts, std::vector<int>(5, 10));
}

TEST(SlotOrder, who_doubts_the_order_has_a_slot_of_its_own_among_others_that_doubt) {
  Rng rng(1);
  auto orders = company(6);
  std::set<std::uint32_t> slots;
  for (auto& order : orders) {
    order.on_exchange_begun(station(3));
    order.on_order_doubted();
    slots.insert(order.draw_slot(kStart, rng));
  }
  EXPECT_EQ(slots.size(), 6u);
}

TEST(SlotOrder, a_station_not_heard_yet_takes_none_of_those_that_were) {
  Rng rng(1);
  SlotOrder order(station(9));
  for (std::uint32_t k = 0; k < 4; ++k) order.on_station(kStart, station(k));
  order.on_exchange_begun(station(2));
  std::set<std::uint32_t> slots;
  for (int i = 0; i < 50; ++i) slots.insert(order.draw_slot(kStart, rng));
  EXPECT_EQ(slots, (std::set<std::uint32_t>{4, 5}));
}

// Two stations that call in the same slot have heard neither each other nor an answer.
TEST(SlotOrder, who_has_called_has_no_slot_of_its_own_before_it_is_spoken_to) {
  Rng rng(1);
  std::vector<SlotOrder> callers{SlotOrder(station(8)), SlotOrder(station(9))};
  for (auto& caller : callers) {
    for (std::uint32_t k = 0; k < 4; ++k) caller.on_station(kStart, station(k));
    caller.on_sent(kStart);
    caller.on_called(kStart);
    std::set<std::uint32_t> slots;
    for (int i = 0; i < 50; ++i) slots.insert(caller.draw_slot(kStart, rng));
    // A station that did hear the caller has a slot for it before these.
    EXPECT_EQ(slots, (std::set<std::uint32_t>{5, 6}));
    EXPECT_EQ(caller.others(kStart), 4u);
    caller.on_spoken_to(kStart);
    slots.clear();
    for (int i = 0; i < 50; ++i) slots.insert(caller.draw_slot(kStart, rng));
    EXPECT_EQ(slots.size(), 1u);
    EXPECT_LT(*slots.begin(), 5u);
    // The next call comes from a station that is known.
    caller.on_sent(kStart);
    caller.on_called(kStart);
    EXPECT_LT(caller.draw_slot(kStart, rng), 5u);
  }
}

// The other stations do not count it, and would begin in the same slot.
TEST(SlotOrder, who_is_spoken_to_without_ever_having_sent_has_none_either) {
  Rng rng(1);
  SlotOrder order(station(9));
  for (std::uint32_t k = 0; k < 4; ++k) order.on_station(kStart, station(k));
  order.on_spoken_to(kStart);
  std::set<std::uint32_t> slots;
  for (int i = 0; i < 50; ++i) slots.insert(order.draw_slot(kStart, rng));
  EXPECT_EQ(slots, (std::set<std::uint32_t>{4, 5}));
}

TEST(SlotOrder, a_station_is_forgotten_after_half_an_hour) {
  SlotOrder order(station(0));
  order.on_station(kStart, station(0));
  order.on_station(kStart, station(1));
  order.on_station(kStart + 10min, station(2));
  EXPECT_EQ(order.others(kStart + SlotOrder::kStationMemory - 1ns), 2u);
  EXPECT_EQ(order.others(kStart + SlotOrder::kStationMemory), 1u);
  EXPECT_EQ(order.slots(kStart + SlotOrder::kStationMemory), 1 + SlotOrder::kSpareSlots);
}

TEST(SlotOrder, of_too_many_stations_those_heard_last_are_remembered) {
  SlotOrder order(station(0));
  for (std::uint32_t i = 1; i <= SlotOrder::kStationsMax + 1; ++i) {
    order.on_station(kStart + i * 1s, station(i));
  }
  EXPECT_EQ(order.others(kStart + 1min), SlotOrder::kStationsMax);
}

}  // namespace
}  // namespace s5066::dts
