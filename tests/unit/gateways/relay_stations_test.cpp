// SPDX-License-Identifier: Apache-2.0
// The relay sends files to many stations. No file waits for a station that does not answer, or for
// a large file.
#include "tests/unit/gateways/relay_stations.h"

#include <gtest/gtest.h>

namespace s5066::file_relay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::RelayStations;

constexpr unsigned kLive = 1;
constexpr unsigned kOther = 2;
constexpr unsigned kAway = 3;

/// The time of a transmission that has begun, and of the next one, which has the file in it.
constexpr Duration kTwoTransmissions = 2 * (RelayStations::kTransmission + RelayStations::kTurn);

void report(const char* what, std::optional<Duration> time) {
  testing::Test::RecordProperty(what, time ? std::to_string(to_seconds(*time)) : "never");
  std::printf("%s: %s s\n", what, time ? std::to_string(to_seconds(*time)).c_str() : "never");
}

TEST(RelayStations, files_to_an_absent_station_do_not_delay_one_to_a_live_station) {
  for (const int files : {0, 6, 20, 200}) {
    SCOPED_TRACE(files);
    RelayStations world;
    world.set_away(kAway, true);
    for (int i = 0; i < files; ++i) world.send(kAway, "away" + std::to_string(i), 2000);
    world.run_for(seconds(10));
    world.send(kLive, "six", 6);
    const auto took = world.time_until_arrival(kLive, "six", hours(3));
    report(("6 octets behind " + std::to_string(files) + " files to an absent station").c_str(),
           took);
    ASSERT_TRUE(took);
    EXPECT_LT(*took, seconds(1));
  }
}

TEST(RelayStations, a_station_without_files_is_forgotten_once_nothing_is_known_of_it) {
  RelayStations world;
  constexpr unsigned kStations = 20;
  for (unsigned to = 1; to <= kStations; ++to) world.send(to, "f", 10);
  world.run_for(minutes(59));
  EXPECT_EQ(world.core().sender().stations(), kStations);
  for (unsigned to = 1; to <= kStations; ++to) EXPECT_EQ(world.files_at(to), 1u);
  world.hear(kLive);
  world.run_for(minutes(2));
  EXPECT_EQ(world.core().sender().stations(), 1u) << "one was heard lately";
  world.run_for(hours(1));
  EXPECT_EQ(world.core().sender().stations(), 0u);
  world.send(kLive, "g", 10);
  world.run_for(minutes(5));
  EXPECT_EQ(world.files_at(kLive), 2u);
}

TEST(RelayStations, a_silent_station_is_forgotten_when_its_files_are_over_and_not_before) {
  RelayStations world;
  world.set_away(kAway, true);
  world.send(kAway, "f", 10);
  world.run_for(hours(23));
  EXPECT_EQ(world.core().sender().stations(), 1u);
  EXPECT_EQ(world.core().sender().silent_stations(world.now()).size(), 1u);
  world.run_for(hours(4));
  EXPECT_EQ(world.core().sender().stations(), 0u);
  world.set_away(kAway, false);
  world.send(kAway, "g", 10);
  world.run_for(minutes(5));
  EXPECT_EQ(world.files_at(kAway), 1u);
}

// Goal:   thousands of files may wait, and the work for one that is on its way does not grow with
//         their number.
TEST(RelayStations, neither_pieces_nor_polls_look_through_all_files_that_wait) {
  RelayStations world;
  world.send(kLive, "large", 1'000'000);
  world.run_for(seconds(10));
  const auto before = world.core().sender().counters()[RelaySenderCounter::spool_scans];
  const auto took = world.time_until_arrival(kLive, "large", hours(3));
  ASSERT_TRUE(took);
  EXPECT_GT(*took, minutes(50));
  world.run_for(minutes(5));
  EXPECT_LE(world.core().sender().counters()[RelaySenderCounter::spool_scans], before + 2)
      << "after its end";
}

