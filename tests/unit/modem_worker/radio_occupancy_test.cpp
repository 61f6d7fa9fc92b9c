// SPDX-License-Identifier: Apache-2.0
// The radio reports power on the channel.
#include <gtest/gtest.h>

#include <utility>

#include "modem/worker/sample_time.h"
#include "tests/unit/modem_worker/radio_bench.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using Bench = RadioBench;

std::vector<float> tone(float amplitude) {
  std::vector<float> block(kBlock);
  for (std::size_t i = 0; i < kBlock; ++i) block[i] = i / 4 % 2 == 0 ? amplitude : -amplitude;
  return block;
}

/// Returns each report of a free or occupied channel with the block after which it came.
std::vector<std::pair<bool, std::uint64_t>> occupancies(const Bench& bench) {
  std::vector<std::pair<bool, std::uint64_t>> told;
  for (const auto& e : bench.all<ChannelOccupancy>()) {
    told.emplace_back(e.occupied, instant_to_sample(e.at) / kBlock);
  }
  return told;
}

TEST(Radio, tells_of_what_no_receiver_knows_a_quarter_of_a_second_after_it_began) {
  Bench bench(config());
  bench.run(100);
  for (int i = 0; i < 50; ++i) bench.tick(tone(0.1F));
  bench.run(50);
  using Told = std::vector<std::pair<bool, std::uint64_t>>;
  // Above such a floor the filter rings for one block.
  EXPECT_EQ(occupancies(bench), (Told{{true, 112}, {false, 168}}));
  EXPECT_TRUE(bench.all<CarrierUp>().empty());
}

TEST(Radio, the_channel_is_told_to_be_free_when_it_is_keyed_and_occupied_anew_behind_it) {
  Bench bench(config());
  bench.run(100);
  for (int i = 0; i < 50; ++i) bench.tick(tone(0.1F));
  bench.radio.on_command(burst(1));
  while (bench.all<TransmitFinished>().empty()) bench.tick(tone(0.1F));
  for (int i = 0; i < 20; ++i) bench.tick(tone(0.1F));
  const auto told = bench.all<ChannelOccupancy>();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_TRUE(told[0].occupied);
  EXPECT_FALSE(told[1].occupied);
  EXPECT_LE(told[1].at, bench.all<TransmitStarted>()[0].at);
  EXPECT_TRUE(told[2].occupied);
  const Instant end = bench.all<TransmitFinished>()[0].at;
  EXPECT_GE(told[2].at, end + milliseconds(240));
  EXPECT_LE(told[2].at, end + milliseconds(300));
  Instant newest{};
  for (const Event& event : bench.events) {
    EXPECT_GE(at(event), newest);
    newest = at(event);
  }
}

TEST(Radio, in_full_duplex_what_is_heard_while_it_sends_counts_too) {
  Radio::Config duplex = config();
  duplex.full_duplex = true;
  Bench bench(duplex);
  bench.run(100);
  bench.radio.on_command(burst(1));
  for (int i = 0; i < 20; ++i) bench.tick(tone(0.1F));
  EXPECT_EQ(occupancies(bench).size(), 1u);
  EXPECT_TRUE(bench.all<TransmitFinished>().empty());
}

TEST(Radio, a_device_that_is_lost_leaves_the_channel_free_and_its_floor_behind) {
  Bench bench(config());
  bench.run(100);
  for (int i = 0; i < 20; ++i) bench.tick(tone(0.1F));
  bench.radio.on_device_lost("as told");
  bench.radio.on_device_back();
  for (int i = 0; i < 100; ++i) bench.tick(tone(0.1F));
  const auto told = bench.all<ChannelOccupancy>();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_FALSE(told[1].occupied);
}

// If lost samples counted as silence, the noise after them would be louder than the recent floor.
TEST(Radio, samples_that_were_lost_are_no_silence_of_the_channel) {
  Bench bench(config());
  for (int i = 0; i < 100; ++i) bench.tick(tone(0.01F));
  for (int i = 0; i < 100; ++i) {
    bench.radio.on_dropped(kSampleRate / 4);
    bench.tick(tone(0.01F));
  }
  for (int i = 0; i < 50; ++i) bench.tick(tone(0.01F));
  EXPECT_TRUE(occupancies(bench).empty());
}

}  // namespace
}  // namespace s5066::modem
