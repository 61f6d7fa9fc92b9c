// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "modem/api/airtime.h"
#include "modem/waveforms/stanag4285/parameters.h"
#include "tests/support/golden_symbols.h"

namespace s5066::modem::stanag4285 {
namespace {

TEST(Stanag4285Symbols, every_rate_sends_the_symbols_of_the_reference) {
  struct Row {
    std::uint32_t rate_bps;
    Interleaver interleaver;
    std::size_t count;
    std::uint32_t crc;
  };
  for (const Row& row : {
           Row{75, Interleaver::short_, 21504, 0xeef5be86},
           Row{150, Interleaver::short_, 11776, 0x040e4c03},
           Row{300, Interleaver::short_, 6912, 0x23b8cecd},
           Row{600, Interleaver::zero, 2560, 0x0c1535a5},
           Row{600, Interleaver::short_, 4608, 0x8606645f},
           Row{600, Interleaver::long_, 26368, 0xc0d81adb},
           Row{1200, Interleaver::zero, 1280, 0x5b997f41},
           Row{1200, Interleaver::short_, 3328, 0xf9406d29},
           Row{1200, Interleaver::long_, 25088, 0xd507091c},
           Row{2400, Interleaver::zero, 768, 0x3c18afac},
           Row{2400, Interleaver::short_, 2816, 0x7ac0c4f7},
           Row{2400, Interleaver::long_, 24576, 0x6f4c1a43},
           Row{3600, Interleaver::zero, 512, 0xb092ce74},
       }) {
    const Mode mode{Waveform::stanag4285, row.rate_bps, row.interleaver};
    const auto phases = symbols(parameters(mode), golden_message());
    EXPECT_EQ(phases.size(), row.count) << to_string(mode);
    EXPECT_EQ(crc32_of_digits(phases), row.crc) << to_string(mode);
  }
}

// These are not modes of ours, but their symbols are the same.
TEST(Stanag4285Symbols, slower_rates_without_the_code_send_those_of_the_reference) {
  const Parameters slow{.bits_per_symbol = 1, .coded = false};
  EXPECT_EQ(crc32_of_digits(symbols(slow, golden_message())), 0x8f2011e5U);
  const Parameters fast{.bits_per_symbol = 2, .coded = false};
  EXPECT_EQ(crc32_of_digits(symbols(fast, golden_message())), 0x25a0a801U);
}

TEST(Stanag4285Symbols, a_burst_has_the_symbols_that_its_airtime_counts) {
  for (const Mode& mode : {Mode{Waveform::stanag4285, 75, Interleaver::short_},
                           Mode{Waveform::stanag4285, 300, Interleaver::long_},
                           Mode{Waveform::stanag4285, 600, Interleaver::zero},
                           Mode{Waveform::stanag4285, 1200, Interleaver::long_},
                           Mode{Waveform::stanag4285, 2400, Interleaver::short_},
                           Mode{Waveform::stanag4285, 2400, Interleaver::long_},
                           Mode{Waveform::stanag4285, 3600, Interleaver::zero}}) {
    const Parameters p = parameters(mode);
    EXPECT_EQ(p.frame_user_bits(), block_bits(mode)) << to_string(mode);
    for (const std::size_t count : {0, 1, 54, 300}) {
      EXPECT_EQ(symbols(p, Bytes(count)).size(), burst_symbols(mode, count))
          << to_string(mode) << ' ' << count;
    }
  }
}

}  // namespace
}  // namespace s5066::modem::stanag4285
