// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/load_schedule.h"

#include <gtest/gtest.h>

#include "gateways/traffic/probe.h"

namespace s5066::traffic {
namespace {

using namespace std::chrono_literals;
using Item = LoadSchedule::Item;

std::vector<Item> all(const LoadPlan& plan) {
  LoadSchedule schedule(plan);
  std::vector<Item> items;
  while (const auto item = schedule.next()) items.push_back(*item);
  return items;
}

TEST(LoadSchedule, sends_each_probe_when_the_line_has_ended_the_one_before) {
  // 512 octets at 70 % of 1200 bit/s take 4096 / 840 s.
  const auto items = all({.rate_bps = 840, .count = 3});
  EXPECT_EQ(items,
            (std::vector<Item>{{0, 512, 0s}, {1, 512, 4876190476ns}, {2, 512, 9752380952ns}}));
}

TEST(LoadSchedule, uses_sizes_in_turn_and_keeps_the_mean_rate) {
  const auto items = all({.rate_bps = 800, .sizes = {{100, 100}, {300, 300}}, .count = 4});
  EXPECT_EQ(items, (std::vector<Item>{{0, 100, 0s}, {1, 300, 1s}, {2, 100, 4s}, {3, 300, 5s}}));
}

TEST(LoadSchedule, sends_a_burst_at_once_and_keeps_the_mean_rate) {
  const auto items = all(
      {.rate_bps = 800, .sizes = {{100, 100}}, .pattern = Pattern::burst, .burst = 3, .count = 5});
  EXPECT_EQ(items, (std::vector<Item>{
                       {0, 100, 0s}, {1, 100, 0s}, {2, 100, 0s}, {3, 100, 3s}, {4, 100, 3s}}));
}

TEST(LoadSchedule, has_a_probe_before_the_end_of_its_time_and_none_at_it) {
  const LoadPlan plan{.rate_bps = 800, .sizes = {{100, 100}}, .length = 10s};
  EXPECT_EQ(all(plan).size(), 10u);
  EXPECT_EQ(LoadSchedule::count(plan).value(), 10u);
  LoadPlan longer = plan;
  longer.length = 10s + 1ns;
  EXPECT_EQ(LoadSchedule::count(longer).value(), 11u);
}

TEST(LoadSchedule, has_random_gaps_with_the_mean_of_the_rate) {
  const auto items =
      all({.rate_bps = 800, .sizes = {{100, 100}}, .pattern = Pattern::poisson, .count = 10'000});
  EXPECT_NEAR(to_seconds(items.back().at), 10'000, 300);
  std::size_t short_gaps = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (items[i].at - items[i - 1].at < 693ms) ++short_gaps;  // half of all, for ln 2
  }
  EXPECT_NEAR(static_cast<double>(short_gaps), 5'000, 200);
}

TEST(LoadSchedule, is_the_same_again_with_the_same_seed) {
  LoadPlan plan{.rate_bps = 800, .sizes = {{64, 1500}}, .pattern = Pattern::poisson, .count = 50};
  const auto first = all(plan);
  EXPECT_EQ(all(plan), first);
  for (const Item& item : first) {
    EXPECT_GE(item.octets, 64u);
    EXPECT_LE(item.octets, 1500u);
  }
  plan.seed = 2;
  EXPECT_NE(all(plan), first);
}

TEST(LoadSchedule, is_limited_to_the_probes_that_a_receiver_can_count) {
  EXPECT_EQ(LoadSchedule::count({.rate_bps = 1, .count = kProbesMax}).value(), kProbesMax);
  EXPECT_FALSE(LoadSchedule::count({.rate_bps = 1, .count = kProbesMax + 1}));
}

TEST(Sizes, are_numbers_ranges_and_lists) {
  EXPECT_EQ(parse_sizes("512", 64, 1500).value(), (std::vector<SizeRange>{{512, 512}}));
  EXPECT_EQ(parse_sizes("64-1500,512", 64, 1500).value(),
            (std::vector<SizeRange>{{64, 1500}, {512, 512}}));
  for (const char* wrong :
       {"", "x", "64,", "-5", "63", "1501", "64-1501", "200-100", "64-", "1e3"}) {
    EXPECT_FALSE(parse_sizes(wrong, 64, 1500)) << wrong;
  }
  std::string many = "512";
  for (std::size_t i = 1; i < kSizesMax; ++i) many += ",512";
  EXPECT_TRUE(parse_sizes(many, 64, 1500));
  EXPECT_FALSE(parse_sizes(many + ",512", 64, 1500));
}

}  // namespace
}  // namespace s5066::traffic
