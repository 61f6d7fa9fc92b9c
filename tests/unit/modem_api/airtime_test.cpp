#include <gtest/gtest.h>

#include "modem/api/airtime.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;

TEST(Airtime, capacity_is_the_most_that_fits) {
  for (const Mode& mode : all_modes()) {
    for (const auto limit :
         {milliseconds(600), milliseconds(4800), milliseconds(30000), milliseconds(127500)}) {
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

TEST(Modes, text_round_trips) {
  for (const Mode& mode : all_modes()) EXPECT_EQ(*parse_mode(to_string(mode)), mode);
  EXPECT_FALSE(parse_mode("110a-2401-short").ok());
  EXPECT_FALSE(parse_mode("").ok());
}

}  // namespace
}  // namespace s5066::modem
