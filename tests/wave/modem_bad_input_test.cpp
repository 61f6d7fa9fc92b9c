// SPDX-License-Identifier: Apache-2.0
// Tests signals that are no transmission or only the beginning of one: the receiver delivers
// nothing from them, and the channel does not stay busy.
#include <algorithm>

#include "modem/api/airtime.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

TEST(ModemBadInput, a_preamble_followed_by_nothing_yields_nothing_and_is_given_up) {
  for (const char* text :
       {"110a-75-short", "110a-600-short", "110a-2400-long", "4539-3200-s", "110d-300-s"}) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    Tape tape;
    const auto start = tape.silence(0.2).burst(mode, random_octets(300, 1));
    tape.samples().resize(start + 4 * preamble_symbols(mode) + 40);
    const auto bursts = listen(tape.silence(25).noise(20, 2));
    for (const HeardBurst& burst : bursts) {
      EXPECT_TRUE(burst.octets().empty());
      EXPECT_TRUE(burst.ended);
    }
  }
}

TEST(ModemBadInput, noise_of_full_scale_is_no_burst) {
  Rng rng(5);
  std::vector<float> samples(60 * kSampleRate);
  for (float& x : samples) x = static_cast<float>(2 * rng.uniform() - 1);
  BurstReceiver receiver;
  EXPECT_TRUE(listen(receiver, samples).empty());
}

TEST(ModemBadInput, a_clipped_burst_arrives_whole) {
  for (const char* text : {"110a-2400-short", "4539-4800-s", "110d-3200-s"}) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    const Bytes octets = random_octets(400, 3);
    Tape tape;
    tape.silence(0.3).burst(mode, octets);
    tape.silence(0.5).noise(25, 3);
    for (float& x : tape.samples()) x = std::clamp(x, -0.25F, 0.25F);
    expect_whole(listen(tape), mode, octets);
  }
}

// Short blocks are complete before the receiver notices the loss. Their quality distinguishes them
// from blocks of a transmission.
TEST(ModemBadInput, octets_made_of_noise_behind_a_preamble_have_no_quality) {
  unsigned blocks = 0;
  for (const Mode& mode : all_modes()) {
    const bool is_short = mode.interleaver == Interleaver::ultra_short ||
                          mode.interleaver == Interleaver::short_ ||
                          mode.interleaver == Interleaver::zero;
    if (!is_short || mode.rate_bps < 1600 || must_be_told(mode)) continue;
    for (const double snr_db : {6.0, 20.0}) {
      SCOPED_TRACE(to_string(mode) + " " + std::to_string(snr_db));
      Tape tape;
      const auto start = tape.silence(0.2).burst(mode, random_octets(300, 1));
      tape.samples().resize(start + 4 * preamble_symbols(mode) + 40);
      for (const HeardBurst& burst : listen(tape.silence(6).noise(snr_db, 2))) {
        EXPECT_TRUE(burst.ended);
        for (const HeardBytes& portion : burst.portions) EXPECT_LT(portion.soft_quality, 0.25);
        blocks += static_cast<unsigned>(burst.portions.size());
      }
    }
  }
  EXPECT_GT(blocks, 100U);
}

// Goal:   octets decoded from noise behind a burst at 75 bit/s that was cut off have a low quality,
//         although this rate has no probes to measure it by.
// Method: the carrier vanishes in mid-burst and the noise goes on.
TEST(ModemBadInput, octets_made_of_noise_behind_a_burst_at_75_that_was_cut_off_do_not_look_good) {
  unsigned blocks = 0;
  for (const char* text : {"110d-75-s", "110a-75-short", "110a-75-zero"}) {
    const Mode mode = mode_of(text);
    for (const double snr_db : {20.0, -5.0}) {
      for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        SCOPED_TRACE(text + (" " + std::to_string(snr_db)) + " " + std::to_string(seed));
        Tape tape;
        const auto start = tape.silence(0.2).burst(mode, random_octets(40, seed));
        const std::size_t cut = start + (tape.size() - start) * (50 + 3 * seed) / 100;
        tape.samples().resize(cut);
        tape.silence(8).noise(snr_db, seed + 10);
        for (const HeardBurst& burst : must_be_told(mode) ? listen_for(mode, tape) : listen(tape)) {
          EXPECT_TRUE(burst.ended);
          for (const HeardBytes& portion : burst.portions) {
            if (portion.first_bit_sample < cut) continue;
            EXPECT_LT(portion.soft_quality, 0.4);
            ++blocks;
          }
        }
      }
    }
  }
  EXPECT_GT(blocks, 15U);
}

// Goal:   the low quality of noise does not lower the quality of correct blocks at the lowest
//         ratios.
TEST(ModemBadInput, blocks_at_75_that_come_right_in_much_noise_look_good) {
  for (const char* text : {"110d-75-s", "110d-75-m", "110d-75-l", "110a-75-long"}) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    unsigned right = 0;
    unsigned right_and_good = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      const Bytes octets = random_octets(60, seed);
      Tape tape;
      tape.silence(0.2).burst(mode, octets);
      for (const HeardBurst& burst : listen(tape.silence(0.3).noise(-9, seed + 10))) {
        auto expected = octets.begin();
        for (const HeardBytes& portion : burst.portions) {
          const auto count = static_cast<std::ptrdiff_t>(portion.bytes.size());
          if (count == 0 || octets.end() - expected < count) break;
          const bool same = std::equal(portion.bytes.begin(), portion.bytes.end(), expected);
          expected += count;
          right += same ? 1 : 0;
          right_and_good += same && portion.soft_quality >= 0.5F ? 1 : 0;
        }
      }
    }
    EXPECT_GE(right, 3U);
    EXPECT_GE(10 * right_and_good, 9 * right) << right_and_good << " of " << right;
  }
}

}  // namespace
}  // namespace s5066::modem
