// SPDX-License-Identifier: Apache-2.0
// ReceptionMeter reports what a transmission tells about the link, also if the link changed
// meanwhile.
#include "s5066d/dts/reception_meter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "s5066d/base/rng.h"

namespace s5066::dts {
namespace {

constexpr modem::Mode kMode{modem::Waveform::stanag4539, 3200, modem::Interleaver::short_};
constexpr std::size_t kBlockOctets = 192;  // lasts half a second

/// Gives `blocks` blocks to the meter, all of which arrived if `intact`.
void hear(ReceptionMeter& meter, int blocks, double snr_db, bool intact = true) {
  for (int i = 0; i < blocks; ++i) {
    meter.on_bytes(kBlockOctets, snr_db + (i % 2 == 0 ? 1 : -1));
    if (intact) meter.on_intact(kBlockOctets);
  }
}

TEST(ReceptionMeter, a_transmission_at_one_ratio_is_one_reception) {
  ReceptionMeter meter(kMode);
  EXPECT_FALSE(meter.measured());
  meter.on_bytes(kBlockOctets, std::nullopt);
  EXPECT_FALSE(meter.measured());
  hear(meter, 100, 12);
  meter.on_cut(1000);
  EXPECT_TRUE(meter.measured());
  EXPECT_TRUE(meter.any_intact());
  const auto receptions = meter.receptions(true);
  ASSERT_EQ(receptions.size(), 1u);
  EXPECT_EQ(receptions[0].mode, kMode);
  EXPECT_EQ(receptions[0].octets, 101 * kBlockOctets + 1000);
  EXPECT_EQ(receptions[0].octets_intact, 100 * kBlockOctets);
  EXPECT_EQ(receptions[0].blocks, 100u);
  EXPECT_NEAR(*receptions[0].snr_db, 12, 1e-9);
  EXPECT_NEAR(receptions[0].spread_db, 1, 1e-9);
  EXPECT_TRUE(receptions[0].managed);
  EXPECT_FALSE(receptions[0].more_follows);
}

// Each block differs from the one before, in either part.
TEST(ReceptionMeter, the_correlation_of_a_part_is_that_of_its_own_blocks) {
  ReceptionMeter meter(kMode);
  hear(meter, 90, 20);
  hear(meter, 30, 12);
  const auto alternating = meter.receptions(false);
  ASSERT_EQ(alternating.size(), 2u);
  EXPECT_EQ(alternating[0].correlation, 0);
  EXPECT_EQ(alternating[1].correlation, 0);
  ReceptionMeter slow(kMode);
  for (int i = 0; i < 39; ++i) slow.on_bytes(kBlockOctets, 20);
  for (int i = 0; i < 42; ++i) slow.on_bytes(kBlockOctets, i / 7 % 2 == 0 ? 6 : 4);
  const auto parts = slow.receptions(false);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].blocks, 42u);
  EXPECT_NEAR(parts[1].correlation, 31.0 / 41, 1e-9);  // five of 41 pairs differ
}

// A loss after the fall counts against the ratio there, and none of it against the other ratio.
TEST(ReceptionMeter, where_the_ratio_changes_each_part_is_a_reception) {
  for (const double after_db : {2.0, 30.0}) {
    ReceptionMeter meter(kMode);
    hear(meter, 90, 16);
    hear(meter, 30, after_db, false);
    meter.on_cut(1000);
    const auto receptions = meter.receptions(false);
    ASSERT_EQ(receptions.size(), 2u);
    EXPECT_TRUE(receptions[0].more_follows);
    EXPECT_EQ(receptions[0].octets, 90 * kBlockOctets);
    EXPECT_EQ(receptions[0].octets_intact, 90 * kBlockOctets);
    EXPECT_EQ(receptions[0].blocks, 90u);
    EXPECT_NEAR(*receptions[0].snr_db, 16, 1e-9);
    EXPECT_NEAR(receptions[0].spread_db, 1, 1e-9);
    EXPECT_FALSE(receptions[1].more_follows);
    EXPECT_EQ(receptions[1].octets, 30 * kBlockOctets + 1000);
    EXPECT_EQ(receptions[1].octets_intact, 0u);
    EXPECT_EQ(receptions[1].blocks, 30u);
    EXPECT_NEAR(*receptions[1].snr_db, after_db, 1e-9);
  }
}

// If the ratio changes within a long D_PDU that arrives all the same, nothing was lost.
TEST(ReceptionMeter, a_dpdu_counts_in_all_parts_in_which_it_came) {
  ReceptionMeter meter(kMode);
  hear(meter, 12, 20, false);
  hear(meter, 12, 5, false);
  meter.on_intact(24 * kBlockOctets);
  const auto receptions = meter.receptions(false);
  ASSERT_EQ(receptions.size(), 2u);
  for (const Reception& part : receptions) EXPECT_EQ(part.octets_intact, 12 * kBlockOctets);
}

TEST(ReceptionMeter, what_lasts_for_a_second_or_differs_by_less_than_fading_is_no_part) {
  for (const int blocks : {2, 9}) {
    ReceptionMeter meter(kMode);
    hear(meter, 90, 20);
    hear(meter, blocks, 2);
    EXPECT_EQ(meter.receptions(false).size(), blocks == 2 ? 1u : 2u);
  }
  for (const double after_db : {17.0, 14.0}) {
    ReceptionMeter meter(kMode);
    hear(meter, 60, 20);
    hear(meter, 60, after_db);
    EXPECT_EQ(meter.receptions(false).size(), after_db > 15 ? 1u : 2u);
  }
}

// The channels only fade, slowly or fast.
TEST(ReceptionMeter, fading_is_no_other_channel) {
  int parted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    ReceptionMeter meter(kMode);
    const double keep = seed % 2 == 0 ? 0.95 : 0.5;
    double fading = 0;
    for (int i = 0; i < 250; ++i) {
      fading = keep * fading + std::sqrt(1 - keep * keep) * 3 * rng.gaussian();
      meter.on_bytes(kBlockOctets, 12 + fading);
    }
    parted += meter.receptions(false).size() > 1;
  }
  EXPECT_LE(parted, 6);
}

// Blocks beyond the longest transmission are counted but not told apart.
TEST(ReceptionMeter, what_lasts_for_longer_than_may_be_is_counted_all_the_same) {
  ReceptionMeter meter(kMode);
  for (int i = 0; i < 100'000; ++i) meter.on_bytes(kBlockOctets, 12);
  const auto receptions = meter.receptions(false);
  ASSERT_EQ(receptions.size(), 1u);
  EXPECT_EQ(receptions[0].octets, 100'000 * kBlockOctets);
  EXPECT_EQ(receptions[0].blocks, 100'000u);
}

}  // namespace
}  // namespace s5066::dts
