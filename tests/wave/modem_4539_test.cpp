// SPDX-License-Identifier: Apache-2.0
// Tests STANAG 4539 through channels, and with other signals before, behind and instead of it.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "modem/api/airtime.h"
#include "modem/channel/impairments.h"
#include "modem/waveforms/stanag4539/parameters.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

/// Returns the ratio relative to the power of the data, because its constellation is weaker than
/// the preamble.
double snr_for(const Mode& mode, double snr_db) {
  const auto table = stanag4539::points(stanag4539::parameters(mode));
  double power = 1;
  if (mode.rate_bps > 4800) {
    const auto data = table.subspan(stanag4539::kPhasePoints, mode.rate_bps == 6400   ? 16
                                                              : mode.rate_bps == 8000 ? 32
                                                                                      : 64);
    power = 0;
    for (const auto& z : data) power += static_cast<double>(std::norm(z));
    power /= static_cast<double>(data.size());
  }
  return snr_db - 10 * std::log10((256 * power + 31) / 287);
}

// Ratios of [C Table C-XVII], white noise.
TEST(Stanag4539Wave, every_rate_is_free_of_errors_at_the_ratio_of_the_standard) {
  struct Row {
    const char* mode;
    double snr_db;
  };
  for (const Row& row :
       {Row{"4539-3200-vl", 9}, Row{"4539-4800-vl", 13}, Row{"4539-6400-vl", 16},
        Row{"4539-8000-vl", 19}, Row{"4539-9600-vl", 21}, Row{"4539-9600-us", 25}}) {
    const Mode mode = mode_of(row.mode);
    expect_whole_through(mode, capacity(mode, std::chrono::seconds(18)),
                         {.snr_db = snr_for(mode, row.snr_db), .seed = 5});
  }
}

TEST(Stanag4539Wave, a_carrier_off_by_75_hz_either_way_does_no_harm) {
  for (const double offset : {-75.0, -30.5, 7.0, 75.0}) {
    for (const char* text : {"4539-3200-s", "4539-9600-s"}) {
      const auto bursts = expect_whole_through(
          mode_of(text), 1500, {.channel = {.offset_hz = offset}, .snr_db = 28, .seed = 7});
      ASSERT_FALSE(bursts.empty());
      EXPECT_NEAR(bursts[0].acquired.offset_hz, offset, 0.7);
    }
  }
}

// Poor conditions: 2 ms, 1 Hz. [C Table C-XVII] asks for 14 to 31 dB.
TEST(Stanag4539Wave, slow_fading_is_followed_with_the_longest_interleaver) {
  struct Row {
    const char* mode;
    double snr_db;
  };
  for (const Row& row :
       {Row{"4539-3200-vl", 14}, Row{"4539-6400-vl", 23}, Row{"4539-9600-vl", 31}}) {
    const Mode mode = mode_of(row.mode);
    expect_whole_through(mode, capacity(mode, std::chrono::seconds(27)),
                         {.channel = {.paths = channel::paths_by_name("poor"), .offset_hz = -12},
                          .snr_db = snr_for(mode, row.snr_db),
                          .seed = 2});
  }
}

// Some blocks of these bursts are lost if the channel response is taken from the filter and its
// smoother alone, which treat each step by itself.
TEST(Stanag4539Wave, the_course_of_fading_is_evened_out) {
  const Mode mode = mode_of("4539-4800-vl");
  for (const unsigned seed : {7, 11}) {
    expect_whole_through(mode, capacity(mode, std::chrono::seconds(27)),
                         {.channel = {.paths = channel::paths_by_name("poor"), .offset_hz = -12},
                          .snr_db = snr_for(mode, 13),
                          .seed = seed});
  }
}

/// Sends bursts whose preamble lies in a fade of both paths, with these seeds.
void expect_whole_from_a_fade(std::initializer_list<unsigned> seeds) {
  const Mode mode = mode_of("4539-4800-s");
  for (const unsigned seed : seeds) {
    SCOPED_TRACE(seed);
    expect_whole_through(mode, capacity(mode, std::chrono::seconds(5)),
                         {.channel = {.paths = channel::paths_by_name("poor"), .offset_hz = -12},
                          .snr_db = 19,
                          .seed = seed});
  }
}

// A receiver that assumes a constant response cannot decode the mode announcement of these bursts.
TEST(Stanag4539Wave, a_preamble_is_read_though_the_response_turns_around_in_it) {
  expect_whole_from_a_fade({485, 824, 1070});
}

// These bursts are lost if the receiver tracks the carrier estimate of the preamble as slowly as a
// known carrier.
TEST(Stanag4539Wave, a_carrier_that_the_preamble_hardly_shows_is_found_behind_it) {
  expect_whole_from_a_fade({92, 185, 336, 1040});
}

