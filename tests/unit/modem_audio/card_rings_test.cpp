// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/card_rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace s5066::modem {
namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kAhead = 32;
constexpr std::size_t kCapacity = 64;

/// Joins a card and a worker. The card's input counts its samples from 1. The worker counts the
/// samples that it takes and those that are lost. For each sample it sends `count + kAhead`, the
/// number of the sample at whose time the sent one must be heard.
struct Joined {
  CardRings rings{kCapacity, kAhead};
  std::uint64_t played = 0;  // samples played to the input and heard at the output
  std::uint64_t count = 0;
  std::vector<float> heard;
  // Each gap is the sample that it follows and the number of lost samples.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
  std::uint64_t underrun = 0;
  std::uint64_t unplayable = 0;
  bool keyed = true;

  void hear(std::size_t frames, bool has_input = true) {
    std::vector<float> in(frames);
    for (float& sample : in) sample = static_cast<float>(++played);
    rings.keep(has_input ? in.data() : nullptr, frames, false);
  }
  void play(std::size_t frames) {
    std::vector<float> out(frames);
    rings.fill(out.data(), frames, false);
    heard.insert(heard.end(), out.begin(), out.end());
  }
  void card(std::size_t frames, bool has_input = true) {
    hear(frames, has_input);
    play(frames);
  }
  /// Takes all whole blocks that the ring holds and answers each.
  void worker() {
    while (rings.received() >= kBlock) {
      std::vector<float> block(kBlock);
      const auto losses = rings.receive(block);
      if (losses.dropped > 0) gaps.emplace_back(count, losses.dropped);
      underrun += losses.underrun;
      unplayable = losses.unplayable;
      count += losses.dropped;
      for (const float sample : block) EXPECT_EQ(sample, static_cast<float>(++count));
      for (std::size_t i = 0; i < kBlock; ++i) {
        block[i] = static_cast<float>(count + kAhead + i - kBlock + 1);
      }
      rings.transmit(keyed, block);
    }
  }
  void run(std::size_t blocks) {
    for (std::size_t n = 0; n < blocks; ++n) {
      card(kBlock);
      worker();
    }
  }
  /// Expects each sample that was heard to be silence or to be in its place.
  void expect_in_time() const {
    for (std::size_t i = 0; i < heard.size(); ++i) {
      if (heard[i] == 0) continue;
      EXPECT_EQ(heard[i], static_cast<float>(i + 1)) << i;
    }
  }
};

TEST(CardRings, what_is_sent_is_heard_when_it_should_be) {
  Joined joined;
  joined.run(20);
  EXPECT_TRUE(joined.gaps.empty());
  EXPECT_EQ(joined.underrun, 0U);
  joined.expect_in_time();
  EXPECT_EQ(joined.heard.back(), static_cast<float>(joined.heard.size()));
}

TEST(CardRings, the_callbacks_of_two_directions_need_not_alternate) {
  Joined joined;
  joined.run(5);
  for (int n = 0; n < 10; ++n) {
    joined.play(kAhead);
    joined.hear(kAhead - 1);
    joined.hear(1);
    joined.worker();
  }
  EXPECT_TRUE(joined.gaps.empty());
  EXPECT_EQ(joined.underrun, 0U);
  joined.expect_in_time();
  EXPECT_EQ(joined.heard.back(), static_cast<float>(joined.heard.size()));
}

TEST(CardRings, a_loss_that_the_card_reports_in_either_direction_is_told_once) {
  CardRings rings(kCapacity, kAhead);
  std::vector<float> block(kBlock);
  rings.keep(block.data(), kBlock, true);
  rings.fill(block.data(), kBlock, true);
  EXPECT_EQ(rings.receive(block).underrun, 2U);
  rings.keep(block.data(), kBlock, false);
  EXPECT_EQ(rings.receive(block).underrun, 0U);
}

TEST(CardRings, samples_that_find_the_ring_full_are_missed_behind_those_in_it) {
  Joined joined;
  joined.run(2);
  for (int n = 0; n < 3; ++n) joined.card(30);  // 64 of 90 fit
  joined.worker();
  joined.run(20);
  // The ring kept the samples 33 to 96; worker() checks each against its number.
  EXPECT_EQ(joined.gaps, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{96, 26}}));
}

TEST(CardRings, a_gap_in_mid_block_is_told_with_the_next_one) {
  Joined joined;
  joined.run(2);
  joined.card(8);
  joined.card(8, false);
  joined.card(8);
  EXPECT_EQ(joined.rings.received(), kBlock);
  std::vector<float> block(kBlock);
  EXPECT_EQ(joined.rings.receive(block).dropped, 0U);
  joined.rings.transmit(true, block);
  joined.card(kBlock);
  EXPECT_EQ(joined.rings.receive(block).dropped, 8U);
}

