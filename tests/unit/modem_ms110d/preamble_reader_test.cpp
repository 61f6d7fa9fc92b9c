// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110d/preamble_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::ms110d {
namespace {

constexpr std::int64_t kFrom = 4800;  // half-symbol sample at which the preamble begins

/// Returns the super-frames of our preamble in noise. Each super-frame has its own ratio of symbol
/// power to noise power.
SampleHistory heard(const Parameters& p, std::span<const double> ratios_db, Rng& rng) {
  std::vector<dsp::Complex> samples(kFrom);
  auto remaining = static_cast<unsigned>(ratios_db.size());
  for (const double ratio_db : ratios_db) {
    const auto amplitude = static_cast<float>(std::pow(10, ratio_db / 20));
    for (const dsp::Complex& symbol : symbols_of(super_frame(p, --remaining))) {
      samples.insert(samples.end(), 2, amplitude * symbol);
    }
  }
  samples.resize(samples.size() + 2 * framed::kWindowTaps);
  for (dsp::Complex& sample : samples) {
    sample += dsp::Complex(static_cast<float>(rng.gaussian() * std::sqrt(0.5)),
                           static_cast<float>(rng.gaussian() * std::sqrt(0.5)));
  }
  SampleHistory history(16384);
  history.push(samples);
  return history;
}

// The newest super-frame alone (-5 dB) is too weak for a preamble. Together with the one before it
// (5 dB) it is strong enough.
TEST(Ms110dPreambleReader, goes_on_with_more_super_frames_where_one_is_too_weak) {
  const Mode mode{Waveform::ms110d, 75, Interleaver::long_};
  const Parameters p = parameters(mode);
  constexpr std::array kRatiosDb = {5.0, -5.0};
  constexpr float kNoiseShare = 0.1F;  // the filter passes a tenth of the noise in the band
  unsigned read = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    const SampleHistory history = heard(p, kRatiosDb, rng);
    PreambleReader reader(kNoiseShare);
    const auto reading =
        reader.read(history, {.position = kFrom + 2 * kSuperFrameSymbols, .strength = 0.09F});
    if (!reading) continue;
    ++read;
    EXPECT_EQ(reading->mode, mode) << seed;
    EXPECT_EQ(reading->data_start, kFrom + 4 * kSuperFrameSymbols) << seed;
    EXPECT_GE(reading->repeats, 1u) << seed;
  }
  EXPECT_EQ(read, 40u);
}

}  // namespace
}  // namespace s5066::modem::ms110d
