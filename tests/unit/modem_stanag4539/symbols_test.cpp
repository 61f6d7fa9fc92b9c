// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4539/symbols.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "modem/api/airtime.h"
#include "tests/support/golden_symbols.h"

namespace s5066::modem::stanag4539 {
namespace {

constexpr std::array kRates = {3200U, 4800U, 6400U, 8000U, 9600U};
constexpr std::array kInterleavers = {Interleaver::ultra_short, Interleaver::very_short,
                                      Interleaver::short_,      Interleaver::medium,
                                      Interleaver::long_,       Interleaver::very_long};

std::vector<dsp::Complex> points_of(const Mode& mode, const std::vector<std::uint8_t>& numbers) {
  const auto table = points(parameters(mode));
  std::vector<dsp::Complex> out;
  for (const std::uint8_t number : numbers) out.push_back(table[number]);
  return out;
}

TEST(Stanag4539Symbols, every_rate_sends_the_symbols_of_the_reference) {
  struct Row {
    std::uint32_t rate_bps;
    Interleaver interleaver;
    std::size_t count;
    std::uint32_t crc;
  };
  const std::vector<Row> rows = {
      {3200, Interleaver::ultra_short, 861, 0x06d7e115},
      {3200, Interleaver::very_short, 1148, 0x7e708187},
      {3200, Interleaver::short_, 2870, 0x7c978b49},
      {4800, Interleaver::ultra_short, 574, 0x1c98f1a1},
      {4800, Interleaver::very_short, 1148, 0xb7973f6e},
      {4800, Interleaver::short_, 2870, 0x591ffaaf},
      {6400, Interleaver::ultra_short, 574, 0xbf2e6bc5},
      {6400, Interleaver::very_short, 1148, 0x216acc37},
      {6400, Interleaver::short_, 2870, 0xda56153f},
      {8000, Interleaver::ultra_short, 574, 0x1069d696},
      {8000, Interleaver::very_short, 1148, 0x1658db86},
      {8000, Interleaver::short_, 2870, 0x2fc7c408},
      {9600, Interleaver::ultra_short, 574, 0xfa8d9f4e},
      {9600, Interleaver::very_short, 1148, 0xa6a92325},
      {9600, Interleaver::short_, 2870, 0xa0f6a904},
      {12800, Interleaver::zero, 574, 0x4ea08ead},
  };
  for (const Row& row : rows) {
    const Mode mode{Waveform::stanag4539, row.rate_bps, row.interleaver};
    const auto numbers = symbols(mode, golden_message());
    EXPECT_EQ(numbers.size(), row.count) << to_string(mode);
    EXPECT_EQ(crc32_of_points(points_of(mode, numbers)), row.crc) << to_string(mode);
  }
}

TEST(Stanag4539Symbols, a_burst_has_the_symbols_that_its_airtime_counts) {
  for (const std::uint32_t rate : kRates) {
    for (const Interleaver interleaver : kInterleavers) {
      const Mode mode{Waveform::stanag4539, rate, interleaver};
      const std::size_t cycle =
          block_bits({Waveform::stanag4539, rate, Interleaver::very_long}) / 8;
      for (const std::size_t count : {std::size_t{0}, cycle - 4, cycle - 3, 2 * cycle}) {
        EXPECT_EQ(symbols(mode, Bytes(count)).size(), burst_symbols(mode, count))
            << to_string(mode) << ' ' << count;
      }
      EXPECT_EQ(parameters(mode).block_user_bits(), block_bits(mode)) << to_string(mode);
    }
  }
}

// These are worked examples of the reference.
TEST(Stanag4539Parameters, announces_rate_and_interleaver_in_preamble_and_probes) {
  using Digits = std::array<std::uint8_t, kAnnouncementDigits>;
  const auto digits = [](std::uint32_t rate, Interleaver interleaver) {
    return announcement(parameters({Waveform::stanag4539, rate, interleaver}));
  };
  EXPECT_EQ(digits(3200, Interleaver::ultra_short), (Digits{0, 0, 4}));
  EXPECT_EQ(digits(4800, Interleaver::very_short), (Digits{0, 4, 0}));
  EXPECT_EQ(digits(9600, Interleaver::very_long), (Digits{4, 2, 6}));
  EXPECT_EQ(digits(12800, Interleaver::zero), (Digits{6, 6, 2}));

  const Parameters p = parameters({Waveform::stanag4539, 9600, Interleaver::very_long});
  std::string signs;
  for (unsigned frame = 0; frame < 18; ++frame) signs += probe_is_negative(p, frame) ? '-' : '+';
  EXPECT_EQ(signs, "-------+-+---+++-+");
}

TEST(Stanag4539Parameters, points_have_the_power_of_the_reference) {
  const std::array<std::pair<std::uint32_t, double>, 3> rows = {
      {{6400, 0.7835}, {8000, 0.6504}, {9600, 0.5815}}};
  for (const auto& [rate, expected] : rows) {
    const Parameters p = parameters({Waveform::stanag4539, rate, Interleaver::short_});
    const auto data = points(p).subspan(kPhasePoints, std::size_t{1} << p.bits_per_symbol);
    const double power = std::accumulate(data.begin(), data.end(), 0.0, [](double sum, auto z) {
      return sum + static_cast<double>(std::norm(z));
    });
    EXPECT_NEAR(power / static_cast<double>(data.size()), expected, 5e-5) << rate;
  }
}

}  // namespace
}  // namespace s5066::modem::stanag4539
