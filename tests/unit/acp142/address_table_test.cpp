// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/address_table.h"

#include <gtest/gtest.h>

namespace s5066::acp142 {
namespace {

Route to(std::uint32_t station) {
  return {.own = false, .stations = {{station}}};
}

TEST(AddressTable, the_most_exact_entry_wins) {
  AddressTable table;
  ASSERT_TRUE(table.add({"*", to(1)}));
  ASSERT_TRUE(table.add({"*.fleet.example", to(2)}));
  ASSERT_TRUE(table.add({"*.red.fleet.example", to(3)}));
  ASSERT_TRUE(table.add({"Ship.red.Fleet.example", to(4)}));
  ASSERT_TRUE(table.add({"ops@ship.red.fleet.example", to(5)}));
  ASSERT_TRUE(table.add({"shore.example", {.own = true, .stations = {}}}));
  EXPECT_EQ(*table.find("OPS@ship.RED.fleet.example"), to(5));
  EXPECT_EQ(*table.find("x@ship.red.fleet.example"), to(4));
  EXPECT_EQ(*table.find("x@boat.red.fleet.example"), to(3));
  EXPECT_EQ(*table.find("x@blue.fleet.example"), to(2));
  EXPECT_EQ(*table.find("x@fleet.example"), to(1));
  EXPECT_TRUE(table.find("x@shore.example")->own);
  EXPECT_TRUE(table.find("Postmaster")->own);
}

TEST(AddressTable, nothing_fits_where_there_is_no_entry_for_the_rest) {
  AddressTable table;
  ASSERT_TRUE(table.add({"a.example", to(1)}));
  EXPECT_EQ(table.find("x@b.example"), nullptr);
  EXPECT_EQ(table.find("x@sub.a.example"), nullptr);
}

// PM-107
TEST(AddressTable, only_what_is_behind_stations_can_be_relayed) {
  AddressTable table;
  EXPECT_FALSE(table.add({"a.example", {.own = true, .stations = {}, .relay = true}}).ok());
  EXPECT_TRUE(table.add({"a.example", {.own = false, .stations = {{2}}, .relay = true}}).ok());
  EXPECT_TRUE(table.find("x@a.example")->relay);
}

TEST(AddressTable, entries_that_mean_nothing_or_twice_the_same_are_refused) {
  AddressTable table;
  ASSERT_TRUE(table.add({"a.example", to(1)}));
  EXPECT_EQ(table.add({"A.Example", to(2)}).error().code, ErrorCode::already_exists);
  for (const char* pattern :
       {"", "a*b.example", "*.", "**", "@a.example", "a b@c", "*@a.example x"}) {
    EXPECT_FALSE(table.add({pattern, to(1)})) << pattern;
  }
  EXPECT_FALSE(table.add({"b.example", {}}));
  EXPECT_FALSE(table.add({"c.example", {.own = true, .stations = {{1}}}}));
}

}  // namespace
}  // namespace s5066::acp142
