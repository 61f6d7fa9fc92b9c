// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "modem/api/airtime.h"
#include "modem/waveforms/burst_transmitter.h"
#include "s5066d/base/rng.h"

namespace s5066::modem {
namespace {

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

TEST(Transmitter, a_burst_lasts_exactly_its_airtime) {
  for (const Mode& mode : all_modes()) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{158}, std::size_t{159}, std::size_t{1000}}) {
      const BurstTransmitter transmitter(mode, random_octets(count, count));
      const double seconds = static_cast<double>(transmitter.total_samples()) / kSampleRate;
      EXPECT_EQ(transmitter.total_samples(), 4 * burst_symbols(mode, count)) << to_string(mode);
      EXPECT_NEAR(to_seconds(airtime(mode, count)), seconds, 2e-9) << to_string(mode);
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

/// Keys a tone of 1000 Hz on and off, 50 times in a second.
class KeyedTone final : public Modulator {
 public:
  std::uint64_t total_samples() const override { return 1001; }
  void write(std::uint64_t from, std::span<float> out) override {
    for (float& value : out) value = sample(from++);
  }
  static float sample(std::uint64_t at) {
    const bool on = at / (kSampleRate / 100) % 2 == 0;
    return on ? 0.5F * std::sin(6.2831853F * 1000 * static_cast<float>(at) / kSampleRate) : 0;
  }
};

TEST(Transmitter, a_waveform_with_another_rate_and_carrier_is_sent) {
  BurstTransmitter transmitter(std::make_unique<KeyedTone>());
  EXPECT_EQ(transmitter.total_samples(), 1001u);
  std::vector<float> block(256);
  std::uint64_t at = 0;
  while (const std::size_t count = transmitter.read(block)) {
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(block[i], KeyedTone::sample(at++));
  }
  EXPECT_EQ(at, 1001u);
  EXPECT_TRUE(transmitter.finished());
}

TEST(Transmitter, every_mode_has_the_promised_power_and_is_never_clipped) {
  for (const Mode& mode : all_modes()) {
    const Bytes bytes = random_octets(400, 3);
    const auto samples = all_samples(mode, bytes);
    const auto symbols = make_symbols(mode, bytes);
    double promised = 0;
    for (const dsp::Complex& point : symbols) {
      promised += static_cast<double>(std::norm(point));
    }
    promised *= static_cast<double>(kTransmitPower) / static_cast<double>(symbols.size());
    double energy = 0;
    float peak = 0;
    for (const float x : samples) {
      energy += double{x} * x;
      peak = std::max(peak, std::abs(x));
    }
    const double power = energy / static_cast<double>(samples.size());
    EXPECT_NEAR(10 * std::log10(power / promised), 0, 0.1) << to_string(mode);
    EXPECT_LT(peak, 1.0F) << to_string(mode);
  }
}

}  // namespace
}  // namespace s5066::modem
