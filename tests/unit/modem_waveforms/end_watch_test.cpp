// SPDX-License-Identifier: Apache-2.0
// EndWatch decides by the signal after a mark whether a burst is over.
#include "modem/waveforms/message/end_watch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "modem/api/airtime.h"
#include "s5066d/base/rng.h"

namespace s5066::modem {
namespace {

using Bits = std::vector<std::uint8_t>;

/// Plays a receiver of blocks of one frame. It has received two blocks: one of the user's, and one
/// that ends with the mark and `zeros` zeros.
class EndOfBurst : public ::testing::Test {
 protected:
  void begin(std::size_t zeros) {
    watch_.emplace(mode_, EndWatch::Config{});
    message_.emplace(Trailer{.block_bits = block_});
    frame(kFaint, random_bits(1));
    Bits last = random_bits(2);
    const Bits mark = message_bits({}, {});
    const auto end = last.end() - static_cast<std::ptrdiff_t>(zeros);
    std::copy(mark.begin(), mark.end(), end - kEndOfMessageBits);
    std::fill(end, last.end(), std::uint8_t{0});
    frame(kFaint, last);
  }

  /// Gives one more frame to the watch and decodes it unless the burst is over.
  void frame(float evidence, const Bits& bits) {
    watch_->note_frame(evidence);
    watch_->look(*message_);
    if (watch_->over()) return;
    message_->push(bits);
    message_->judge(0);
    watch_->look(*message_);
    do octets_ += message_->take().bytes.size();
    while (message_->more());
  }

  Bits random_bits(std::uint64_t seed) const {
    Rng rng(seed);
    Bits bits(block_);
    for (auto& bit : bits) bit = rng.chance(0.5);
    return bits;
  }

  static constexpr float kFaint = 9;  // too little evidence that the burst goes on
  const Mode mode_{Waveform::stanag4539, 3200, Interleaver::ultra_short};
  const std::size_t block_ = block_bits(mode_);
  std::optional<EndWatch> watch_;
  std::optional<MessageBits> message_;
  std::size_t octets_ = 0;
};

TEST_F(EndOfBurst, is_told_by_zeros_at_once_and_certain_when_nothing_follows) {
  begin(40);
  ASSERT_TRUE(watch_->ending());
  EXPECT_TRUE(watch_->ending()->certain);
  EXPECT_FALSE(watch_->over());
  EXPECT_EQ(watch_->ending()->symbols, data_symbols(mode_, 2));
  frame(-13, random_bits(3));
  frame(-13, random_bits(4));
  EXPECT_TRUE(watch_->over());
}

TEST_F(EndOfBurst, told_by_zeros_is_taken_back_by_faint_frames_and_no_bit_is_lost) {
  begin(40);
  frame(kFaint, random_bits(3));
  ASSERT_TRUE(watch_->ending());
  EXPECT_FALSE(watch_->over());
  frame(kFaint, random_bits(4));
  EXPECT_FALSE(watch_->ending());
  EXPECT_EQ(octets_, (4 * block_ - kEndOfMessageBits + 1) / 8);
}

TEST_F(EndOfBurst, told_by_zeros_is_taken_back_behind_a_frame_in_a_fade) {
  begin(40);
  frame(-13, random_bits(3));
  EXPECT_FALSE(watch_->over());
  frame(13, random_bits(4));
  frame(13, random_bits(5));
  EXPECT_FALSE(watch_->ending());
}

TEST_F(EndOfBurst, told_by_zeros_stands_after_thirty_frames_that_say_little) {
  begin(40);
  for (unsigned i = 1; i < 30; ++i) {
    frame(i % 2 > 0 ? 5 : -5, random_bits(i));
    ASSERT_TRUE(watch_->ending());
    ASSERT_FALSE(watch_->over()) << i;
  }
  frame(-5, random_bits(30));
  EXPECT_TRUE(watch_->over());
}

// The transmitter stays keyed but has no more data.
TEST_F(EndOfBurst, stands_though_the_signal_goes_on_with_zeros) {
  begin(40);
  const std::size_t octets = octets_;
  for (unsigned i = 0; i < 200; ++i) {
    frame(13, Bits(block_));
    ASSERT_TRUE(watch_->ending());
    ASSERT_FALSE(watch_->over()) << i;
    ASSERT_EQ(watch_->ending()->symbols, data_symbols(mode_, 2));
  }
  EXPECT_TRUE(watch_->ending()->followed);
  // The transmitter stops within a block, which then decodes to random bits.
  frame(-13, random_bits(3));
  ASSERT_TRUE(watch_->ending());
  frame(-13, random_bits(4));
  EXPECT_TRUE(watch_->over());
  EXPECT_EQ(octets_, octets);
}

TEST_F(EndOfBurst, is_taken_back_by_a_later_block_that_is_not_zeros_and_no_bit_is_lost) {
  begin(40);
  for (unsigned i = 0; i < 200; ++i) frame(13, Bits(block_));
  frame(13, random_bits(3));
  EXPECT_FALSE(watch_->ending());
  EXPECT_EQ(octets_, (203 * block_ - kEndOfMessageBits + 1) / 8);
}

// If too few zeros follow the mark in its block, the next block can bring more of them.
TEST_F(EndOfBurst, is_told_by_zeros_of_the_next_block_where_the_signal_goes_on) {
  begin(3);
  EXPECT_FALSE(watch_->ending()->certain);
  frame(13, Bits(block_));
  ASSERT_TRUE(watch_->ending());
  EXPECT_TRUE(watch_->ending()->certain);
  EXPECT_FALSE(watch_->over());
  EXPECT_EQ(watch_->ending()->symbols, data_symbols(mode_, 2));
}

// The end has not been reported, so the watch waits for the next frame.
TEST_F(EndOfBurst, not_told_by_zeros_is_decided_by_the_next_frame) {
  begin(0);
  ASSERT_TRUE(watch_->ending());
  EXPECT_FALSE(watch_->ending()->certain);
  frame(-1, random_bits(3));
  EXPECT_TRUE(watch_->over());
  begin(0);
  frame(1, random_bits(3));
  EXPECT_FALSE(watch_->ending());
}

}  // namespace
}  // namespace s5066::modem