TEST(Stanag4539Wave, waveforms_in_turn_are_told_apart) {
  Tape tape;
  const std::vector<const char*> texts = {"4539-6400-s", "110a-2400-short", "4539-12800-zero",
                                          "110a-600-short", "4539-3200-us"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    tape.silence(0.2).burst(mode_of(texts[i]), random_octets(200, i));
  }
  const auto bursts = listen(tape.silence(0.5).noise(35, 3));
  ASSERT_EQ(bursts.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(to_string(bursts[i].acquired.mode), texts[i]);
    EXPECT_EQ(bursts[i].octets(), random_octets(200, i));
  }
}

TEST(Stanag4539Wave, a_preamble_followed_by_nothing_is_given_up) {
  Tape tape;
  const auto start = tape.silence(0.2).burst(mode_of("4539-9600-vl"), random_octets(300, 1));
  tape.samples().resize(start + 4 * stanag4539::kPreambleSymbols + 40);
  const auto bursts = listen(tape.silence(6).noise(25, 2));
  ASSERT_EQ(bursts.size(), 1u);
  EXPECT_TRUE(bursts[0].octets().empty());
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::lost);
}

TEST(Stanag4539Wave, a_new_preamble_replaces_a_burst_that_stopped_in_the_middle) {
  const Bytes octets = random_octets(500, 5);
  Tape tape;
  tape.silence(0.2).burst(mode_of("4539-6400-l"), random_octets(9000, 1));
  tape.samples().resize(static_cast<std::size_t>(3.037 * kSampleRate));
  tape.burst(mode_of("4539-4800-s"), octets);
  const auto bursts = listen(tape.silence(0.5).noise(30, 2));
  ASSERT_EQ(bursts.size(), 2u);
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::replaced);
  EXPECT_EQ(bursts[1].octets(), octets);
}

// Goal:   a start that lay in a fade costs the blocks that it spoils. All octets from the first
//         block that was heard from its beginning arrive, and none that was not sent.
// Method: the test removes the first second of a burst of three cycles: the preamble and seven and
//         a half frames.
TEST(Stanag4539Wave, a_transmission_whose_start_was_missed_is_received_from_the_next_block_on) {
  struct Row {
    const char* mode;
    double snr_db;
    std::vector<channel::Path> paths;
  };
  const std::vector<channel::Path> still = {{}};
  for (const Row& row :
       {Row{"4539-3200-us", 8, still}, Row{"4539-3200-vl", 7, still}, Row{"4539-4800-s", 14, still},
        Row{"4539-6400-m", 18, still}, Row{"4539-8000-l", 20, still},
        Row{"4539-9600-vl", 22, still}, Row{"4539-12800-zero", 45, still},
        Row{"4539-3200-vl", 14, channel::paths_by_name("poor")}}) {
    SCOPED_TRACE(std::string(row.mode) + ' ' + std::to_string(row.snr_db));
    const Mode mode = mode_of(row.mode);
    constexpr double kFrameSeconds = 287.0 / 2400;
    constexpr unsigned kFramesInCycle = 72;
    const unsigned per_block = stanag4539::parameters(mode).frames_per_block;
    const unsigned first = (8 + per_block - 1) / per_block * per_block;
    const auto per_frame = static_cast<std::ptrdiff_t>(block_bits(mode) / per_block / 8);
    const Bytes octets = random_octets(static_cast<std::size_t>(180 * per_frame), 5);
    Tape tape;
    const auto start = tape.silence(0.5).burst(mode, octets);
    const auto begin = tape.samples().begin() + static_cast<std::ptrdiff_t>(start);
    std::fill(begin, begin + kSampleRate, 0.0F);
    tape.silence(0.5).through({.paths = row.paths, .offset_hz = -33}, 2).noise(row.snr_db, 3);
    const auto bursts = listen(tape);
    ASSERT_GE(bursts.size(), 1u);
    for (std::size_t i = 0; i + 1 < bursts.size(); ++i) {
      EXPECT_TRUE(bursts[i].octets().empty());
      ASSERT_TRUE(bursts[i].ended);
      EXPECT_EQ(bursts[i].ended->reason, CarrierDownReason::replaced);
    }
    const HeardBurst& heard = bursts.back();
    EXPECT_EQ(heard.acquired.mode, mode);
    EXPECT_NEAR(heard.acquired.offset_hz, -33, 3);
    const Bytes rest(octets.begin() + first * per_frame, octets.end());
    EXPECT_EQ(bit_errors(heard.octets(), rest), 0u);
    ASSERT_FALSE(heard.portions.empty());
    const double inserted = first < kFramesInCycle ? 0 : 4.0 * stanag4539::kInsertedSymbols;
    const double began = static_cast<double>(start) + channel::Watterson::kDelaySamples +
                         4.0 * static_cast<double>(preamble_symbols(mode)) +
                         first * kFrameSeconds * kSampleRate + inserted;
    EXPECT_NEAR(static_cast<double>(heard.portions[0].first_bit_sample), began, 30);
    ASSERT_TRUE(heard.ended);
    EXPECT_EQ(heard.ended->reason, CarrierDownReason::end_of_message);
  }
}

