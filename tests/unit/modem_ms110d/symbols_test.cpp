// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "modem/api/airtime.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "tests/support/golden_symbols.h"

namespace s5066::modem::ms110d {
namespace {

std::vector<Mode> every_mode() {
  std::vector<Mode> modes;
  for (const std::uint32_t rate_bps : {75U, 150U, 300U, 600U, 1200U, 1600U, 2400U, 3200U, 4800U,
                                       6400U, 8000U, 9600U, 12000U, 16000U}) {
    for (const Interleaver interleaver :
         {Interleaver::ultra_short, Interleaver::short_, Interleaver::medium, Interleaver::long_}) {
      if (rate_bps == 75 && interleaver == Interleaver::ultra_short) continue;
      modes.push_back({Waveform::ms110d, rate_bps, interleaver});
    }
  }
  return modes;
}

TEST(Ms110dSymbols, every_waveform_number_sends_the_symbols_of_the_reference) {
  struct Row {
    std::uint32_t rate_bps;
    Interleaver interleaver;
    unsigned constraint;
    std::size_t count;
    std::uint32_t crc;
  };
  for (const Row& row : {
           Row{75, Interleaver::short_, 7, 17088, 0x7ef4a402},
           Row{75, Interleaver::short_, 9, 17088, 0x39dbb35f},
           Row{150, Interleaver::ultra_short, 7, 9456, 0x12de453b},
           Row{150, Interleaver::short_, 7, 9456, 0xaa4a55d0},
           Row{150, Interleaver::ultra_short, 9, 9456, 0xa15484c2},
           Row{150, Interleaver::short_, 9, 9456, 0xe4bbbcaf},
           Row{300, Interleaver::ultra_short, 7, 5616, 0xb227b213},
           Row{300, Interleaver::short_, 7, 6384, 0x87955cea},
           Row{300, Interleaver::ultra_short, 9, 5616, 0x671ca2b8},
           Row{300, Interleaver::short_, 9, 6384, 0x617ac991},
           Row{600, Interleaver::ultra_short, 7, 3808, 0x9411c28e},
           Row{600, Interleaver::short_, 7, 3808, 0xde79d704},
           Row{600, Interleaver::ultra_short, 9, 3808, 0xd31a6102},
           Row{600, Interleaver::short_, 9, 3808, 0xdee50dd2},
           Row{1200, Interleaver::ultra_short, 7, 2784, 0xa0e59fe9},
           Row{1200, Interleaver::short_, 7, 2784, 0xef93e82a},
           Row{1200, Interleaver::ultra_short, 9, 2784, 0x1b1627aa},
           Row{1200, Interleaver::short_, 9, 2784, 0x9c5aeff6},
           Row{1600, Interleaver::ultra_short, 7, 2624, 0xdbfade6e},
           Row{1600, Interleaver::short_, 7, 2912, 0x62a1f688},
           Row{1600, Interleaver::ultra_short, 9, 2624, 0x6d090a25},
           Row{1600, Interleaver::short_, 9, 2912, 0x14a29996},
           Row{3200, Interleaver::ultra_short, 7, 2336, 0x1d2e4332},
           Row{3200, Interleaver::short_, 7, 2912, 0xa91f755d},
           Row{3200, Interleaver::ultra_short, 9, 2336, 0x64f4221b},
           Row{3200, Interleaver::short_, 9, 2912, 0xa8ccea36},
           Row{4800, Interleaver::ultra_short, 7, 2048, 0x0ca46d69},
           Row{4800, Interleaver::short_, 7, 2912, 0x2574cbf4},
           Row{4800, Interleaver::ultra_short, 9, 2048, 0x962b24ee},
           Row{4800, Interleaver::short_, 9, 2912, 0xbdcf976a},
           Row{6400, Interleaver::ultra_short, 7, 2048, 0xe055a71a},
           Row{6400, Interleaver::short_, 7, 2912, 0x11bce011},
           Row{6400, Interleaver::ultra_short, 9, 2048, 0x7cfe0f94},
           Row{6400, Interleaver::short_, 9, 2912, 0x72ee4d91},
           Row{8000, Interleaver::ultra_short, 7, 2048, 0x6c67edd2},
           Row{8000, Interleaver::short_, 7, 2912, 0xe7f8832f},
           Row{8000, Interleaver::ultra_short, 9, 2048, 0xd1c59d28},
           Row{8000, Interleaver::short_, 9, 2912, 0x04393b89},
           Row{9600, Interleaver::ultra_short, 7, 2048, 0x5dcb2442},
           Row{9600, Interleaver::short_, 7, 2912, 0xa5a1f744},
           Row{9600, Interleaver::ultra_short, 9, 2048, 0xca907250},
           Row{9600, Interleaver::short_, 9, 2912, 0x97b4d000},
           Row{12000, Interleaver::ultra_short, 7, 2136, 0xc6e25a46},
           Row{12000, Interleaver::short_, 7, 3288, 0x25a40f75},
           Row{12000, Interleaver::ultra_short, 9, 2136, 0x2b296d58},
           Row{12000, Interleaver::short_, 9, 3288, 0x875bdaf0},
           Row{16000, Interleaver::ultra_short, 7, 2136, 0x54150d47},
           Row{16000, Interleaver::short_, 7, 3288, 0x8f57a49e},
           Row{16000, Interleaver::ultra_short, 9, 2136, 0x760b3e4e},
           Row{16000, Interleaver::short_, 9, 3288, 0xcc43570f},
           Row{2400, Interleaver::ultra_short, 7, 2336, 0xfa143859},
           Row{2400, Interleaver::short_, 7, 2912, 0x5c63e62b},
           Row{2400, Interleaver::ultra_short, 9, 2336, 0x3750519b},
           Row{2400, Interleaver::short_, 9, 2912, 0x2126e721},
       }) {
    const Mode mode{Waveform::ms110d, row.rate_bps, row.interleaver};
    const auto points = symbols(parameters(mode, row.constraint), golden_message());
    EXPECT_EQ(points.size(), row.count) << to_string(mode);
    EXPECT_EQ(crc32_of_points(points), row.crc) << to_string(mode) << ' ' << row.constraint;
  }
}

TEST(Ms110dSymbols, a_burst_has_the_symbols_that_its_airtime_counts) {
  for (const Mode& mode : every_mode()) {
    const Parameters p = parameters(mode);
    EXPECT_EQ(p.block_user_bits, block_bits(mode)) << to_string(mode);
    for (const std::size_t count : {0, 1, 300}) {
      EXPECT_EQ(symbols(p, Bytes(count)).size(), burst_symbols(mode, count))
          << to_string(mode) << ' ' << count;
    }
  }
}

// A burst with more super-frames ends with the same super-frames and the same data as a shorter
// one.
TEST(Ms110dSymbols, as_many_super_frames_are_sent_as_asked_for) {
  for (const Mode& mode : every_mode()) {
    const Parameters p = parameters(mode);
    EXPECT_EQ(preamble_symbols(p, kSuperFrames), modem::preamble_symbols(mode)) << to_string(mode);
    const Bytes octets(20, 0x5A);
    const auto ours = symbols(p, octets);
    for (const unsigned count : {1U, 20U, kSuperFramesMax}) {
      const auto sent = symbols(p, octets, count);
      const auto both = std::min(sent.size(), ours.size());
      EXPECT_EQ(sent.size(),
                preamble_symbols(p, count) + data_symbols(mode, block_count(mode, octets.size())));
      EXPECT_TRUE(std::equal(sent.end() - static_cast<std::ptrdiff_t>(both), sent.end(),
                             ours.end() - static_cast<std::ptrdiff_t>(both)))
          << to_string(mode) << ' ' << count;
    }
  }
}

// These are worked values of the reference.
TEST(Ms110dParameters, scramblers_begin_as_the_reference_says) {
  const std::vector<std::uint8_t> walsh = {5, 6, 2, 1, 7, 3, 1, 1, 6, 0, 5, 4, 0, 7, 7, 0,
                                           5, 3, 1, 3, 3, 2, 2, 5, 5, 4, 7, 3, 5, 4, 3, 0};
  const auto values = walsh_scrambler();
  EXPECT_TRUE(std::equal(walsh.begin(), walsh.end(), values.begin()));
  EXPECT_EQ(framed::scrambler_values<8>(1, 8),
            (std::array<std::uint8_t, 8>{1, 66, 12, 57, 213, 176, 151, 157}));
}

TEST(Ms110dParameters, the_256_points_have_the_power_of_the_reference) {
  double power = 0;
  for (const auto& z : framed::constellation(8)) power += static_cast<double>(std::norm(z)) / 256;
  EXPECT_NEAR(power, 0.5195, 5e-5);
}

TEST(Ms110dParameters, a_mode_is_found_again_by_what_it_announces) {
  for (const Mode& mode : every_mode()) {
    for (const unsigned constraint : {7U, 9U}) {
      const auto dibits = super_frame(parameters(mode, constraint), 2);
      const std::span<const std::uint8_t> all(dibits);
      const auto found = announced(all.last(kNumberDibits));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->mode, mode);
      EXPECT_EQ(found->constraint, constraint);
    }
  }
}

}  // namespace
}  // namespace s5066::modem::ms110d
