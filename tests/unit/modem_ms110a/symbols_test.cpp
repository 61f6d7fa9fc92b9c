// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "modem/api/airtime.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "tests/support/golden_symbols.h"

namespace s5066::modem::ms110a {
namespace {

// The symbols of the short and long interleaver are equal, symbol by symbol, to recordings of an
// independent transmitter. The other modes are equal to a second implementation of the same facts.
TEST(Symbols, every_mode_sends_the_symbols_of_the_reference) {
  struct Row {
    std::string mode;
    std::size_t count;
    std::uint32_t crc;
  };
  const std::vector<Row> rows = {
      {"110a-75-zero", 20896, 0x1fcb7b23},   {"110a-75-short", 21600, 0xb74e6d79},
      {"110a-75-long", 34560, 0x62022b4d},   {"110a-150-zero", 11200, 0x4ccb7e96},
      {"110a-150-short", 11520, 0xe89735b3}, {"110a-150-long", 23040, 0x595f6e4f},
      {"110a-300-zero", 6320, 0xf9f62e15},   {"110a-600-zero", 3880, 0x960cfacc},
      {"110a-1200-zero", 2680, 0x6be8ffba},  {"110a-2400-zero", 2064, 0xdd91d330},
      {"110a-4800-zero", 1776, 0x639adb76},  {"110a-300-short", 7200, 0x888279e4},
      {"110a-300-long", 23040, 0x5359260a},  {"110a-600-short", 4320, 0xf2520e64},
      {"110a-600-long", 23040, 0x9124797f},  {"110a-1200-short", 2880, 0x0e66a880},
      {"110a-1200-long", 23040, 0xb217998c}, {"110a-2400-short", 2880, 0x402e9307},
      {"110a-2400-long", 23040, 0x337241f5},
  };
  const auto modes = all_modes();
  ASSERT_EQ(rows.size(), std::count_if(modes.begin(), modes.end(), [](const Mode& mode) {
              return mode.waveform == Waveform::ms110a;
            }));
  for (const Row& row : rows) {
    const auto tribits = symbols(parameters(*parse_mode(row.mode)), golden_message());
    EXPECT_EQ(tribits.size(), row.count) << row.mode;
    EXPECT_EQ(crc32_of_digits(tribits), row.crc) << row.mode;
  }
}

// Digital voice is a bit stream at 2400 bit/s that the preamble announces as voice. It is not one
// of our modes, and the receiver refuses it. STANDARD: whether it has no interleaver, as here, or
// the short one is open.
TEST(Symbols, digital_voice_sends_the_symbols_of_the_reference) {
  Parameters voice = parameters({Waveform::ms110a, 2400, Interleaver::zero});
  voice.d1 = 7;
  voice.d2 = 7;
  const auto tribits = symbols(voice, golden_message());
  EXPECT_EQ(tribits.size(), 2064u);
  EXPECT_EQ(crc32_of_digits(tribits), 0xfb838e14);
}

TEST(Parameters, every_mode_is_found_again_by_what_it_announces) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::ms110a) continue;
    const Parameters p = parameters(mode);
    Mode announced = mode;
    if (mode.interleaver == Interleaver::zero && mode.rate_bps < 4800) {
      announced.interleaver = Interleaver::short_;
    }
    EXPECT_EQ(mode_announced(p.d1, p.d2), announced);
    EXPECT_EQ(p.block_user_bits(), block_bits(mode)) << to_string(mode);
    EXPECT_EQ(p.block_symbols(), data_symbols(mode, 1)) << to_string(mode);
    EXPECT_EQ(p.segments * kSegmentSymbols, preamble_symbols(mode)) << to_string(mode);
    EXPECT_EQ(p.frames_per_cycle * p.frame_symbols() % kDataScramblerPeriod, 0u);
  }
  EXPECT_FALSE(mode_announced(5, 6));  // reserved
  EXPECT_FALSE(mode_announced(7, 7));  // digital voice
  EXPECT_FALSE(mode_announced(0, 0));
}

}  // namespace
}  // namespace s5066::modem::ms110a