// Goal:   a preamble that lay in a fade costs time and no data: once the first inserted preamble is
//         read, everything since the beginning is received.
// Method: the test removes the preamble. A first block of one frame without a code can then not be
//         right, and its quality must be low.
TEST(Stanag4539Wave, a_transmission_whose_preamble_was_missed_is_received_whole) {
  struct Row {
    const char* mode;
    double snr_db;
    std::vector<channel::Path> paths;
    double skew_ppm = 0;
  };
  const std::vector<channel::Path> still = {{}};
  for (const Row& row :
       {Row{"4539-3200-us", 9, still}, Row{"4539-3200-vl", 7, still}, Row{"4539-6400-m", 18, still},
        Row{"4539-9600-vl", 22, still, 100}, Row{"4539-9600-vl", 22, still, -100},
        Row{"4539-12800-zero", 45, still}, Row{"4539-3200-vl", 14, channel::paths_by_name("poor")},
        Row{"4539-6400-l", 25, channel::paths_by_name("poor"), 50}}) {
    SCOPED_TRACE(std::string(row.mode) + ' ' + std::to_string(row.snr_db));
    const Mode mode = mode_of(row.mode);
    const Bytes octets = random_octets(mode.rate_bps * 12 / 8, 5);
    Tape tape;
    const auto start = tape.silence(0.5).burst(mode, octets);
    const auto begin = tape.samples().begin() + static_cast<std::ptrdiff_t>(start);
    std::fill(begin, begin + 4 * static_cast<std::ptrdiff_t>(stanag4539::kPreambleSymbols), 0.0F);
    tape.silence(0.5).through({.paths = row.paths, .offset_hz = -33}, 2);
    std::vector<float> skewed;
    channel::ClockSkew(row.skew_ppm).process(tape.samples(), skewed);
    tape.samples() = skewed;
    const auto bursts = listen(tape.noise(row.snr_db, 3));
    ASSERT_GE(bursts.size(), 1u);
    const HeardBurst& heard = bursts.back();
    EXPECT_EQ(heard.acquired.mode, mode);
    ASSERT_FALSE(heard.portions.empty());
    ASSERT_EQ(heard.octets().size(), octets.size());
    std::ptrdiff_t unsure = 0;
    if (mode.rate_bps == 12800) {
      EXPECT_LT(heard.portions[0].soft_quality, 0.05);
      unsure = static_cast<std::ptrdiff_t>(heard.portions[0].bytes.size());
    }
    const Bytes got = heard.octets();
    EXPECT_EQ(Bytes(got.begin() + unsure, got.end()), Bytes(octets.begin() + unsure, octets.end()));
    // Clocks that differ by 100 ppm are 9 samples apart after a cycle.
    EXPECT_NEAR(static_cast<double>(heard.portions[0].first_bit_sample),
                static_cast<double>(start) + 4.0 * static_cast<double>(preamble_symbols(mode)), 80);
    ASSERT_TRUE(heard.ended);
    EXPECT_EQ(heard.ended->reason, CarrierDownReason::end_of_message);
  }
}

// If the receiver joins in the middle of a cycle, the rest of the transmission holds more inserted
// preambles than the same number of blocks from its beginning.
TEST(Stanag4539Wave, a_transmission_whose_start_was_missed_ends_where_it_was_sent_to) {
  for (const char* text : {"4539-3200-us", "4539-4800-vs", "4539-3200-s", "4539-6400-m",
                           "4539-3200-l", "4539-3200-vl"}) {
    const Mode mode = mode_of(text);
    const unsigned per_block = stanag4539::parameters(mode).frames_per_block;
    for (const unsigned frames : {144U, 150U}) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(frames));
      const unsigned blocks = (frames + per_block - 1) / per_block;
      Tape tape;
      const auto start =
          tape.silence(0.5).burst(mode, random_octets(blocks * block_bits(mode) / 8 - 12, frames));
      const auto begin = tape.samples().begin() + static_cast<std::ptrdiff_t>(start);
      std::fill(begin, begin + kSampleRate, 0.0F);
      const auto end = static_cast<double>(tape.size());
      const auto bursts = listen(tape.silence(1).noise(22, 3));
      ASSERT_FALSE(bursts.empty());
      ASSERT_TRUE(bursts.back().ended);
      EXPECT_EQ(bursts.back().ended->reason, CarrierDownReason::end_of_message);
      EXPECT_NEAR(static_cast<double>(bursts.back().ended->ended_sample), end, 12);
    }
  }
}

TEST(Stanag4539Wave, noise_is_no_burst) {
  Tape tape;
  EXPECT_TRUE(listen(tape.silence(120).noise(0, 4)).empty());
}

TEST(Stanag4539Wave, samples_that_are_no_numbers_spoil_only_where_they_stand) {
  const Mode mode = mode_of("4539-3200-l");
  const Bytes octets = random_octets(1000, 6);
  Tape tape;
  const auto start = tape.silence(0.3).burst(mode, octets);
  tape.silence(0.5);
  tape.samples()[start + 9000] = std::numeric_limits<float>::quiet_NaN();
  tape.samples()[start + 9001] = std::numeric_limits<float>::infinity();
  expect_whole(listen(tape.noise(25, 1)), mode, octets);
}

}  // namespace
}  // namespace s5066::modem
