// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "modem/dsp/resampler.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::dsp {
namespace {

std::vector<float> tone(double rate, double frequency, std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * frequency * static_cast<double>(i) / rate;
    samples[i] = static_cast<float>(std::sin(angle));
  }
  return samples;
}

// Returns the amplitude at one frequency. The edges, where the filters fill and drain, are left
// out.
double amplitude(std::span<const float> samples, double rate, double frequency) {
  std::complex<double> sum;
  const std::size_t margin = samples.size() / 8;
  for (std::size_t i = margin; i < samples.size() - margin; ++i) {
    const double angle = 2 * std::numbers::pi * frequency * static_cast<double>(i) / rate;
    sum += static_cast<double>(samples[i]) * std::polar(1.0, -angle);
  }
  return 2 * std::abs(sum) / static_cast<double>(samples.size() - 2 * margin);
}

TEST(Resampler, keeps_the_voice_band_at_every_usual_card_rate) {
  for (const unsigned card : {8000u, 12000u, 44100u, 48000u, 96000u}) {
    for (const double frequency : {200.0, 1800.0, std::min(3400.0, 0.4 * card)}) {
      Resampler down({.rate_in = card, .rate_out = 9600});
      std::vector<float> out;
      down.process(tone(card, frequency, card), out);
      EXPECT_NEAR(20 * std::log10(amplitude(out, 9600, frequency)), 0, 0.4)
          << card << " to 9600, " << frequency << " Hz";

      Resampler up({.rate_in = 9600, .rate_out = card});
      out.clear();
      up.process(tone(9600, frequency, 9600), out);
      EXPECT_NEAR(20 * std::log10(amplitude(out, card, frequency)), 0, 0.4)
          << "9600 to " << card << ", " << frequency << " Hz";
    }
  }
}

TEST(Resampler, keeps_aliases_down) {
  Resampler down({.rate_in = 48000, .rate_out = 9600});
  std::vector<float> out;
  down.process(tone(48000, 7800, 48000), out);  // without the filter this would fold to 1800 Hz
  EXPECT_LT(20 * std::log10(amplitude(out, 9600, 1800)), -50);
}

TEST(Resampler, gives_the_same_for_any_portions_and_the_right_count) {
  Rng rng(5);
  std::vector<float> in(50000);
  for (float& x : in) x = static_cast<float>(rng.gaussian());
  Resampler whole({.rate_in = 44100, .rate_out = 9600});
  std::vector<float> expected;
  whole.process(in, expected);
  EXPECT_EQ(expected.size(), 50000 / 147 * 32u);

  Resampler pieces({.rate_in = 44100, .rate_out = 9600});
  std::vector<float> out;
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t count = std::min<std::size_t>(1 + rng.below(999), in.size() - at);
    pieces.process(std::span(in).subspan(at, count), out);
    at += count;
  }
  EXPECT_EQ(out, expected);
}

// The samples go through in whole blocks, as the worker of a sound card converts them. One sample a
// second too much or too few would break the modem within hours.
TEST(Resampler, gives_every_block_its_samples_at_every_rate) {
  for (const unsigned card :
       {8000u, 11025u, 12000u, 16000u, 22050u, 24000u, 32000u, 44100u, 48000u, 96000u, 192000u}) {
    const unsigned common = std::gcd(card, 9600u);
    Resampler down({.rate_in = card, .rate_out = 9600});
    Resampler up({.rate_in = 9600, .rate_out = card});
    const std::vector<float> at_card(card / common, 0.1F);
    const std::vector<float> at_modem(9600 / common, 0.1F);
    for (int block = 0; block < 200; ++block) {
      std::vector<float> out;
      down.process(at_card, out);
      ASSERT_EQ(out.size(), at_modem.size()) << card;
      out.clear();
      up.process(at_modem, out);
      ASSERT_EQ(out.size(), at_card.size()) << card;
    }
  }
}

TEST(Resampler, knows_how_many_zeros_push_out_the_last_sample) {
  for (const unsigned card : {8000u, 44100u, 48000u, 44101u}) {
    Resampler down({.rate_in = card, .rate_out = 9600});
    std::vector<float> out;
    // The count is not a multiple of the resampler's step.
    const std::vector<float> in(card / 2 + 17, 0.5F);
    down.process(in, out);
    down.process(std::vector<float>(down.zeros_to_drain()), out);
    double sum = 0;
    for (const float x : out) sum += x;
    EXPECT_NEAR(sum, 0.5 * static_cast<double>(in.size()) * 9600 / card, 3) << card;
  }
}

TEST(Resampler, knows_its_delay) {
  for (const unsigned card : {12000u, 44100u, 48000u}) {
    Resampler down({.rate_in = card, .rate_out = 9600});
    std::vector<float> pulse(card / 4, 0.0F);
    // The pulse is smooth and well inside the band.
    const double centre = 0.1 * card;
    for (std::size_t i = 0; i < pulse.size(); ++i) {
      const double t = (static_cast<double>(i) - centre) / card * 1000;
      pulse[i] = static_cast<float>(std::exp(-t * t));
    }
    std::vector<float> out;
    down.process(pulse, out);
    double weight = 0;
    double moment = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      weight += out[i];
      moment += out[i] * static_cast<double>(i);
    }
    EXPECT_NEAR(moment / weight - 0.1 * 9600, down.delay(), 0.5) << card;
  }
}

}  // namespace
}  // namespace s5066::modem::dsp
