// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "modem/api/airtime.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;

TEST(Airtime, capacity_is_the_most_that_fits) {
  std::vector<Mode> modes(all_modes().begin(), all_modes().end());
  for (const auto interleaver :
       {Interleaver::ultra_short, Interleaver::very_short, Interleaver::short_, Interleaver::medium,
        Interleaver::long_, Interleaver::very_long}) {
    modes.push_back({Waveform::stanag4539, 6400, interleaver});
  }
  modes.push_back({Waveform::stanag4539, 12800, Interleaver::zero});
  modes.push_back({Waveform::ms110a, 300, Interleaver::zero});
  for (const Mode& mode : modes) {
    for (const auto limit :
         {milliseconds(600), milliseconds(4800), milliseconds(8610), milliseconds(8640),
          milliseconds(8760), milliseconds(30000), milliseconds(127500)}) {
      const std::size_t octets = capacity(mode, limit);
      if (octets == 0) {
        EXPECT_GT(data_duration(mode, 1), limit);
        continue;
      }
      EXPECT_LE(data_duration(mode, octets), limit) << to_string(mode);
      EXPECT_GT(data_duration(mode, octets + 1), limit) << to_string(mode);
    }
  }
}

TEST(Airtime, an_octet_past_the_block_costs_a_block) {
  const Mode mode{Waveform::ms110a, 2400, Interleaver::short_};
  const std::size_t octets = (1440 - 176) / 8;
  EXPECT_EQ(airtime(mode, octets), milliseconds(1200));
  EXPECT_EQ(airtime(mode, octets + 1), milliseconds(1800));
}

// The reference's symbol files for a message of 54 octets give these counts.
TEST(Airtime, counts_every_symbol_of_the_reference_bursts) {
  struct Row {
    Mode mode;
    std::uint64_t symbols;
  };
  constexpr auto kTone = Waveform::ms110a;
  constexpr auto kFast = Waveform::stanag4539;
  const std::vector<Row> rows = {
      {{kTone, 75, Interleaver::zero}, 20896},
      {{kTone, 75, Interleaver::short_}, 21600},
      {{kTone, 75, Interleaver::long_}, 34560},
      {{kTone, 150, Interleaver::zero}, 11200},
      {{kTone, 150, Interleaver::short_}, 11520},
      {{kTone, 300, Interleaver::zero}, 6320},
      {{kTone, 600, Interleaver::zero}, 3880},
      {{kTone, 1200, Interleaver::zero}, 2680},
      {{kTone, 2400, Interleaver::zero}, 2064},
      {{kTone, 4800, Interleaver::zero}, 1776},
      {{kFast, 3200, Interleaver::ultra_short}, 861},
      {{kFast, 3200, Interleaver::very_short}, 1148},
      {{kFast, 3200, Interleaver::short_}, 2870},
      {{kFast, 9600, Interleaver::ultra_short}, 574},
      {{kFast, 12800, Interleaver::zero}, 574},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(burst_symbols(row.mode, 54), row.symbols) << to_string(row.mode);
  }
}

TEST(Airtime, a_preamble_is_inserted_after_72_frames_unless_the_burst_is_over) {
  const Mode mode{Waveform::stanag4539, 9600, Interleaver::short_};  // a block has 9 frames
  const std::size_t eight_blocks = block_capacity(mode, 8);
  EXPECT_EQ(burst_symbols(mode, eight_blocks), 287u + 72 * 287);
  EXPECT_EQ(burst_symbols(mode, eight_blocks + 1), 287u + 72 * 287 + 72 + 9 * 287);
  EXPECT_EQ(airtime(mode, eight_blocks), Duration(8729583334));  // the duration is rounded up
}

TEST(Airtime, a_symbol_takes_its_time_by_the_symbol_rate_of_the_mode) {
  for (const Mode& mode : all_modes()) {
    const double symbols = static_cast<double>(burst_symbols(mode, 100));
    EXPECT_NEAR(to_seconds(airtime(mode, 100)), symbols / static_cast<double>(symbol_rate(mode)),
                3e-9)
        << to_string(mode);
    EXPECT_EQ(symbol_rate(mode) % 2, 0u) << to_string(mode);
  }
}

TEST(Airtime, bits_of_a_whole_cycle_flow_at_the_rate_that_names_it) {
  for (const std::uint32_t rate : {3200U, 4800U, 6400U, 8000U, 9600U}) {
    const Mode mode{Waveform::stanag4539, rate, Interleaver::very_long};
    EXPECT_EQ(block_bits(mode) * symbol_rate(mode),
              rate * (data_symbols(mode, 2) - data_symbols(mode, 1)));
  }
}

TEST(Modes, text_round_trips) {
  for (const Mode& mode : all_modes()) EXPECT_EQ(*parse_mode(to_string(mode)), mode);
  EXPECT_FALSE(parse_mode("110a-2401-short").ok());
  EXPECT_FALSE(parse_mode("").ok());
  EXPECT_NE(mode_names().find("110a-2400-zero|short|long"), std::string::npos);
  EXPECT_NE(mode_names().find(" 4539-9600-us|vs|s|m|l|vl 4539-12800-zero"), std::string::npos);
  EXPECT_EQ(to_string({Waveform::stanag4539, 9600, Interleaver::very_long}), "4539-9600-vl");
  EXPECT_EQ(to_string({Waveform::stanag4539, 9600, Interleaver::short_}), "4539-9600-s");
  EXPECT_EQ(to_string({Waveform::ms110a, 4800, Interleaver::zero}), "110a-4800-zero");
}

}  // namespace
}  // namespace s5066::modem
