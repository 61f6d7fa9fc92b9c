// SPDX-License-Identifier: Apache-2.0
// Kills relays and servers at random moments while files go both ways over the cable at full speed.
// No file may be lost, doubled or altered. S5066_FILE_KILLS sets the number of kills (default 20).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "config/proto/control.pb.h"
#include "s5066d/base/rng.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileOctets = 40'000;
constexpr int kKillsForOneFile = 5;

int kills_wanted() {
  const char* text = std::getenv("S5066_FILE_KILLS");
  return text == nullptr ? 20 : std::max(1, std::atoi(text));
}

std::size_t files_in(const std::string& inbox) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(inbox)) {
    files += entry.is_regular_file() && entry.path().filename().string().front() != '.';
  }
  return files;
}

TEST(LiveFileKill, no_file_is_lost_doubled_or_altered_whichever_process_dies) {
  const int kills = kills_wanted();
  const int files = (kills + kKillsForOneFile - 1) / kKillsForOneFile;
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  Rng rng(1);
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
    std::this_thread::sleep_for(std::chrono::milliseconds(rng.below(3000)));
    const std::string name = rng.chance(0.5) ? "alpha" : "bravo";
    if (rng.chance(0.7)) {
      pair.kill(name + "-relay");
      ASSERT_NO_FATAL_FAILURE(pair.start_relay(name));
    } else {
      pair.kill(name);
      ASSERT_NO_FATAL_FAILURE(pair.start_node(name));
    }
  }
  for (int i = 0; i < files; ++i) {
    const std::string name = "f" + std::to_string(i);
    const std::string to = i % 2 == 0 ? "bravo" : "alpha";
    EXPECT_TRUE(await([&] {
      return pair.received(name, to) == contents[static_cast<std::size_t>(i)];
    })) << name
        << pair.log("alpha-relay") << pair.log("bravo-relay");
  }
  EXPECT_TRUE(await([&] {
    for (const char* name : {"alpha", "bravo"}) {
      const auto queue = pair.relay(name, {"queue", "--json"}).output;
      if (queue.find("\"files\": []") == std::string::npos) return false;
    }
    return true;
  }));
  EXPECT_EQ(files_in(pair.folder() / "bravo-inbox") + files_in(pair.folder() / "alpha-inbox"),
            static_cast<std::size_t>(files));
}

}  // namespace
}  // namespace s5066::live