TEST(RelayStations, many_absent_stations_do_not_delay_a_live_one) {
  RelayStations world;
  for (unsigned away = 10; away < 30; ++away) {
    world.set_away(away, true);
    for (int i = 0; i < 10; ++i) world.send(away, "away" + std::to_string(i), 100'000);
  }
  world.run_for(seconds(10));
  world.send(kLive, "six", 6);
  const auto took = world.time_until_arrival(kLive, "six", hours(3));
  ASSERT_TRUE(took);
  EXPECT_LT(*took, seconds(1));
  // The node switches the flow off at 75 % of 512 KiB.
  EXPECT_LT(world.octets_at_node(), 375'000u);
}

TEST(RelayStations, a_small_file_does_not_wait_for_a_large_one_to_another_station) {
  for (const std::size_t octets : {300'000u, 5'000'000u}) {
    SCOPED_TRACE(octets);
    RelayStations world;
    world.send(kOther, "large", octets);
    world.run_for(minutes(5));
    world.send(kLive, "seven", 7);
    const auto took = world.time_until_arrival(kLive, "seven", hours(10));
    report(("7 octets behind " + std::to_string(octets) + " to another station").c_str(), took);
    ASSERT_TRUE(took);
    EXPECT_LE(*took, kTwoTransmissions);
  }
}

TEST(RelayStations, a_small_file_overtakes_a_large_one_to_the_same_station) {
  for (const std::size_t octets : {300'000u, 5'000'000u}) {
    SCOPED_TRACE(octets);
    RelayStations world;
    world.send(kLive, "large", octets);
    world.run_for(minutes(5));
    world.send(kLive, "seven", 7);
    const auto took = world.time_until_arrival(kLive, "seven", hours(10));
    report(("7 octets behind " + std::to_string(octets) + " to the same station").c_str(), took);
    ASSERT_TRUE(took);
    EXPECT_LE(*took, kTwoTransmissions);
  }
}

TEST(RelayStations, a_middling_file_overtakes_a_large_one_and_the_large_one_arrives_all_the_same) {
  RelayStations world;
  world.send(kLive, "large", 2'000'000);
  world.run_for(minutes(5));
  world.send(kLive, "middling", 60'000);
  const auto took = world.time_until_arrival(kLive, "middling", hours(3));
  ASSERT_TRUE(took);
  EXPECT_LT(*took, minutes(20));
  EXPECT_TRUE(world.time_until_arrival(kLive, "large", hours(3)));
}

TEST(RelayStations, a_stream_of_small_files_does_not_starve_a_large_one) {
  RelayStations world;
  world.send(kLive, "large", 100'000);
  int sent = 0;
  while (!world.arrived_at(kLive, "large") && sent < 600) {
    world.send(kLive, "small" + std::to_string(sent++), 4000);
    world.run_for(seconds(20));
  }
  EXPECT_TRUE(world.arrived_at(kLive, "large"));
  EXPECT_LT(sent, 600);
}

TEST(RelayStations, expiry_and_its_report_are_on_time_whatever_else_waits) {
  RelayStations world({}, 1200);
  world.set_away(kAway, true);
  std::vector<gateways::SpoolId> away;
  for (int i = 0; i < 50; ++i) away.push_back(world.send(kAway, "a" + std::to_string(i), 2000));
  world.send(kLive, "large", 5'000'000);
  const auto too_large = world.send(kOther, "too large for a day", 15'000'000);
  world.run_for(hours(24) - seconds(30));
  for (const auto id : away) EXPECT_FALSE(gateways::is_final(world.item(id).state));
  world.run_for(minutes(1));
  for (const auto id : away) {
    EXPECT_EQ(world.item(id).state, SpoolState::expired);
    EXPECT_NE(world.item(id).reason.find("does not respond"), std::string::npos)
        << world.item(id).reason;
  }
  EXPECT_EQ(world.item(too_large).state, SpoolState::expired);
  EXPECT_TRUE(world.core().transfers().empty());
}

TEST(RelayStations, an_absent_station_is_tried_with_one_file_at_growing_intervals) {
  RelayStations world;
  world.set_away(kAway, true);
  for (int i = 0; i < 20; ++i) world.send(kAway, "away" + std::to_string(i), 7000);
  world.run_for(minutes(4));
  const auto at_first = world.updus_to(kAway);
  EXPECT_LE(at_first, 8u);
  world.run_for(hours(23));
  EXPECT_GE(world.updus_to(kAway), at_first + 20);
  EXPECT_LE(world.updus_to(kAway), at_first + 32);
  EXPECT_LE(world.core().transfers().size(), 1u);
  const auto silent = world.core().sender().silent_stations(world.now());
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].address, RelayStations::station(kAway));
  EXPECT_EQ(silent[0].files, 20u);
  EXPECT_EQ(silent[0].reason, "the station does not respond");
}

TEST(RelayStations, a_station_that_is_heard_again_gets_its_files_at_once) {
  RelayStations world;
  world.set_away(kAway, true);
  for (int i = 0; i < 20; ++i) world.send(kAway, "away" + std::to_string(i), 700);
  world.run_for(hours(8));
  world.set_away(kAway, false);
  world.hear(kAway);
  world.run_for(minutes(10));
  EXPECT_EQ(world.files_at(kAway), 20u);
}

TEST(RelayStations, a_file_accepted_for_a_silent_station_is_tried_within_a_minute) {
  RelayStations world;
  world.set_away(kAway, true);
  world.send(kAway, "old", 700);
  world.run_for(hours(8) + minutes(7));
  world.set_away(kAway, false);
  world.send(kAway, "new", 700);
  const auto took = world.time_until_arrival(kAway, "new", minutes(10));
  ASSERT_TRUE(took);
  EXPECT_LE(*took, minutes(1) + RelayStations::kCalls + kTwoTransmissions);
  world.run_for(minutes(10));
  EXPECT_EQ(world.files_at(kAway), 2u);
}

}  // namespace
}  // namespace s5066::file_relay