TEST(CardRings, what_is_late_is_skipped_and_the_rest_is_heard_when_it_should_be) {
  // If nine blocks pass, the ring keeps four and loses five. The worker learns of the loss only
  // after the four that were kept. Until then it is ahead of its time, so one more block is late.
  for (const auto& [stands_still, late] :
       {std::pair{2U, 0U}, {3U, 1U}, {4U, 2U}, {5U, 3U}, {9U, 8U}}) {
    SCOPED_TRACE(stands_still);
    Joined joined;
    joined.run(5);
    for (std::size_t n = 0; n < stands_still; ++n) joined.card(kBlock);
    joined.worker();
    joined.run(20);
    const std::size_t lost = stands_still > 4 ? stands_still - 4 : 0;
    EXPECT_EQ(joined.gaps.size(), lost > 0 ? 1U : 0U);
    EXPECT_EQ(joined.underrun, late * kBlock);
    EXPECT_EQ(joined.unplayable, 0U);
    joined.expect_in_time();
    EXPECT_EQ(joined.heard.back(), static_cast<float>(joined.heard.size()));
  }
}

TEST(CardRings, what_is_not_received_for_want_of_input_is_made_up_for_in_what_is_sent) {
  Joined joined;
  joined.run(5);
  joined.card(kBlock, false);
  joined.run(20);
  EXPECT_EQ(joined.gaps, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{80, kBlock}}));
  joined.expect_in_time();
  EXPECT_EQ(joined.heard.back(), static_cast<float>(joined.heard.size()));
}

TEST(CardRings, no_gap_is_forgotten_however_many_there_are) {
  CardRings rings(1000, 0);
  std::uint64_t offered = 0, told = 0;
  const auto card = [&](bool has_input) {
    float in = 0, out = 0;
    rings.keep(has_input ? &in : nullptr, 1, false);
    rings.fill(&out, 1, false);
    ++offered;
  };
  const auto take = [&](std::size_t samples) {
    std::vector<float> block(samples);
    told += rings.receive(block).dropped + samples;
  };
  for (int n = 0; n < 1600; ++n) card(n % 8 != 0);
  take(rings.received());
  EXPECT_LT(rings.received() + told, offered);
  card(true);  // this sample comes after the last gap
  take(1);
  EXPECT_EQ(told, offered);
}

/// A card whose output takes `faster` samples more than its input gives in every four blocks.
struct TwoClocks {
  void run(std::size_t blocks, bool keyed, float value) {
    const std::vector<float> in(kBlock, 0.0F);
    for (std::size_t n = 0; n < blocks; ++n) {
      rings.keep(in.data(), in.size(), false);
      std::vector<float> out(
          static_cast<std::size_t>(static_cast<int>(kBlock) + (n % 4 == 0 ? faster : 0)));
      rings.fill(out.data(), out.size(), false);
      heard.insert(heard.end(), out.begin(), out.end());
      std::vector<float> block(kBlock);
      underrun += rings.receive(block).underrun;
      std::fill(block.begin(), block.end(), value);
      rings.transmit(keyed, block);
    }
  }

  int faster = 0;
  CardRings rings{16 * kBlock, 4 * kBlock};
  std::vector<float> heard;
  std::uint64_t underrun = 0;
};

TEST(CardRings, an_output_with_a_clock_of_its_own_stays_in_time_while_unkeyed) {
  for (const int faster : {-1, 0, 1}) {
    SCOPED_TRACE(faster);
    TwoClocks card{.faster = faster};
    card.run(5000, false, 0.0F);
    EXPECT_EQ(card.underrun, 0U);
    const auto asked = static_cast<std::ptrdiff_t>(card.heard.size());
    card.run(8, true, 1.0F);
    const auto first = std::find(card.heard.begin() + asked, card.heard.end(), 1.0F);
    EXPECT_NEAR(static_cast<double>(first - card.heard.begin() - asked), 4.0 * kBlock,
                2.5 * kBlock);
  }
}

TEST(CardRings, a_loss_of_received_samples_is_no_drift_of_the_clocks) {
  Joined joined;
  joined.keyed = false;
  joined.run(5);
  for (int n = 0; n < 44; ++n) joined.card(kBlock);
  joined.worker();
  joined.run(20);
  joined.expect_in_time();
  EXPECT_EQ(joined.heard.back(), static_cast<float>(joined.heard.size()));
}

TEST(CardRings, a_keyed_transmission_has_all_its_samples_whatever_the_clocks) {
  TwoClocks card{.faster = -1};
  card.run(100, true, 1.0F);
  card.run(20, false, 0.0F);
  EXPECT_EQ(std::count(card.heard.begin(), card.heard.end(), 1.0F), 100 * kBlock);
}

}  // namespace
}  // namespace s5066::modem
