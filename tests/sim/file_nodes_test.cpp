// SPDX-License-Identifier: Apache-2.0
// Tests file relays as they run in service: each core with its spool is a client of a whole node on
// the simulated channel.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/files/file_nodes.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

using sim::FileNodes;

// Time for two full-length transmissions, the calls to another station, and the answers.
constexpr Duration kSoon = 7min;

TEST(FileNodes, twenty_files_to_an_absent_station_do_not_hold_one_to_a_live_station) {
  FileNodes nodes(1);
  nodes.run_for(10s);
  std::vector<gateways::SpoolId> away;
  for (int i = 0; i < 20; ++i) {
    away.push_back(nodes.send(0, FileNodes::kAbsent, "away" + std::to_string(i), 2000));
  }
  nodes.run_for(10s);
  nodes.send(0, 1, "six", 6);
  const auto took = nodes.time_until_arrival(1, "six", 1h);
  ASSERT_TRUE(took);
  std::printf("6 octets behind 20 files to an absent station: %.0f s\n", to_seconds(*took));
  EXPECT_LT(*took, kSoon);
  for (const auto id : away) EXPECT_NE(nodes.state(0, id), gateways::SpoolState::delivered);
}

TEST(FileNodes, a_small_file_is_not_stuck_behind_a_large_one) {
  for (const std::size_t to : {1u, 2u}) {
    SCOPED_TRACE(to);
    FileNodes nodes(to);
    nodes.run_for(10s);
    nodes.send(0, 1, "large", 300'000);
    nodes.run_for(5min);
    nodes.send(0, to, "seven", 7);
    const auto took = nodes.time_until_arrival(to, "seven", 1h);
    ASSERT_TRUE(took);
    std::printf("7 octets behind 300 kB to %s station: %.0f s\n", to == 1 ? "the same" : "another",
                to_seconds(*took));
    EXPECT_LT(*took, kSoon);
    EXPECT_TRUE(nodes.time_until_arrival(1, "large", 2h));
  }
}

}  // namespace
}  // namespace s5066
