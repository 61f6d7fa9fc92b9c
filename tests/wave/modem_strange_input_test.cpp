// SPDX-License-Identifier: Apache-2.0
// Tests signals that no station sends before a burst of each kind of waveform: the receiver
// delivers no good block from them, the channel does not stay busy, and the burst behind them
// arrives whole at the same receiver.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "modem/api/airtime.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

/// One mode of each family, and both kinds of 110A.
constexpr std::array kFamilies = {"110a-1200-short", "110a-75-short", "4539-4800-s",
                                  "4285-600-short", "110d-3200-s"};

constexpr std::size_t kStrangeSamples = 10 * kSampleRate;
constexpr double kGoodQuality = 0.5;
constexpr double kUnmixedQuality = 0.7;
constexpr std::size_t kPathsApartMax = kSampleRate / 80;

std::vector<float> made_of(const std::function<double(std::size_t)>& sample) {
  std::vector<float> samples(kStrangeSamples);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(sample(i));
  return samples;
}

double tone(std::size_t i, double hz) {
  return std::sin(2 * std::numbers::pi * hz * static_cast<double>(i) / kSampleRate);
}

std::size_t octets_for(const Mode& mode) {
  return mode.rate_bps == 75 ? 20 : 150;
}

/// Returns a length in samples at which a burst that stops is still in its preamble or has hardly
/// begun its data.
std::size_t beginning_of(const Mode& mode) {
  if (mode.waveform == Waveform::stanag4285) return kSampleRate / 3;
  return 4 * preamble_symbols(mode) + 40;
}

std::vector<float> beginning(const Mode& mode, std::size_t samples) {
  Tape tape;
  tape.burst(mode, random_octets(octets_for(mode), 1));
  tape.samples().resize(std::min<std::size_t>(tape.size(), samples));
  return tape.samples();
}

/// Lets one receiver hear `strange`, a pause and a burst.
void expect_nothing_but_the_burst(const Mode& mode, std::span<const float> strange,
                                  double pause = 6) {
  const Bytes octets = random_octets(octets_for(mode), 9);
  Tape rest;
  rest.silence(pause).burst(mode, octets);
  rest.silence(pause).noise(25, 4);
  std::vector<float> samples(strange.begin(), strange.end());
  samples.insert(samples.end(), rest.samples().begin(), rest.samples().end());
  BurstReceiver::Config config;
  if (must_be_told(mode)) config.modes = {mode};
  BurstReceiver receiver(config);
  const auto bursts = listen(receiver, samples);
  ASSERT_FALSE(bursts.empty());
  EXPECT_EQ(bursts.back().octets(), octets);
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    EXPECT_TRUE(bursts[i].ended) << i;
    if (i + 1 == bursts.size()) break;
    for (const HeardBytes& portion : bursts[i].portions) {
      EXPECT_LT(portion.soft_quality, kGoodQuality) << i;
    }
  }
}

void expect_nothing_but_the_burst(const std::vector<float>& strange) {
  for (const char* text : kFamilies) {
    SCOPED_TRACE(text);
    expect_nothing_but_the_burst(mode_of(text), strange);
  }
}

TEST(ModemStrangeInput, silence) {
  expect_nothing_but_the_burst(made_of([](std::size_t) { return 0; }));
}

TEST(ModemStrangeInput, noise_of_full_scale) {
  Rng rng(5);
  expect_nothing_but_the_burst(made_of([&](std::size_t) { return 2 * rng.uniform() - 1; }));
}

TEST(ModemStrangeInput, speech) {
  expect_nothing_but_the_burst(speech_like(10, 3));
}

TEST(ModemStrangeInput, a_carrier_also_one_of_the_modems_own) {
  for (const double hz : {1000.0, 1800.0}) {
    SCOPED_TRACE(hz);
    expect_nothing_but_the_burst(made_of([&](std::size_t i) { return 0.5 * tone(i, hz); }));
  }
}

TEST(ModemStrangeInput, a_constant_voltage_and_its_end) {
  expect_nothing_but_the_burst(made_of([](std::size_t) { return 0.9; }));
}

