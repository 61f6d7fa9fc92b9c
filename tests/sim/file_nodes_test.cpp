// SPDX-License-Identifier: Apache-2.0
// Tests file relays as they run in service: each core with its spool is a client of a whole node on
// the simulated channel.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "modem/api/airtime.h"
#include "s5066d/base/rng.h"
#include "s5066d/pdu/dpdu.h"
#include "tests/support/files/file_nodes.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

using sim::FileNodes;

// Time for two full-length transmissions, the calls to another station, and the answers.
constexpr Duration kSoon = 7min;

sim::WorldOptions options_at(const std::string& mode) {
  sim::WorldOptions options;
  options.mode = *modem::parse_mode(mode);
  return options;
}

Bytes random_octets(std::size_t size) {
  Rng rng(size);
  Bytes octets(size);
  for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.below(256));
  return octets;
}

/// Two stations with the transfer service that know each other.
class TransferNodes : public FileNodes {
 public:
  explicit TransferNodes(const std::string& mode)
      : FileNodes(1, options_at(mode), {}, 100ms, true), options_(options_at(mode).medium) {
    run_for(10s);
    send(0, 1, "before", 100);
    EXPECT_TRUE(time_until_arrival(1, "before", 1h));
    run_for(2min);
  }
  void set_loss(double loss) {
    options_.frame_loss = loss;
    world().medium().set_options(options_);
  }
  void set_apart(bool apart) {
    options_.deaf.clear();
    if (apart) options_.deaf = {{0, 1}, {1, 0}};
    world().medium().set_options(options_);
  }
  double user_octets() {
    double octets = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      octets += static_cast<double>(world().node(i).counters()[Counter::user_octets_sent]);
    }
    return octets;
  }

 private:
  sim::MediumOptions options_;
};

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

TEST(FileNodes, a_file_takes_nine_tenths_of_the_line) {
  for (const char* mode : {"110a-300-short", "110a-2400-short", "4539-9600-s"}) {
    SCOPED_TRACE(mode);
    TransferNodes nodes(mode);
    nodes.send(0, 1, "file", random_octets(100'000), std::nullopt);
    const auto took = nodes.time_until_arrival(1, "file", 2h);
    ASSERT_TRUE(took);
    EXPECT_GE(100'000 * 8 / modem::parse_mode(mode)->rate_bps / to_seconds(*took), 0.9);
    EXPECT_EQ(nodes.content_at(1, "file"), random_octets(100'000));
  }
}

TEST(FileNodes, a_small_file_goes_in_one_transmission) {
  constexpr std::size_t kOctets = 8100;
  constexpr std::size_t kFrames = 8;
  for (const char* mode : {"110a-2400-short", "4539-9600-s"}) {
    SCOPED_TRACE(mode);
    TransferNodes nodes(mode);
    nodes.send(0, 1, "file", random_octets(kOctets), std::nullopt);
    const auto took = nodes.time_until_arrival(1, "file", 1h);
    ASSERT_TRUE(took);
    const Duration least =
        modem::airtime(*modem::parse_mode(mode), kOctets + kFrames * pdu::data_octets(0));
    EXPECT_LE(to_seconds(*took), 1.2 * to_seconds(least));
  }
}

TEST(FileNodes, an_urgent_file_waits_for_at_most_one_transmission_and_a_half) {
  constexpr double kTransmissionS = 127.5;
  for (int moment = 0; moment < 4; ++moment) {
    TransferNodes nodes("110a-1200-short");
    nodes.send(0, 1, "large", random_octets(500'000), std::nullopt);
    nodes.run_for(5min + moment * 31s);
    nodes.send(0, 1, "urgent", random_octets(1000), std::uint8_t{12});
    const auto took = nodes.time_until_arrival(1, "urgent", 1h);
    ASSERT_TRUE(took);
    EXPECT_LE(to_seconds(*took), 1.5 * kTransmissionS);
  }
}

TEST(FileNodes, a_file_arrives_whole_whatever_share_of_the_frames_is_lost) {
  for (const double loss : {0.2, 0.6, 0.9}) {
    SCOPED_TRACE(loss);
    TransferNodes nodes("110a-2400-short");
    nodes.set_loss(loss);
    nodes.send(0, 1, "file", random_octets(8100), std::nullopt);
    ASSERT_TRUE(nodes.time_until_arrival(1, "file", 48h));
    EXPECT_EQ(nodes.content_at(1, "file"), random_octets(8100));
  }
}

TEST(FileNodes, a_changed_version_costs_a_twentieth_of_the_file) {
  constexpr std::size_t kOctets = 200'000;
  Rng rng(1);
  Bytes text(kOctets);
  for (auto& octet : text) octet = static_cast<std::uint8_t>('a' + rng.below(26));
  TransferNodes nodes("4539-9600-s");
  nodes.send(0, 1, "text", text, std::nullopt);
  ASSERT_TRUE(nodes.time_until_arrival(1, "text", 1h));
  nodes.run_for(2min);
  for (std::size_t at = 100'000; at < 100'000 + kOctets / 100; ++at) text[at] = '-';
  const double before = nodes.user_octets();
  const auto id = nodes.send(0, 1, "text", text, std::nullopt);
  ASSERT_TRUE(
      nodes.time_until([&] { return nodes.state(0, id) == gateways::SpoolState::delivered; }, 1h));
  EXPECT_LE(nodes.user_octets() - before, kOctets / 20);
}

TEST(FileNodes, a_file_goes_over_a_link_that_is_there_for_ten_minutes_of_each_hour) {
  TransferNodes nodes("110a-1200-short");
  nodes.set_apart(true);
  nodes.send(0, 1, "file", random_octets(150'000), std::nullopt);
  nodes.run_for(30min);
  int hours = 0;
  for (bool there = false; !there && hours < 12; ++hours) {
    nodes.set_apart(false);
    there = nodes.time_until_arrival(1, "file", 10min).has_value();
    nodes.set_apart(true);
    if (!there) nodes.run_for(50min);
  }
  std::printf("150 kB at 1200 bit/s, ten minutes of each hour: in hour %d\n", hours);
  // It takes 18 minutes in one piece. The link is found four minutes after it is there on average.
  EXPECT_LE(hours, 6);
  EXPECT_EQ(nodes.content_at(1, "file"), random_octets(150'000));
}

TEST(FileNodes, a_file_arrives_when_its_receiver_has_been_off_for_a_day) {
  TransferNodes nodes("110a-1200-short");
  nodes.send(0, 1, "file", random_octets(100'000), std::nullopt);
  nodes.run_for(5min);
  nodes.set_apart(true);
  nodes.stop_relay(1);
  nodes.run_for(24h);
  nodes.set_apart(false);
  nodes.restart_node(1);
  nodes.start_relay(1);
  EXPECT_TRUE(nodes.time_until_arrival(1, "file", 20min));
  EXPECT_EQ(nodes.content_at(1, "file"), random_octets(100'000));
}

}  // namespace
}  // namespace s5066
