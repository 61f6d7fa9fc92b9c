// SPDX-License-Identifier: Apache-2.0
// Kills relays, and servers with their modems, at random moments while files go both ways over the
// cable at full speed. A modem at full speed runs in its server. No file may be lost, doubled or
// altered, and little may be sent again.
// S5066_FILE_KILLS sets the number of kills (default 20), S5066_FILE_SEED the moments and victims
// (default 1), so that several runs at the same time share a large number of kills.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include "s5066d/base/rng.h"
#include "tests/live/pair.h"
#include "tests/live/sent_again.h"
#include "tests/live/sis_tap.h"

namespace s5066::live {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileOctets = 20'000;
constexpr int kKillsForOneFile = 10;
constexpr int kBetweenKillsMsMax = 2'500;
// The cable at full speed is as slow as a loaded machine makes it, so the limit is what crosses it:
// octets have to arrive within kStandstillMax, and at most kCrossingsMax times those of all files
// after the last kill.
constexpr std::chrono::seconds kStandstillMax{300};
constexpr std::uint64_t kCrossingsMax = 20;

int from_environment(const char* name, int value) {
  const char* text = std::getenv(name);
  return text == nullptr ? value : std::max(1, std::atoi(text));
}

std::size_t files_in(const std::string& inbox) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(inbox)) {
    files += entry.is_regular_file() && entry.path().filename().string().front() != '.';
  }
  return files;
}

/// Two stations with a tap between each relay and its node.
class KillPair {
 public:
  void start() {
    for (const char* name : {"alpha", "bravo"}) {
      ASSERT_NO_FATAL_FAILURE(pair_.start_node(name));
      const auto [tap, added] = taps_.try_emplace(name, pair_.sis_port(name));
      pair_.use_sis_port(name, tap->second.port());
    }
    for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair_.start_relay(name));
  }

  /// Kills the relay of a station, or its server with the modem, and starts it again.
  void kill_one(Rng& rng) {
    const std::string name = rng.chance(0.5) ? "alpha" : "bravo";
    if (rng.chance(0.6)) {
      ++relays_killed_;
      pair_.kill(name + "-relay");
      ASSERT_NO_FATAL_FAILURE(pair_.start_relay(name));
    } else {
      ++servers_killed_;
      pair_.kill(name);
      ASSERT_NO_FATAL_FAILURE(pair_.start_node(name));
    }
  }

  bool queues_are_empty() const {
    for (const char* name : {"alpha", "bravo"}) {
      const auto queue = pair_.relay(name, {"queue", "--json"}).output;
      if (queue.find("\"files\": []") == std::string::npos) return false;
    }
    return true;
  }

  SentAgain::Figures sent_again(const std::string& name) const {
    SentAgain again;
    for (const sis::Primitive& primitive : taps_.at(name).primitives()) again.add(primitive);
    return again.figures();
  }

  std::uint64_t octets_delivered() const {
    std::uint64_t octets = 0;
    for (const auto& [name, tap] : taps_) octets += tap.octets_delivered();
    return octets;
  }

  /// Waits as long as the cable moves octets, up to `octets_max` in all since the taps were set.
  bool await_while_it_moves(const std::function<bool()>& condition,
                            std::uint64_t octets_max) const {
    std::uint64_t before = octets_delivered();
    while (!condition()) {
      const auto moves = [&] { return condition() || octets_delivered() != before; };
      if (before > octets_max || !await(moves, kStandstillMax)) return false;
      before = octets_delivered();
    }
    return true;
  }

  Pair& pair() { return pair_; }
  int relays_killed() const { return relays_killed_; }
  int servers_killed() const { return servers_killed_; }

 private:
  Pair pair_;
  std::map<std::string, SisTap> taps_;
  int relays_killed_ = 0;
  int servers_killed_ = 0;
};

void report(const std::string& name, const SentAgain::Figures& figures) {
  std::cout << name << ": " << figures.handed << " octets handed over, " << figures.again
            << " again after " << figures.resumes << " resumes, " << figures.again_max
            << " at most after one; in flight at most " << figures.in_flight_max
            << "; again although confirmed " << figures.confirmed_again << ", "
            << figures.confirmed_again_max << " at most after one" << std::endl;
}

TEST(LiveFileKill, no_file_is_lost_doubled_or_altered_whichever_process_dies) {
  const int kills = from_environment("S5066_FILE_KILLS", 20);
  const int files = std::max(2, kills / kKillsForOneFile);
  Rng rng(static_cast<std::uint64_t>(from_environment("S5066_FILE_SEED", 1)));
  KillPair stations;
  Pair& pair = stations.pair();
  ASSERT_NO_FATAL_FAILURE(stations.start());
  std::vector<std::string> contents;
  for (int i = 0; i < files; ++i) {
    const std::string name = "f" + std::to_string(i);
    contents.push_back(noise(kFileOctets, static_cast<std::uint64_t>(i) + 1));
    pair.folder().write(name, contents.back());
    const std::string from = i % 2 == 0 ? "alpha" : "bravo";
    const auto put =
        pair.relay(from, {"put", "--to", from == "alpha" ? "1.2.0.2" : "1.2.0.1", name});
    ASSERT_EQ(put.status, 0) << put.output;
  }
  for (int i = 0; i < kills; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rng.below(kBetweenKillsMsMax)));
    ASSERT_NO_FATAL_FAILURE(stations.kill_one(rng)) << "kill " << i;
  }
  std::cout << "arrived when the last was killed: "
            << files_in(pair.folder() / "bravo-inbox") + files_in(pair.folder() / "alpha-inbox")
            << " of " << files << std::endl;
  const std::uint64_t octets_max =
      stations.octets_delivered() + kCrossingsMax * kFileOctets * static_cast<unsigned>(files);
  for (int i = 0; i < files; ++i) {
    const std::string name = "f" + std::to_string(i);
    const std::string to = i % 2 == 0 ? "bravo" : "alpha";
    const auto arrived = [&] {
      return pair.received(name, to) == contents[static_cast<std::size_t>(i)];
    };
    ASSERT_TRUE(stations.await_while_it_moves(arrived, octets_max))
        << name << pair.log("alpha-relay") << pair.log("bravo-relay");
  }
  EXPECT_TRUE(
      stations.await_while_it_moves([&] { return stations.queues_are_empty(); }, octets_max));
  EXPECT_EQ(files_in(pair.folder() / "bravo-inbox") + files_in(pair.folder() / "alpha-inbox"),
            static_cast<std::size_t>(files));
  std::cout << "killed: " << stations.relays_killed() << " relays and " << stations.servers_killed()
            << " servers with their modems" << std::endl;
  for (const char* name : {"alpha", "bravo"}) {
    const auto figures = stations.sent_again(name);
    report(name, figures);
    EXPECT_LE(figures.again_max, figures.in_flight_max);
    EXPECT_EQ(figures.confirmed_again, 0u);
  }
}

}  // namespace
}  // namespace s5066::live
