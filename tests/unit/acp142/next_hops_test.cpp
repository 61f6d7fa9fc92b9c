// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/next_hops.h"

#include <gtest/gtest.h>

#include "s5066d/base/rng.h"

namespace s5066::acp142 {
namespace {

constexpr NodeId kA{0x0A010101};
constexpr NodeId kB{0x0A010102};
constexpr NodeId kC{0x0A0101FF};

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

std::optional<NextHops> take(const std::string& field, std::size_t recipients, NodeId by = kA) {
  Bytes content = octets(field + "Received: x\r\n");
  auto hops = take_next_hops(by, recipients, content);
  EXPECT_EQ(content, octets("Received: x\r\n"));
  return hops;
}

TEST(NextHops, the_field_is_written_and_read) {
  const NextHops hops = {{kB}, {kC}, {kB}, {kB, kC}, {kB}};
  const std::string field = next_hops_field(kA, hops);
  EXPECT_EQ(field, "MULE-Next-Hop: 10.1.1.1; 10.1.1.2 1 3-5 10.1.1.255 2 4\r\n");
  EXPECT_EQ(take(field, 5), hops);
}

TEST(NextHops, where_all_is_for_one_station_there_is_no_field) {
  EXPECT_EQ(next_hops_field(kA, {}), "");
  EXPECT_EQ(next_hops_field(kA, {{kB}}), "");
  EXPECT_EQ(next_hops_field(kA, {{kB}, {kB}}), "");
  EXPECT_EQ(next_hops_field(kA, {{kB, kC}, {kB, kC}}),
            "MULE-Next-Hop: 10.1.1.1; 10.1.1.2 1-2 10.1.1.255 1-2\r\n");
  Bytes content = octets("Received: x\r\n");
  EXPECT_FALSE(take_next_hops(kA, 1, content));
  EXPECT_EQ(content, octets("Received: x\r\n"));
}

// A field that makes no sense is removed all the same. Its message is then for all stations.
TEST(NextHops, a_field_that_makes_no_sense_says_nothing) {
  const std::string begin = "MULE-Next-Hop: 10.1.1.1; ";
  EXPECT_TRUE(take(begin + "10.1.1.2 1 10.1.1.3 2\r\n", 2));
  EXPECT_FALSE(take(begin + "10.1.1.2 1 10.1.1.3 2\r\n", 2, kB));
  for (const char* rest : {
           "",
           "10.1.1.2 1",                 // which station has the other one?
           "10.1.1.2 1 10.1.1.3 2 3",    // which station has that one?
           "10.1.1.2 1-3",               //
           "10.1.1.2 0-2",               //
           "10.1.1.2 2-1 10.1.1.3 1-2",  //
           "10.1.1.2 1 1-2",             // twice
           "10.1.1.3 1 10.1.1.2 2",      // not in order
           "10.1.1.2 1-2 10.1.1.2",      //
           "1 10.1.1.2 1-2",             // which station?
           "10.1.1.2 1- 2",              //
           "10.1.1.2 -2",                //
           "10.1.1.2 99999999999999999999999",
           "10.1.1.256 1-2",
           "10.1.1 1-2",
           "10.1.1.2. 1-2",
           "10.1.1.2.3 1-2",
           "10.1.1.2 1-2 x",
       }) {
    EXPECT_FALSE(take(begin + rest + "\r\n", 2)) << rest;
  }
}

TEST(NextHops, what_is_not_from_a_gateway_of_ours_loses_each_such_field) {
  const std::string one = "mule-next-HOP: 10.1.1.1;\r\n 10.1.1.2 1\r\n\t10.1.1.3 2\r\n";
  const std::string kept =
      "Subject: MULE-Next-Hop: 1\r\n MULE-Next-Hop: 2\r\nMULE-Next-Hops: 3\r\n";
  const std::string body = "\r\n" + one;
  Bytes content = octets(one + one + kept + one + body);
  drop_next_hops(content);
  EXPECT_EQ(content, octets(kept + body));
  for (const std::string& text : {std::string(), std::string("x"), "\r\n" + one, kept, kept + body,
                                  std::string("MULE-Next-Hop: 1")}) {
    content = octets(text);
    drop_next_hops(content);
    EXPECT_EQ(content, octets(text));
  }
  content = octets(one + "x");
  drop_next_hops(content);
  EXPECT_EQ(content, octets("x"));
}

TEST(NextHops, only_the_first_field_is_read) {
  const std::string field = "MULE-Next-Hop: 10.1.1.1; 10.1.1.2 1 10.1.1.3 2\r\n";
  for (const std::string& text :
       {"Received: x\r\n" + field, "\r\n" + field, field.substr(0, field.size() - 2)}) {
    Bytes content = octets(text);
    EXPECT_FALSE(take_next_hops(kA, 2, content));
    EXPECT_EQ(content, octets(text));
  }
}

TEST(NextHops, a_thousand_recipients_of_eight_stations_survive_in_short_lines) {
  Rng rng(1);
  for (int round = 0; round < 50; ++round) {
    NextHops hops(1 + rng.below(1000));
    for (auto& one : hops) {
      for (std::uint32_t station = 1; station <= 8; ++station) {
        if (rng.below(4) == 0) one.push_back({kA.value + station});
      }
      if (one.empty()) one.push_back(kC);
    }
    const std::string field = next_hops_field(kA, hops);
    if (field.empty()) continue;
    EXPECT_EQ(take(field, hops.size()), hops);
    for (std::size_t at = 0; at < field.size();) {
      const std::size_t end = field.find("\r\n", at);
      EXPECT_LE(end - at, 78u);
      at = end + 2;
    }
  }
}

}  // namespace
}  // namespace s5066::acp142
