// SPDX-License-Identifier: Apache-2.0
// Tests the reception of the preamble of 110D, and the channel estimate from it.
#include <algorithm>

#include "modem/api/airtime.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kSuperFrameSamples = 4 * ms110d::kSuperFrameSymbols;

std::vector<dsp::Complex> symbols_of(const Mode& mode, const Bytes& octets,
                                     unsigned super_frames = ms110d::kSuperFrames) {
  return make_symbols(mode, octets, {.super_frames = super_frames});
}

TEST(Ms110dPreambleWave, twenty_super_frames_are_received_from_any_of_them) {
  for (const char* text : {"110d-75-s", "110d-600-s", "110d-9600-us"}) {
    const Mode mode = mode_of(text);
    const Bytes octets = random_octets(30, 4);
    for (const std::size_t missed : {0U, 1U, 7U, 15U, 19U}) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(missed));
      Tape tape;
      const auto start = tape.silence(0.3).burst(symbols_of(mode, octets, 20));
      const auto begin = tape.samples().begin() + static_cast<std::ptrdiff_t>(start);
      std::fill(begin, begin + static_cast<std::ptrdiff_t>(missed * kSuperFrameSamples), 0.0F);
      tape.silence(0.5).through({.offset_hz = 25}, 3).noise(mode.rate_bps == 75 ? 0 : 23, 4);
      const auto bursts = listen(tape);
      expect_whole(bursts, mode, octets);
      const std::uint64_t data_begin =
          start + channel::Watterson::kDelaySamples +
          std::uint64_t{4} * ms110d::preamble_symbols(ms110d::parameters(mode), 20);
      EXPECT_NEAR(static_cast<double>(bursts.at(0).portions.at(0).first_bit_sample),
                  static_cast<double>(data_begin), 4);
    }
  }
}

// At this ratio the receiver misses one burst in a hundred if three super-frames are sent.
TEST(Ms110dPreambleWave, twenty_super_frames_are_not_missed_2_db_below_the_ratio_of_the_standard) {
  const Mode mode = mode_of("110d-75-s");
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Bytes octets = random_octets(6, seed);
    Tape tape;
    tape.silence(0.5).burst(symbols_of(mode, octets, 20));
    tape.silence(0.5).through({.offset_hz = 7.3 * static_cast<double>(seed) - 40}, seed);
    const auto bursts = listen(tape.noise(-8, seed));
    ASSERT_EQ(bursts.size(), 1u) << seed;
    EXPECT_EQ(bursts[0].acquired.mode, mode) << seed;
  }
}

// The first of two paths is heard throughout the preamble and then for one second in every two; the
// second path replaces it in the other seconds. A receiver that does not find the second path loses
// half of the data. Constraint length 7 decodes a block of which less was heard, until the second
// path is found.
TEST(Ms110dPreambleWave, a_path_that_faded_throughout_the_preamble_is_found_in_the_data) {
  const Mode mode = mode_of("110d-75-l");
  const Bytes octets = random_octets(capacity(mode, std::chrono::seconds(24)), 2);
  Tape tape;
  const auto symbols = make_symbols(mode, octets, {.constraint = 7});
  const auto start = tape.silence(0.3).burst(symbols);
  tape.silence(0.5);
  const std::size_t data = start + 4 * preamble_symbols(mode);
  constexpr std::size_t kDelay = 32;
  const std::vector<float> sent = tape.samples();
  for (std::size_t i = data; i < sent.size(); ++i) {
    if ((i - data) / kSampleRate % 2 == 1) tape.samples()[i] = sent[i - kDelay];
  }
  expect_whole(listen(tape.noise(-5, 3)), mode, octets);
}

/// Returns a burst whose first super-frame of the preamble is that of another mode with this gain.
/// The other super-frames have the gain `gain_behind`.
Tape with_another_first(const Mode& mode, const Bytes& octets, const Mode& other, float gain,
                        float gain_behind) {
  const auto first = symbols_of(other, octets);
  auto symbols = symbols_of(mode, octets);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const bool here = i < ms110d::kSuperFrameSymbols;
    const bool behind = !here && i < ms110d::kSuperFrames * ms110d::kSuperFrameSymbols;
    if (here) symbols[i] = gain * first[i];
    if (behind) symbols[i] *= gain_behind;
  }
  Tape tape;
  tape.silence(0.5).burst(std::move(symbols));
  tape.silence(0.5).noise(8, 1);
  return tape;
}

TEST(Ms110dPreambleWave, a_surer_reading_of_the_same_preamble_corrects_the_first) {
  const Mode mode = mode_of("110d-600-s");
  const Bytes octets = random_octets(100, 5);
  for (const char* text : {"110d-1200-m", "110d-75-l"}) {
    SCOPED_TRACE(text);
    Tape tape = with_another_first(mode, octets, mode_of(text), 0.4F, 1);
    const auto bursts = listen(tape);
    ASSERT_EQ(bursts.size(), 2u);
    EXPECT_EQ(bursts[0].acquired.mode, mode_of(text));
    ASSERT_TRUE(bursts[0].ended);
    EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::replaced);
    EXPECT_TRUE(bursts[0].portions.empty());
    expect_whole({bursts[1]}, mode, octets);
  }
}

TEST(Ms110dPreambleWave, a_less_sure_reading_of_the_same_preamble_changes_nothing) {
  const Mode mode = mode_of("110d-600-s");
  const Mode other = mode_of("110d-75-l");
  const Bytes octets = random_octets(100, 5);
  Tape tape = with_another_first(other, octets, mode, 1, 0.45F);
  const auto bursts = listen(tape);
  ASSERT_FALSE(bursts.empty());
  EXPECT_EQ(bursts[0].acquired.mode, mode);
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_GT(to_seconds(from_seconds(static_cast<double>(bursts[0].ended->at_sample) / kSampleRate)),
            1.5);
}

}  // namespace
}  // namespace s5066::modem
