#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "modem/api/airtime.h"
#include "modem/waveforms/ms110a/burst_transmitter.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::ms110a {
namespace {

constexpr std::string_view kFox = "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG 1234567890";

ByteSpan octets(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// CRC-32 as in ISO 3309, of the symbols written as digits.
std::uint32_t crc32_of_digits(const std::vector<std::uint8_t>& tribits) {
  std::uint32_t crc = ~0U;
  for (const std::uint8_t tribit : tribits) {
    crc ^= static_cast<std::uint8_t>('0' + tribit);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

Bytes random_octets(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  Bytes bytes(count);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

std::vector<float> all_samples(const Mode& mode, ByteSpan bytes) {
  BurstTransmitter transmitter(mode, bytes);
  std::vector<float> samples(transmitter.total_samples());
  EXPECT_EQ(transmitter.read(samples), samples.size());
  EXPECT_TRUE(transmitter.finished());
  return samples;
}

// Symbol by symbol equal to recordings of an independent transmitter.
TEST(Symbols, every_mode_sends_the_symbols_of_the_reference_recordings) {
  struct Row {
    std::string mode;
    std::size_t count;
    std::uint32_t crc;
  };
  const std::vector<Row> rows = {
      {"110a-300-short", 7200, 0x888279e4},  {"110a-300-long", 23040, 0x5359260a},
      {"110a-600-short", 4320, 0xf2520e64},  {"110a-600-long", 23040, 0x9124797f},
      {"110a-1200-short", 2880, 0x0e66a880}, {"110a-1200-long", 23040, 0xb217998c},
      {"110a-2400-short", 2880, 0x402e9307}, {"110a-2400-long", 23040, 0x337241f5},
  };
  ASSERT_EQ(rows.size(), all_modes().size());
  for (const Row& row : rows) {
    const auto tribits = symbols(*parse_mode(row.mode), octets(kFox));
    EXPECT_EQ(tribits.size(), row.count) << row.mode;
    EXPECT_EQ(crc32_of_digits(tribits), row.crc) << row.mode;
  }
}

TEST(Parameters, every_mode_is_found_again_by_what_it_announces) {
  for (const Mode& mode : all_modes()) {
    const Parameters p = parameters(mode);
    EXPECT_EQ(mode_announced(p.d1, p.d2), mode);
    EXPECT_EQ(p.block_user_bits(), block_bits(mode)) << to_string(mode);
    EXPECT_EQ(p.block_symbols() % kDataScramblerPeriod, 0u);
  }
  EXPECT_FALSE(mode_announced(5, 6));  // reserved
  EXPECT_FALSE(mode_announced(7, 6));  // 4800, not offered
  EXPECT_FALSE(mode_announced(0, 0));
}

TEST(Transmitter, a_burst_lasts_exactly_its_airtime) {
  for (const Mode& mode : all_modes()) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{158}, std::size_t{159}, std::size_t{1000}}) {
      const BurstTransmitter transmitter(mode, random_octets(count, count));
      const auto expected = airtime(mode, count) / Duration{1000000000 / 100} * kSampleRate / 100;
      EXPECT_EQ(transmitter.total_samples(), static_cast<std::uint64_t>(expected));
    }
  }
}

TEST(Transmitter, samples_do_not_depend_on_the_size_of_a_read) {
  const Mode mode{Waveform::ms110a, 1200, Interleaver::short_};
  const Bytes bytes = random_octets(100, 7);
  const auto whole = all_samples(mode, bytes);

  BurstTransmitter transmitter(mode, bytes);
  Rng rng(1);
  std::vector<float> pieces;
  while (!transmitter.finished()) {
    std::vector<float> piece(1 + rng.below(700));
    piece.resize(transmitter.read(piece));
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, whole);
  std::vector<float> more(10);
  EXPECT_EQ(transmitter.read(more), 0u);
}

TEST(Transmitter, every_mode_has_the_promised_power_and_is_never_clipped) {
  for (const Mode& mode : all_modes()) {
    const auto samples = all_samples(mode, random_octets(400, 3));
    double energy = 0;
    float peak = 0;
    for (const float x : samples) {
      energy += double{x} * x;
      peak = std::max(peak, std::abs(x));
    }
    const double power = energy / static_cast<double>(samples.size());
    EXPECT_NEAR(10 * std::log10(power / kTransmitPower), 0, 0.05) << to_string(mode);
    EXPECT_LT(peak, 1.0F) << to_string(mode);
  }
}

}  // namespace
}  // namespace s5066::modem::ms110a
