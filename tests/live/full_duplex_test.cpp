// SPDX-License-Identifier: Apache-2.0
// Tests two stations that receive while they transmit (C.3.2.3(9)), as processes. The audio cable
// carries each direction separately, as two frequencies do.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/live/pair.h"

namespace s5066::live {
namespace {

constexpr const char* kBoth[] = {"alpha", "bravo"};

/// Counts the carriers that rose while a transmission of ours was on the air.
std::size_t heard_while_sending(const std::string& log) {
  std::size_t count = 0;
  bool sending = false;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    at = end + 1;
    if (line.find("burst_started") != std::string::npos) sending = true;
    if (line.find("burst_finished") != std::string::npos) sending = false;
    count += sending && line.find("carrier_up") != std::string::npos;
  }
  return count;
}

void expect_files_to_cross_at_once(Pair& pair, std::size_t octets) {
  const std::string files[] = {noise(octets, 11), noise(octets, 12)};
  pair.folder().write("from-alpha.bin", files[0]);
  pair.folder().write("from-bravo.bin", files[1]);
  Process alpha = pair.send("from-alpha.bin", "alpha");
  Process bravo = pair.send("from-bravo.bin", "bravo");
  EXPECT_EQ(alpha.wait(), 0) << pair.log("send") << pair.log("alpha");
  EXPECT_EQ(bravo.wait(), 0) << pair.log("bravo-send") << pair.log("bravo");
  EXPECT_EQ(pair.received("from-alpha.bin", "bravo"), files[0]);
  EXPECT_EQ(pair.received("from-bravo.bin", "alpha"), files[1]);
}

TEST(LiveFullDuplex, files_cross_both_ways_at_once) {
  Pair pair;
  for (const char* name : kBoth) pair.configure_modem(name, "full_duplex: true");
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  EXPECT_EQ(json_value(pair.ask("alpha", "status"), "duplex"), "no_link");
  expect_files_to_cross_at_once(pair, 60'000);
  for (const char* name : kBoth) {
    EXPECT_NE(pair.log(name).find("full_duplex_on"), std::string::npos);
    EXPECT_GT(heard_while_sending(pair.log(name)), 0u) << pair.log(name);
    // The cable runs faster than the machine's clock, and the log loses no event by that.
    EXPECT_EQ(pair.log(name).find("log_lines_repeated event=burst_"), std::string::npos);
    EXPECT_EQ(pair.counter(name, "dpdus_bad_segment_crc"), 0);
    EXPECT_EQ(pair.process(std::string(name) + "-relay").stop(), 0);
    EXPECT_EQ(pair.process(name).stop(), 0) << pair.log(name);
  }
}

// Method: the modems belong to processes of their own; in real time.
TEST(LiveFullDuplex, files_cross_both_ways_at_once_over_lent_modems) {
  Pair pair({}, "real");
  for (const char* name : kBoth) {
    ASSERT_NO_FATAL_FAILURE(pair.lend_modem(name, {"--full-duplex"}));
    pair.configure_modem(name, "full_duplex: true");
  }
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  expect_files_to_cross_at_once(pair, 6'000);
  for (const char* name : kBoth) {
    EXPECT_NE(pair.log(name).find("full_duplex_on"), std::string::npos);
    EXPECT_GT(heard_while_sending(pair.log(name)), 0u) << pair.log(name);
    EXPECT_EQ(pair.process(std::string(name) + "-relay").stop(), 0);
    EXPECT_EQ(pair.process(name).stop(), 0) << pair.log(name);
    EXPECT_EQ(pair.process(std::string(name) + "-modem").stop(), 0);
  }
}

// Goal:   if the operator configured full duplex at one end only, the node reports it and no data
//         is lost.
TEST(LiveFullDuplex, one_end_that_is_half_duplex_is_noticed_by_the_other) {
  Pair pair;
  pair.configure_modem("alpha", "full_duplex: true");
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  EXPECT_EQ(json_value(pair.ask("bravo", "status"), "duplex"), "half");
  expect_files_to_cross_at_once(pair, 10'000);
  const std::string log = pair.log("alpha");
  EXPECT_NE(log.find("full_duplex_off reason=peer_is_half"), std::string::npos) << log;
  EXPECT_EQ(log.find("full_duplex_on"), std::string::npos) << log;
  for (const char* name : kBoth) {
    EXPECT_EQ(pair.process(std::string(name) + "-relay").stop(), 0);
    EXPECT_EQ(pair.process(name).stop(), 0) << pair.log(name);
  }
}

}  // namespace
}  // namespace s5066::live
