// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/preamble_decoder.h"
#include "modem/waveforms/framed/constellation.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::ms110a {
namespace {

constexpr std::size_t kLead = 4800;  // half-symbol samples in front of the preamble
constexpr float kNoise = 0.02F;      // amplitude, where a path has 1

struct Path {
  std::size_t delay = 0;  // in half-symbol samples
  /// Amplitude by channel symbol of a segment.
  std::array<float, kChannelSymbolsPerSegment> amplitude{};
};

Path steady(std::size_t delay, float amplitude) {
  Path path{.delay = delay};
  path.amplitude.fill(amplitude);
  return path;
}

SampleHistory preamble_over(const Mode& mode, std::span<const Path> paths) {
  const Parameters p = parameters(mode);
  std::vector<dsp::Complex> samples(kLead + p.segments * kSegmentSamples + 400);
  Rng rng(1);
  for (dsp::Complex& sample : samples) {
    sample = dsp::Complex(kNoise * static_cast<float>(rng.gaussian()),
                          kNoise * static_cast<float>(rng.gaussian()));
  }
  for (const Path& path : paths) {
    std::size_t at = kLead + path.delay;
    for (unsigned count = p.segments; count-- > 0;) {
      const auto segment = preamble_segment(p.d1, p.d2, count);
      for (std::size_t n = 0; n < segment.size(); ++n) {
        const dsp::Complex y =
            path.amplitude[n / kTribitsPerChannelSymbol] * framed::phase(segment[n]);
        samples[at++] += y;
        samples[at++] += y;
      }
    }
  }
  SampleHistory history(32768);
  history.push(samples);
  return history;
}

/// Returns the place at which the decoder takes the data to begin, relative to their begin on a
/// path without delay. The preamble comes over `paths`, the search found the path `found`, and the
/// decoder reads from the second segment on.
std::int64_t data_start_over(const Mode& mode, std::span<const Path> paths, std::size_t found) {
  const SampleHistory history = preamble_over(mode, paths);
  const auto first = static_cast<std::int64_t>(kLead);
  PreambleDecoder decoder(
      {.position = first + kSegmentSamples + static_cast<std::int64_t>(found), .strength = 0.5F},
      1);
  EXPECT_EQ(decoder.advance(history), PreambleDecoder::Progress::decided);
  EXPECT_EQ(decoder.reading().mode, mode);
  const unsigned segments = parameters(mode).segments;
  return decoder.reading().data_start - (first + segments * kSegmentSamples);
}

std::vector<Mode> modes_that_tell_themselves() {
  std::vector<Mode> modes;
  for (const Mode& mode : all_modes()) {
    const bool told = mode.interleaver != Interleaver::zero;
    if (mode.waveform == Waveform::ms110a && told) modes.push_back(mode);
  }
  return modes;
}

// Goal:   an echo is not taken for a path that comes a channel symbol before it.
// Method: the echo is strong only while one segment ends and the next begins with the same channel
//         symbol, so that this symbol is heard twice.
TEST(PreambleDecoder, an_echo_that_is_strong_between_two_segments_is_no_path_ahead_of_the_first) {
  constexpr std::array kStrongBetween = {1.0F, 0.8F, 0.5F, 0.2F, 0.1F, 0.1F, 0.1F, 0.1F,
                                         0.1F, 0.1F, 0.1F, 0.1F, 0.3F, 0.7F, 1.0F};
  for (const Mode& mode : modes_that_tell_themselves()) {
    for (const std::size_t delay : {10U, 24U, 48U}) {
      SCOPED_TRACE(to_string(mode) + " " + std::to_string(delay));
      const std::array paths = {steady(0, 0.5F), Path{delay, kStrongBetween}};
      EXPECT_NEAR(static_cast<double>(data_start_over(mode, paths, 0)), 0, 1);
    }
  }
}

// The decoder adds up one channel symbol less of a path that is far ahead of the found one. It
// still takes that path as the first, because the first path is the earliest one with at least a
// quarter of the power of the strongest.
TEST(PreambleDecoder, a_weak_path_far_ahead_of_the_one_that_was_found_is_the_first) {
  for (const Mode& mode : modes_that_tell_themselves()) {
    for (const std::size_t delay : {10U, 24U, 48U}) {
      SCOPED_TRACE(to_string(mode) + " " + std::to_string(delay));
      const std::array heard = {steady(0, std::sqrt(0.28F)), steady(delay, 1)};
      EXPECT_NEAR(static_cast<double>(data_start_over(mode, heard, delay)), 0, 1);
    }
  }
}

}  // namespace
}  // namespace s5066::modem::ms110a