TEST(ModemStrangeInput, two_carriers_that_clip) {
  expect_nothing_but_the_burst(made_of(
      [&](std::size_t i) { return std::clamp(20 * (tone(i, 900) + tone(i, 2100)), -1.0, 1.0); }));
}

TEST(ModemStrangeInput, what_is_no_number) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  std::vector<float> samples(kStrangeSamples, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < samples.size(); i += 3) samples[i] = kInfinite;
  for (std::size_t i = 1; i < samples.size(); i += 7) samples[i] = -kInfinite;
  expect_nothing_but_the_burst(samples);
}

TEST(ModemStrangeInput, a_preamble_followed_by_nothing) {
  for (const char* text : kFamilies) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    expect_nothing_but_the_burst(mode, beginning(mode, beginning_of(mode)), 25);
  }
}

TEST(ModemStrangeInput, a_preamble_inside_a_preamble) {
  for (const char* outer : kFamilies) {
    for (const char* inner : kFamilies) {
      if (must_be_told(mode_of(outer)) != must_be_told(mode_of(inner))) continue;
      SCOPED_TRACE(std::string(inner) + " inside " + outer);
      const Mode mode = mode_of(outer);
      // Both signals stop, and neither may leave a state that disturbs the burst behind them.
      auto samples = beginning(mode, beginning_of(mode) / 2);
      const auto other = beginning(mode_of(inner), beginning_of(mode_of(inner)));
      samples.insert(samples.end(), other.begin(), other.end());
      expect_nothing_but_the_burst(mode, samples, 25);
    }
  }
}

TEST(ModemStrangeInput, a_clipped_burst_and_one_with_what_is_no_number_arrive_whole) {
  for (const char* text : kFamilies) {
    SCOPED_TRACE(text);
    const Mode mode = mode_of(text);
    const Bytes octets = random_octets(octets_for(mode), 3);
    Tape tape;
    const auto start = tape.silence(0.3).burst(mode, octets);
    tape.silence(0.5).noise(25, 3);
    for (float& x : tape.samples()) x = std::clamp(x, -0.25F, 0.25F);
    tape.samples()[(start + tape.size()) / 2] = std::numeric_limits<float>::quiet_NaN();
    BurstReceiver receiver(must_be_told(mode) ? BurstReceiver::Config{.modes = {mode}}
                                              : BurstReceiver::Config{});
    expect_whole(listen(receiver, tape.samples()), mode, octets);
  }
}

/// True if `part` occurs in `octets` at any bit offset, with at most one bit in ten wrong.
bool is_part_of(const Bytes& octets, const Bytes& part) {
  const auto bit = [](const Bytes& of, std::size_t n) { return (of[n / 8] >> (n % 8)) & 1; };
  const std::size_t bits = 8 * part.size();
  for (std::size_t from = 0; from + bits <= 8 * octets.size(); ++from) {
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < bits && wrong <= bits / 10; ++n) {
      wrong += bit(octets, from + n) != bit(part, n) ? 1 : 0;
    }
    if (wrong <= bits / 10) return true;
  }
  return false;
}

bool is_all_zero(const Bytes& octets) {
  return std::all_of(octets.begin(), octets.end(), [](std::uint8_t octet) { return octet == 0; });
}

/// True if the decoder detects a mixture of two stations that look like paths of one.
bool mixtures_are_told(const Mode& mode) {
  return mode.rate_bps > 75 && mode.waveform != Waveform::stanag4285;
}

