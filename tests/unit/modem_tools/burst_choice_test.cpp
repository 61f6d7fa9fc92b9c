// SPDX-License-Identifier: Apache-2.0
// The choice among the readings of several receivers. Each test plays the receivers.
#include "modem/tools/burst_choice.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "modem/api/modes.h"
#include "modem/waveforms/burst_events.h"

namespace s5066::modem::tools {
namespace {

constexpr std::uint64_t kSecond = kSampleRate;

class BurstChoiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    out_ = (std::filesystem::temp_directory_path() /
            ("burst_choice_" + std::string(info->name()) + "_" + std::to_string(::getpid())))
               .string();
  }
  void TearDown() override { std::filesystem::remove(out_); }

  void make(std::size_t receivers, bool to_file = true) {
    listing_.emplace(BurstListing::Config{.out = to_file ? out_ : "", .source = {}, .json = false});
    choice_.emplace(receivers, *listing_, std::chrono::seconds(10));
  }
  void begin(std::size_t receiver, std::uint64_t at) {
    give(receiver, BurstAcquired{.at_sample = at, .mode = {}});
  }
  void octets(std::size_t receiver, const std::string& text, float quality) {
    const Bytes bytes(text.begin(), text.end());
    give(receiver, BurstBytes{.at_sample = 0,
                              .first_bit_sample = 0,
                              .mode = {},
                              .bytes = bytes,
                              .soft_quality = quality,
                              .channel = {}});
  }
  void end(std::size_t receiver, std::uint64_t at) {
    give(receiver, BurstEnded{.at_sample = at, .ended_sample = at});
  }
  void give(std::size_t receiver, const BurstEvent& event) {
    const auto taken = choice_->take(receiver, event);
    EXPECT_TRUE(taken.ok()) << to_string(taken.error());
  }
  void advance(std::uint64_t now) { EXPECT_TRUE(choice_->advance(now).ok()); }
  void close(std::uint64_t now) {
    choice_->end_input(now);
    EXPECT_TRUE(choice_->close().ok());
  }
  std::string written() const {
    std::ifstream file(out_, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string out_;
  std::optional<BurstListing> listing_;
  std::optional<BurstChoice> choice_;
};

TEST_F(BurstChoiceTest, the_better_of_two_readings_is_written_when_both_have_ended) {
  make(2);
  begin(0, 1 * kSecond);
  begin(1, 2 * kSecond);
  octets(0, "wrong", 0.2F);
  octets(1, "right", 0.9F);
  end(1, 3 * kSecond);
  advance(3 * kSecond);
  EXPECT_EQ(written(), "");
  end(0, 4 * kSecond);
  advance(4 * kSecond);
  EXPECT_EQ(written(), "right");
  EXPECT_EQ(listing_->bursts(), 1U);
}

TEST_F(BurstChoiceTest, a_burst_is_printed_before_the_end_of_the_input) {
  make(3);
  begin(2, kSecond);
  octets(2, "first", 0.9F);
  end(2, 2 * kSecond);
  advance(2 * kSecond);
  EXPECT_EQ(listing_->bursts(), 1U);
  begin(0, 3 * kSecond);
  octets(0, "second", 0.5F);
  close(4 * kSecond);
  EXPECT_EQ(listing_->bursts(), 2U);
  EXPECT_EQ(written(), "firstsecond");
}

TEST_F(BurstChoiceTest, all_octets_of_a_burst_longer_than_the_listing_keeps_are_written) {
  make(2);
  const std::string second(1000, 'x');
  begin(0, 0);
  begin(1, 0);
  const std::size_t seconds = ListedBurst::kKeptMax / second.size() + 100;
  for (std::size_t n = 1; n <= seconds; ++n) {
    octets(0, second, 0.9F);
    octets(1, std::string(1000, 'y'), 0.1F);
    advance(n * kSecond);
    const std::size_t expected = n < 10 ? 0 : n * second.size();
    ASSERT_EQ(std::filesystem::exists(out_) ? std::filesystem::file_size(out_) : 0, expected);
  }
  end(0, seconds * kSecond);
  end(1, seconds * kSecond);
  close(seconds * kSecond);
  EXPECT_EQ(written(), std::string(seconds * second.size(), 'x'));
  EXPECT_EQ(listing_->bursts(), 1U);
}

TEST_F(BurstChoiceTest, a_reading_that_overlaps_the_chosen_one_is_dropped_and_the_next_is_not) {
  make(2);
  begin(0, 0);
  octets(0, "one", 0.5F);
  advance(10 * kSecond);  // chosen while it goes on
  begin(1, 11 * kSecond);
  octets(1, "no", 0.9F);
  end(0, 12 * kSecond);
  end(1, 12 * kSecond);
  advance(12 * kSecond);
  begin(1, 13 * kSecond);
  octets(1, "two", 0.9F);
  end(1, 14 * kSecond);
  advance(14 * kSecond);
  EXPECT_EQ(written(), "onetwo");
}

TEST_F(BurstChoiceTest, bursts_of_one_receiver_do_not_exclude_each_other) {
  make(2);
  begin(0, 0);
  octets(0, "one", 0.5F);
  end(0, kSecond);
  begin(0, kSecond);
  octets(0, "two", 0.9F);
  end(0, 2 * kSecond);
  advance(2 * kSecond);
  EXPECT_EQ(written(), "onetwo");
}

TEST_F(BurstChoiceTest, octets_of_a_single_receiver_are_written_as_they_come) {
  make(1);
  begin(0, 0);
  octets(0, "one", 0.5F);
  advance(1);
  EXPECT_EQ(written(), "one");
  octets(0, "two", 0.5F);
  EXPECT_EQ(written(), "onetwo");
  close(2);
  EXPECT_EQ(listing_->bursts(), 1U);
}

TEST_F(BurstChoiceTest, the_text_of_a_long_burst_says_how_much_of_it_is_not_shown) {
  make(1, false);
  begin(0, 0);
  octets(0, std::string(ListedBurst::kKeptMax, 'x'), 0.5F);
  octets(0, "seven!!", 0.5F);
  ::testing::internal::CaptureStdout();
  end(0, kSecond);
  advance(kSecond);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(text.ends_with("x\n  7 octets more are not shown; --out writes them all\n"));
}

}  // namespace
}  // namespace s5066::modem::tools
