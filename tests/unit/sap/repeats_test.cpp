// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/repeats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/sap/interface_fixture.h"

namespace s5066::sap {
namespace {

constexpr Address kAlpha{1};
constexpr Address kBravo{2};
constexpr Instant kNow{};
using sis::Confirmation;

DataSpdu data(std::uint8_t octet, std::optional<TimeToDie> ttd = TimeToDie{3, 100}) {
  return {.priority = 5,
          .source_sap = SapId{5},
          .destination_sap = SapId{5},
          .time_to_die = ttd,
          .updu = Bytes{octet}};
}

TEST(RepeatMarker, equal_u_pdus_of_one_moment_get_times_of_their_own) {
  RepeatMarker marker(10);
  EXPECT_EQ(marker.distinct(kAlpha, data(1), UtcSeconds{1000}).value, 1000);
  EXPECT_EQ(marker.distinct(kAlpha, data(1), UtcSeconds{1001}).value, 1002);
  EXPECT_EQ(marker.distinct(kAlpha, data(1), UtcSeconds{1000}).value, 1004);
  EXPECT_EQ(marker.distinct(kAlpha, data(2), UtcSeconds{1000}).value, 1000);
  EXPECT_EQ(marker.distinct(kBravo, data(1), UtcSeconds{1000}).value, 1000);
  EXPECT_EQ(marker.distinct(kAlpha, data(1), UtcSeconds{2001}).value, 2001);
}

// Each U_PDU that a receiver may still remember has a time of its own, however often an equal one
// is sent. No time is far beyond the requested one.
TEST(RepeatMarker, a_flood_of_equal_u_pdus_does_not_push_their_times_to_die_ahead_for_ever) {
  constexpr std::size_t kRemembered = 10;
  RepeatMarker marker(kRemembered);
  std::vector<std::int64_t> given;
  for (int i = 0; i < 200; ++i) {
    // A client may alternate between two times.
    const std::int64_t wanted = i % 3 == 0 ? 1000 : 1010 + i / 50;
    given.push_back(marker.distinct(kAlpha, data(1), UtcSeconds{wanted}).value);
    EXPECT_GE(given.back(), wanted);
    EXPECT_LE(given.back(), wanted + 2 * 2 * static_cast<std::int64_t>(kRemembered)) << i;
    const auto recent = given.end() - std::min<std::ptrdiff_t>(i, 2 * kRemembered) - 1;
    EXPECT_EQ(std::count_if(recent, given.end(),
                            [&](std::int64_t at) { return at / 2 == given.back() / 2; }),
              1)
        << i;
  }
}

// Equal U_PDUs for one time each take the next free unit, however many there are.
TEST(RepeatMarker, equal_u_pdus_of_one_moment_lie_close_together) {
  RepeatMarker marker(1000);
  for (std::int64_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(marker.distinct(kAlpha, data(1), UtcSeconds{1000}).value, 1000 + 2 * i);
  }
  EXPECT_EQ(marker.distinct(kAlpha, data(1), UtcSeconds{1000}).value, 5000);
  // The marker has forgotten the oldest one in exchange.
  EXPECT_EQ(marker.distinct(kAlpha, data(1), UtcSeconds{1000}).value, 1000);
}

TEST(RepeatFilter, only_what_came_over_an_earlier_link_is_a_repetition) {
  RepeatFilter filter(10);
  filter.on_delivered(kAlpha, data(1), kNow);
  // On the same link ARQ removes repetitions.
  EXPECT_FALSE(filter.is_repeat(kNow, kAlpha, data(1)));
  filter.on_link_made(kBravo);
  EXPECT_FALSE(filter.is_repeat(kNow, kAlpha, data(1)));
  filter.on_link_made(kAlpha);
  EXPECT_TRUE(filter.is_repeat(kNow, kAlpha, data(1)));
  EXPECT_FALSE(filter.is_repeat(kNow, kBravo, data(1)));
  EXPECT_FALSE(filter.is_repeat(kNow, kAlpha, data(2)));
  EXPECT_FALSE(filter.is_repeat(kNow, kAlpha, data(1, TimeToDie{3, 101})));
}

TEST(RepeatFilter, without_a_time_to_die_nothing_counts_as_repeated) {
  RepeatFilter filter(10);
  filter.on_delivered(kAlpha, data(1, std::nullopt), kNow);
  filter.on_link_made(kAlpha);
  EXPECT_FALSE(filter.is_repeat(kNow, kAlpha, data(1, std::nullopt)));
}

TEST(RepeatFilter, knows_each_for_as_long_as_it_may_be_sent_again) {
  RepeatFilter filter(2);
  constexpr Instant kLater = kNow + std::chrono::hours(1);
  filter.on_delivered(kAlpha, data(1), kNow);
  filter.on_link_made(kAlpha);
  filter.on_delivered(kAlpha, data(1), kLater);  // an equal one sixteen days later
  EXPECT_TRUE(filter.is_repeat(kNow, kAlpha, data(1)));
  EXPECT_FALSE(filter.is_repeat(kLater, kAlpha, data(1)));
  filter.on_link_made(kAlpha);
  EXPECT_TRUE(filter.is_repeat(kLater, kAlpha, data(1)));
  filter.on_delivered(kAlpha, data(2), kLater);  // pushes out the first of the equal two
  EXPECT_TRUE(filter.is_repeat(kLater, kAlpha, data(1)));
  EXPECT_FALSE(filter.is_repeat(kLater + Duration(1), kAlpha, data(1)));
}

TEST(RepeatFilter, remembers_the_newest_up_to_its_limit) {
  RepeatFilter filter(2);
  for (const std::uint8_t octet : Bytes{1, 2, 3}) filter.on_delivered(kAlpha, data(octet), kNow);
  filter.on_link_made(kAlpha);
  EXPECT_FALSE(filter.is_repeat(kNow, kAlpha, data(1)));
  EXPECT_TRUE(filter.is_repeat(kNow, kAlpha, data(2)));
  EXPECT_TRUE(filter.is_repeat(kNow, kAlpha, data(3)));
}

// Goal:   a peer that sends a flood does not make us forget what another peer has sent.
TEST(RepeatFilter, a_flood_of_one_sender_pushes_out_its_own_only) {
  RepeatFilter filter(8);
  for (const std::uint8_t octet : Bytes{1, 2, 3}) filter.on_delivered(kAlpha, data(octet), kNow);
  for (std::uint8_t octet = 0; octet < 100; ++octet) filter.on_delivered(kBravo, data(octet), kNow);
  filter.on_link_made(kAlpha);
  filter.on_link_made(kBravo);
  for (const std::uint8_t octet : Bytes{1, 2, 3})
    EXPECT_TRUE(filter.is_repeat(kNow, kAlpha, data(octet)));
  for (std::uint8_t octet = 0; octet < 100; ++octet) {
    EXPECT_EQ(filter.is_repeat(kNow, kBravo, data(octet)), octet >= 95) << int{octet};
  }
}

class Repeats : public InterfaceFixture {};

// Goal:   a U_PDU that a client sends at the same time of each day arrives each day. A U_PDU that
//         is sent again after a broken link arrives once, as long as it lives.
// Method: the same U_PDU, which lives for ten days, is sent on each day of two months, over a link
//         of its own. Each is sent again nine days later.
TEST_F(Repeats, the_same_u_pdu_of_another_day_is_no_repetition) {
  const ClientId client = bind(4, Confirmation::none);
  std::vector<DataSpdu> daily;
  const auto utc_now = [&] {
    return UtcSeconds{1795428000 +
                      std::chrono::duration_cast<std::chrono::seconds>(now - Instant{}).count()};
  };
  for (std::size_t day = 0; day < 60; ++day) {
    wait(std::chrono::hours(24));
    core->on_utc(now, utc_now());  // noon, beginning at the end of November
    const UtcSeconds dies_at{utc_now().value + 10 * 24 * 3600};
    daily.push_back(
        {.destination_sap = SapId{4}, .time_to_die = encode_time_to_die(utc_now(), dies_at)});
    make(kPeer);
    hear(daily.back());
    EXPECT_EQ(sent<sis::UnidataIndication>(client), day + 1);
    if (day >= 9) hear(daily[day - 9]);
    EXPECT_EQ(sent<sis::UnidataIndication>(client), day + 1);
    core->on_link_broken(now, {kPeer, cas::LinkEnd::connection_lost});
    drain();
  }
}

// A sender of another maker may use dates that ours would not.
TEST_F(Repeats, a_u_pdu_whose_date_cannot_be_told_is_known_when_it_comes_again) {
  const ClientId client = bind(4, Confirmation::none);
  core->on_utc(now, UtcSeconds{1772409540});  // 2026-03-01, the sixtieth day of the year
  const DataSpdu far{.destination_sap = SapId{4}, .time_to_die = TimeToDie{(60 + 13) % 16, 0}};
  make(kPeer);
  hear(far);
  core->on_link_broken(now, {kPeer, cas::LinkEnd::connection_lost});
  drain();
  wait(std::chrono::hours(30));
  make(kPeer);
  hear(far);
  EXPECT_EQ(sent<sis::UnidataIndication>(client), 1u);
}

}  // namespace
}  // namespace s5066::sap
