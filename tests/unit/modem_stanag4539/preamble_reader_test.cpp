// SPDX-License-Identifier: Apache-2.0
// These preambles come through responses that change within them.
#include "modem/waveforms/stanag4539/preamble_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "modem/waveforms/stanag4539/parameters.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;

constexpr std::size_t kPosition = 480;  // half-symbol sample of the first symbol
constexpr std::size_t kEcho = 10;       // half-symbol samples between the paths, 2 ms

/// A path changes along a line from its value at the begin of the preamble to its value at the end.
struct Path {
  Complex begin;
  Complex end;
};
struct Sending {
  Mode mode{Waveform::stanag4539, 8000, Interleaver::very_long};
  Path first;
  Path second;
  double offset_hz = 0;
  float noise = 0.02F;             // amplitude of each part, where a symbol has 1
  unsigned loud_from = 0;          // earlier symbols of the preamble are 26 dB weaker
  unsigned to = kPreambleSymbols;  // noise follows this many symbols of the preamble
};

std::optional<PreambleReading> read(const Sending& sending, double found_hz) {
  Rng rng(1);
  std::vector<Complex> sent(kPosition);
  const Parameters p = parameters(sending.mode);
  for (const std::uint8_t number : preamble(p)) sent.insert(sent.end(), 2, phase(number));
  const std::size_t end = sent.size();
  while (sent.size() % kHop > 0 || sent.size() < end + 100) {
    sent.insert(sent.end(), 2, phase(static_cast<std::uint8_t>(rng.below(8))));
  }
  SampleHistory history(2 * sent.size());
  std::vector<Complex> samples;
  for (std::size_t n = 0; n < sent.size(); ++n) {
    const float time = (static_cast<float>(n) - kPosition) / static_cast<float>(end - kPosition);
    const auto at = [&](const Path& path) { return path.begin + time * (path.end - path.begin); };
    const std::size_t symbol = n / 2 - std::min(n, kPosition) / 2;
    if (symbol < sending.loud_from) sent[n] *= 0.05F;
    if (sending.to < kPreambleSymbols && symbol >= sending.to) sent[n] = 0;
    Complex y = at(sending.first) * sent[n];
    if (n >= kEcho) y += at(sending.second) * sent[n - kEcho];
    const double turns = sending.offset_hz / kHalfSymbolRate * static_cast<double>(n);
    y *= Complex(std::polar(1.0, 2 * std::numbers::pi * turns));
    y += Complex(sending.noise * static_cast<float>(rng.gaussian()),
                 sending.noise * static_cast<float>(rng.gaussian()));
    samples.push_back(y);
  }
  for (std::size_t n = 0; n < samples.size(); n += kHop) {
    history.push(std::span(samples).subspan(n, kHop));
  }
  return read_preamble(history, {.position = kPosition, .offset_hz = found_hz}, 1);
}

TEST(PreambleReader, reads_every_mode_through_paths_that_stand_still) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::stanag4539) continue;
    const auto reading = read({.mode = mode,
                               .first = {.begin = 0.7F, .end = 0.7F},
                               .second = {.begin = {0, 0.7F}, .end = {0, 0.7F}},
                               .offset_hz = 31},
                              33);
    ASSERT_TRUE(reading) << to_string(mode);
    EXPECT_EQ(reading->mode, mode);
    EXPECT_NEAR(reading->offset_hz, 31, 0.1);
    EXPECT_EQ(reading->data_start, std::int64_t{kPosition + 2 * kPreambleSymbols});
  }
}

// In a fade of both paths each passes by zero within the preamble. The average that the fixed part
// shows does not hold in the announcement that follows.
TEST(PreambleReader, reads_every_mode_through_paths_that_both_pass_by_zero) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::stanag4539) continue;
    for (const float zero_at : {0.35F, 0.5F, 0.65F, 0.85F}) {
      const auto passing = [&](Complex slope, Complex by) {
        return Path{.begin = by - zero_at * slope, .end = by + (1 - zero_at) * slope};
      };
      const auto reading = read({.mode = mode,
                                 .first = passing({0.6F, 0.2F}, {0.02F, -0.06F}),
                                 .second = passing({-0.3F, 0.5F}, {0.05F, 0.03F}),
                                 .offset_hz = -20},
                                -21);
      ASSERT_TRUE(reading) << to_string(mode) << " at " << zero_at;
      EXPECT_EQ(reading->mode, mode);
      EXPECT_NEAR(reading->offset_hz, -20, 2.5);
    }
  }
}

// The search confuses the two, because a fixed part that turns by half a turn looks like a carrier
// offset.
TEST(PreambleReader, finds_a_carrier_that_the_search_saw_elsewhere) {
  for (const double off_hz : {-9.0, -6.0, 6.0, 9.0}) {
    const auto reading = read({.first = {.begin = 0.3F, .end = -0.4F},
                               .second = {.begin = {0.1F, -0.3F}, .end = {-0.1F, 0.4F}}},
                              off_hz);
    ASSERT_TRUE(reading) << off_hz;
    EXPECT_EQ(reading->mode, (Mode{Waveform::stanag4539, 8000, Interleaver::very_long}));
    EXPECT_NEAR(reading->offset_hz, 0, 1.5);
  }
}

TEST(PreambleReader, noise_announces_nothing) {
  for (const double found_hz : {-20.0, 0.0, 20.0}) {
    EXPECT_FALSE(read({.noise = 1}, found_hz));
  }
}

TEST(PreambleReader, a_preamble_that_stops_before_it_announces_nothing) {
  const Path path{.begin = 0.7F, .end = 0.7F};
  for (const float noise : {0.02F, 0.3F, 1.0F}) {
    EXPECT_FALSE(read({.first = path, .noise = noise, .to = kAnnouncementAt}, 0)) << noise;
  }
}

// Speech that sets in at the announcement can look like this. No path rises so suddenly.
TEST(PreambleReader, an_announcement_with_next_to_nothing_before_it_is_none) {
  const Path path{.begin = 0.7F, .end = 0.7F};
  EXPECT_FALSE(read({.first = path, .loud_from = kAnnouncementAt}, 0));
}

}  // namespace
}  // namespace s5066::modem::stanag4539
