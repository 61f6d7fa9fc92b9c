#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

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

// Amplitude at one frequency; the edges, where filters fill and drain, are left out.
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
  for (const double card : {8000.0, 12000.0, 44100.0, 48000.0, 96000.0}) {
    for (const double frequency : {200.0, 1800.0, std::min(3400.0, 0.4 * card)}) {
      Resampler down({.rate_in = card, .rate_out = 9600});
      std::vector<float> out;
      down.process(tone(card, frequency, static_cast<std::size_t>(card)), out);
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
  down.process(tone(48000, 7800, 48000), out);  // would fold to 1800 Hz
  EXPECT_LT(20 * std::log10(amplitude(out, 9600, 1800)), -50);
}

TEST(Resampler, gives_the_same_for_any_portions_and_the_right_count) {
  Rng rng(5);
  std::vector<float> in(50000);
  for (float& x : in) x = static_cast<float>(rng.gaussian());
  Resampler whole({.rate_in = 44100, .rate_out = 9600});
  std::vector<float> expected;
  whole.process(in, expected);
  EXPECT_NEAR(static_cast<double>(expected.size()), 50000 * 9600.0 / 44100, 40);

  Resampler pieces({.rate_in = 44100, .rate_out = 9600});
  std::vector<float> out;
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t count = std::min<std::size_t>(1 + rng.below(999), in.size() - at);
    pieces.process(std::span(in).subspan(at, count), out);
    at += count;
  }
  EXPECT_EQ(out, expected);
}

TEST(Resampler, knows_its_delay) {
  for (const double card : {12000.0, 44100.0, 48000.0}) {
    Resampler down({.rate_in = card, .rate_out = 9600});
    std::vector<float> pulse(static_cast<std::size_t>(card / 4), 0.0F);
    // A smooth pulse well inside the band.
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
    EXPECT_NEAR(moment / weight - 0.1 * 9600, down.delay(), 1.5) << card;
  }
}

}  // namespace
}  // namespace s5066::modem::dsp