// Both stations are equally loud. Either may be received, but no octets that neither has sent have
// a good quality; see ReceivedBytes about two that begin within the delay of paths of one.
TEST(ModemStrangeInput, two_stations_at_once) {
  for (const char* text : kFamilies) {
    const Mode mode = mode_of(text);
    unsigned good = 0;
    for (const std::size_t later : {2U, 25U, 125U, 4800U, 12480U}) {
      SCOPED_TRACE(std::string(text) + ' ' + std::to_string(later));
      const Bytes first = random_octets(octets_for(mode), 1);
      const Bytes second = random_octets(octets_for(mode), 2);
      Tape one, two;
      one.silence(1).burst(mode, first);
      two.silence(1);
      two.samples().resize(two.size() + later);
      two.burst(mode, second);
      const std::size_t size = std::max(one.size(), two.size()) + 12 * kSampleRate;
      one.samples().resize(size);
      two.samples().resize(size);
      for (std::size_t i = 0; i < size; ++i) one.samples()[i] += two.samples()[i];
      one.noise(25, 3);
      const auto bursts = must_be_told(mode) ? listen_for(mode, one) : listen(one);
      for (const HeardBurst& burst : bursts) {
        EXPECT_TRUE(burst.ended);
        for (const HeardBytes& portion : burst.portions) {
          const bool sent = is_part_of(first, portion.bytes) || is_part_of(second, portion.bytes);
          const bool told = later >= kPathsApartMax || mixtures_are_told(mode);
          EXPECT_TRUE(sent || !told || portion.soft_quality < kUnmixedQuality)
              << portion.soft_quality;
          good += sent ? 1 : 0;
        }
      }
    }
    EXPECT_GT(good, 0U) << text;
  }
}

// Goal:   if a weaker station is heard below another, the decoder may be certain of octets that
//         neither has sent, and the block must not look good.
// Method: pairs of modes, the second 4 to 12 dB below the first and up to 0.5 s later. STANAG 4285
//         goes on to decode the second behind the first, as if it were of the first's mode.
TEST(ModemStrangeInput, a_weaker_station_below_makes_no_wrong_block_look_good) {
  struct Pair {
    const char* louder;
    const char* weaker;
  };
  constexpr std::size_t kOctetsMin = 400;
  unsigned wrong = 0;
  unsigned good = 0;
  for (const Pair& pair :
       {Pair{"110d-6400-us", "110d-1600-s"}, Pair{"110d-3200-us", "4539-3200-s"},
        Pair{"4539-4800-us", "110a-1200-short"}, Pair{"4539-12800-zero", "110d-1600-s"},
        Pair{"4285-1200-zero", "4285-600-short"}}) {
    const Mode mode = mode_of(pair.louder);
    const std::size_t octets = std::max<std::size_t>(kOctetsMin, mode.rate_bps / 8);
    for (const double below_db : {4.0, 8.0, 12.0}) {
      for (const std::size_t later : {25U, 1200U, 4800U}) {
        SCOPED_TRACE(std::string(pair.louder) + ' ' + pair.weaker + ' ' + std::to_string(below_db) +
                     ' ' + std::to_string(later));
        const Bytes first = random_octets(octets, 1);
        const Bytes second = random_octets(octets, 2);
        Tape one, two;
        one.silence(1).burst(mode, first);
        two.silence(1);
        two.samples().resize(two.size() + later);
        two.burst(mode_of(pair.weaker), second, static_cast<float>(std::pow(10, -below_db / 20)));
        const std::size_t size = std::max(one.size(), two.size()) + 3 * kSampleRate;
        one.samples().resize(size);
        two.samples().resize(size);
        for (std::size_t i = 0; i < size; ++i) one.samples()[i] += two.samples()[i];
        one.noise(25, 3);
        const auto bursts = must_be_told(mode) ? listen_for(mode, one) : listen(one);
        for (const HeardBurst& burst : bursts) {
          for (const HeardBytes& portion : burst.portions) {
            // An interleaver that empties gives zeros, which are right in any mode.
            if (is_all_zero(portion.bytes)) continue;
            if (is_part_of(first, portion.bytes) || is_part_of(second, portion.bytes)) {
              good += portion.soft_quality >= kUnmixedQuality ? 1 : 0;
            } else {
              ++wrong;
              EXPECT_LT(portion.soft_quality, kUnmixedQuality);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(wrong, 20U);
  EXPECT_GT(good, 50U);
}

}  // namespace
}  // namespace s5066::modem
