// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/sending_rules.h"

#include <gtest/gtest.h>

#include "tests/unit/gateways/relay_stations.h"
#include "tests/unit/gateways/relay_world.h"

namespace s5066::file_relay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::RelayStations;
using test::RelayWorld;
using Side = RelayWorld::Side;
using Kind = RelayEvent::Kind;

constexpr Side kLeft = RelayWorld::kLeft;
constexpr Side kRight = RelayWorld::kRight;
constexpr std::int64_t kMidnight =
    1'700'006'400;  // 2023-11-15 00:00:00 UTC; the worlds begin 22:13

constexpr std::uint16_t at(int hour, int minute) {
  return static_cast<std::uint16_t>(hour * 60 + minute);
}

UtcSeconds utc(int hour, int minute, int second = 0) {
  return {kMidnight + hour * 3600 + minute * 60 + second};
}

Bytes content_of(std::size_t size, std::uint64_t seed = 1) {
  Rng rng(seed);
  Bytes bytes(size);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

void restart(RelayWorld& world, Side side) {
  world.kill(side);
  world.start(side);
}

TEST(SendingRules, a_rule_without_windows_is_always_open) {
  const SendingRule rule;
  EXPECT_EQ(rule.opens_at(utc(3, 0), 0), utc(3, 0));
  EXPECT_FALSE(rule.closes_at(utc(3, 0), 0));
}

TEST(SendingRules, a_window_opens_at_its_first_second_and_closes_after_its_last) {
  SendingRule rule;
  rule.windows = {{at(6, 0), at(8, 30)}};
  EXPECT_EQ(rule.opens_at(utc(5, 59, 59), 0), utc(6, 0));
  EXPECT_EQ(rule.opens_at(utc(6, 0), 0), utc(6, 0));
  EXPECT_EQ(rule.opens_at(utc(8, 29, 59), 0), utc(8, 29, 59));
  EXPECT_EQ(rule.opens_at(utc(8, 30), 0), utc(24 + 6, 0));
  EXPECT_EQ(rule.closes_at(utc(6, 0), 0), utc(8, 30));
  EXPECT_FALSE(rule.closes_at(utc(8, 30), 0));
}

TEST(SendingRules, a_window_goes_over_midnight) {
  SendingRule rule;
  rule.windows = {{at(22, 0), at(6, 0)}};
  EXPECT_EQ(rule.opens_at(utc(23, 0), 0), utc(23, 0));
  EXPECT_EQ(rule.opens_at(utc(0, 0), 0), utc(0, 0));
  EXPECT_EQ(rule.opens_at(utc(12, 0), 0), utc(22, 0));
  EXPECT_EQ(rule.closes_at(utc(23, 0), 0), utc(24 + 6, 0));
  EXPECT_EQ(rule.closes_at(utc(5, 59, 59), 0), utc(6, 0));
}

TEST(SendingRules, windows_that_touch_are_one) {
  SendingRule rule;
  rule.windows = {{at(6, 0), at(8, 0)}, {at(8, 0), at(10, 0)}};
  EXPECT_EQ(rule.closes_at(utc(7, 0), 0), utc(10, 0));
  rule.windows.push_back({at(10, 0), at(6, 0)});
  EXPECT_FALSE(rule.closes_at(utc(7, 0), 0));
}

TEST(SendingRules, urgent_files_do_not_wait) {
  SendingRule rule;
  rule.windows = {{at(6, 0), at(8, 0)}};
  rule.urgent_priority = 12;
  EXPECT_EQ(rule.opens_at(utc(5, 0), 12), utc(5, 0));
  EXPECT_EQ(rule.opens_at(utc(5, 0), 11), utc(6, 0));
}

TEST(SendingRules, one_transmission_to_several_stations_waits_for_a_time_in_all_their_windows) {
  SendingTable table;
  table.stations[RelayStations::station(1)].windows = {{at(6, 0), at(9, 0)}};
  table.stations[RelayStations::station(2)].windows = {{at(8, 0), at(12, 0)}};
  table.stations[RelayStations::station(3)].windows = {{at(20, 0), at(21, 0)}};
  const auto opens = [&](std::vector<unsigned> numbers) {
    std::vector<Address> to;
    for (const unsigned number : numbers) to.push_back(RelayStations::station(number));
    return table.opens_at(utc(5, 0), to, 4);
  };
  EXPECT_EQ(opens({1, 2}), utc(8, 0));
  EXPECT_EQ(opens({1, 2, 4}), utc(8, 0)) << "a station without windows";
  EXPECT_EQ(opens({1, 3}), utc(6, 0)) << "there is no common time, so that of one counts";
}

TEST(TransferWindow, a_file_waits_for_it_and_an_urgent_one_does_not) {
  for (const bool service : {false, true}) {
    SCOPED_TRACE(service);
    RelayWorld world(1, {.transfers = {service, service}});
    world.core_config.sender.sending.others.windows = {{at(23, 0), at(23, 30)}};
    world.core_config.sender.sending.others.urgent_priority = 12;
    restart(world, kLeft);
    world.send(kLeft, "later", content_of(3000));
    world.run_for(minutes(46));  // to 22:59:20
    EXPECT_EQ(world.updus_sent(kLeft), 0u);
    world.send(kLeft, "urgent", content_of(3000, 2), std::uint8_t{12});
    world.run_for(seconds(30));
    EXPECT_TRUE(world.inbox(kRight).contains("urgent"));
    EXPECT_FALSE(world.inbox(kRight).contains("later"));
    world.run_for(minutes(2));
    EXPECT_TRUE(world.inbox(kRight).contains("later"));
  }
}

TEST(TransferWindow, a_large_file_stops_at_its_end_and_goes_on_the_next_day) {
  RelayWorld world(1, {.transfers = {true, true}});
  world.core_config.sender.sending.others.windows = {{at(23, 0), at(23, 5)}};
  world.core_config.sender.lifetime_max = hours(24 * 7);
  restart(world, kLeft);
  const std::size_t size = 1'200'000;
  const auto id = world.send(kLeft, "large", content_of(size));
  world.run_for(minutes(52));  // to 23:05:20
  const auto sent = world.updus_sent(kLeft);
  EXPECT_GT(sent, 100u);
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  world.run_for(hours(23));
  EXPECT_EQ(world.updus_sent(kLeft), sent);
  EXPECT_TRUE(world.run_until_delivered(hours(24 * 6)));
  EXPECT_EQ(world.inbox(kRight).at("large"), content_of(size));
  EXPECT_LE(world.block_octets(kLeft), size + size / 20) << "nothing went from the beginning again";
}

TEST(TransferWindow, the_clock_that_is_set_opens_it) {
  RelayWorld world(1);
  world.core_config.sender.sending.others.windows = {{at(2, 0), at(3, 0)}};
  restart(world, kLeft);
  world.send(kLeft, "f", content_of(3000));
  world.run_for(minutes(10));
  EXPECT_EQ(world.updus_sent(kLeft), 0u);
  world.set_clock(kLeft, hours(4));
  world.run_for(minutes(2));
  EXPECT_TRUE(world.inbox(kRight).contains("f"));
}

TEST(TransferWindow, the_clock_that_is_set_opens_it_for_a_file_that_it_has_stopped) {
  RelayWorld world(1);
  world.core_config.sender.sending.others.windows = {{at(22, 14), at(22, 16)},
                                                     {at(2, 0), at(3, 0)}};
  restart(world, kLeft);
  const auto id = world.send(kLeft, "f", content_of(1'000'000));
  world.run_for(minutes(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  const auto sent = world.updus_sent(kLeft);
  EXPECT_GT(sent, 0u);
  world.set_clock(kLeft, hours(4));
  world.run_for(minutes(2));
  EXPECT_GT(world.updus_sent(kLeft), sent);
}

TEST(TransferWindow, its_end_uses_up_no_attempts) {
  RelayWorld world(1);
  SendingRule& rule = world.core_config.sender.sending.others;
  for (const int minute : {0, 5, 10, 15, 20}) {
    rule.windows.push_back({at(23, minute), at(23, minute + 2)});
  }
  world.core_config.sender.attempts_max = 2;
  restart(world, kLeft);
  const auto id = world.send(kLeft, "f", content_of(1'000'000));
  world.run_for(minutes(66));  // to 23:19:20
  EXPECT_EQ(world.item(kLeft, id).attempts, 4u);
  world.subnet.rejected = 1;
  world.run_for(minutes(2));
  EXPECT_EQ(world.item(kLeft, id).attempts, 5u);
  EXPECT_EQ(world.item(kLeft, id).reason, "the station does not respond");
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
}

TEST(TransferWindow, a_file_whose_lifetime_ends_before_it_says_so) {
  RelayWorld world(1);
  world.core_config.sender.sending.others.windows = {{at(12, 0), at(13, 0)}};
  world.core_config.sender.lifetime_max = hours(2);
  restart(world, kLeft);
  const auto id = world.send(kLeft, "f", content_of(3000));
  world.run_for(hours(2) + minutes(1));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::expired);
  EXPECT_NE(world.item(kLeft, id).reason.find("transfer window"), std::string::npos);
}

// Goal: a station that never answers, and one whose window is shut, do not hold up a third one.
TEST(TransferWindow, files_of_other_stations_do_not_wait_for_it) {
  RelayCore::Config config;
  config.sender.sending.stations[RelayStations::station(2)].windows = {{at(23, 0), at(23, 30)}};
  RelayStations world(config);
  world.set_away(3, true);
  world.send(3, "away", 2000);
  world.send(2, "later", 2000);
  world.send(1, "now", 2000);
  world.run_for(minutes(10));
  EXPECT_EQ(world.files_at(1), 1u);
  EXPECT_EQ(world.updus_to(2), 0u);
  world.run_for(minutes(40));
  EXPECT_EQ(world.files_at(2), 1u);
  EXPECT_EQ(world.files_at(3), 0u);
}

TEST(StationLimits, a_station_with_a_full_quota_is_refused_and_served_when_there_is_room) {
  RelayWorld world(1, {.transfers = {true, true}});
  world.core_config.transfers.access.others.quota.inbox_octets_max = 5000;
  restart(world, kRight);
  world.send(kLeft, "f", content_of(4000));
  ASSERT_TRUE(world.run_until_delivered(hours(1)));
  const auto id = world.send(kLeft, "g", content_of(3000, 2));
  const auto before = world.updus_sent(kLeft);
  world.run_for(hours(12));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  EXPECT_NE(world.item(kLeft, id).reason.find("the limit is 5000"), std::string::npos)
      << world.item(kLeft, id).reason;
  EXPECT_LE(world.updus_sent(kLeft), before + 60) << "offers grow rare";
  EXPECT_EQ(world.inbox(kRight).size(), 1u);
  std::filesystem::remove(world.inbox_path(kRight) / "f");
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
  EXPECT_TRUE(world.inbox(kRight).contains("g"));
}

TEST(StationLimits, a_file_that_never_fits_fails_at_once) {
  RelayWorld world(1, {.transfers = {true, true}});
  world.core_config.transfers.access.others.quota.inbox_octets_max = 5000;
  restart(world, kRight);
  const auto id = world.send(kLeft, "f", content_of(5001));
  world.run_for(minutes(30));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::failed);
  EXPECT_NE(world.item(kLeft, id).reason.find("5000 octets"), std::string::npos);
}

TEST(StationLimits, a_file_by_bftp_above_the_quota_is_dropped_and_the_log_says_so) {
  RelayWorld world(1);
  world.core_config.receiver.access.others.quota.inbox_octets_max = 5000;
  restart(world, kRight);
  world.send(kLeft, "f", content_of(4000));
  ASSERT_TRUE(world.run_until_delivered(hours(1)));
  world.send(kLeft, "g", content_of(3000, 2));
  world.run_for(minutes(5));
  EXPECT_EQ(world.inbox(kRight).size(), 1u);
  EXPECT_GE(world.events(kRight, Kind::file_dropped), 1u);
}

TEST(StationLimits, what_waits_for_a_station_is_limited_when_it_is_handed_over) {
  RelayWorld world(1);
  auto config = world.store_config(kLeft);
  const Address small{0x01020309};
  const Address other{0x0102030a};
  config.station_send_limits[small] = {.file_octets_max = 1000, .waiting_octets_max = 1500};
  auto store = gateways::SqliteStore::open(config);
  ASSERT_TRUE(store);
  const auto hand_over = [&](Address to, std::size_t octets) {
    const auto id = store->enqueue(
        {.destination = to, .name = "f", .content = Bytes(octets), .now = {kMidnight}});
    return id ? std::optional<ErrorCode>() : id.error().code;
  };
  EXPECT_EQ(hand_over(small, 1001), ErrorCode::too_large);
  EXPECT_EQ(hand_over(small, 1000), std::nullopt);
  EXPECT_EQ(hand_over(small, 501), ErrorCode::queue_full);
  EXPECT_EQ(hand_over(small, 500), std::nullopt);
  EXPECT_EQ(hand_over(other, 5000), std::nullopt);
}

}  // namespace
}  // namespace s5066::file_relay
