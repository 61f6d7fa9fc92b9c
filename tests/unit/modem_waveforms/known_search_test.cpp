// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/known_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "modem/waveforms/framed/constellation.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::framed {
namespace {

using dsp::Complex;

constexpr std::size_t kKnown = 288;         // symbols
constexpr std::size_t kRepeat = 24 * kHop;  // half-symbol samples
constexpr std::size_t kFirst = 500;
constexpr double kOffsetHz = 8;  // one of the offsets that the search tries

// Returns what the search finds if a known stretch comes `times` times in noise, with the share
// `strength` of the total power.
std::vector<SearchCandidate> found(std::size_t repeat, unsigned times, double strength) {
  Rng rng(3);
  std::vector<Complex> known(kKnown);
  for (Complex& symbol : known) symbol = phase(static_cast<unsigned>(rng.below(8)));
  std::vector<Complex> samples(kRepeat * (times + 1));
  const double noise = std::sqrt(0.5 * (1 - strength) / strength);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t at = (i + kRepeat - kFirst) % kRepeat;
    const bool sent = i >= kFirst && i < kFirst + times * kRepeat;
    Complex value = phase(static_cast<unsigned>(rng.below(8)));  // a symbol that is not known
    if (at < 2 * kKnown) {
      const Complex next = at / 2 + 1 < kKnown ? known[at / 2 + 1] : Complex();
      value = at % 2 == 0 ? known[at / 2] : 0.7F * (known[at / 2] + next);
    }
    const double turn = 2 * std::numbers::pi * kOffsetHz * static_cast<double>(i) / kHalfSymbolRate;
    if (sent) samples[i] = dsp::mul(value, Complex(std::polar(1.0, turn)));
    samples[i] += Complex(static_cast<float>(noise * rng.gaussian()),
                          static_cast<float>(noise * rng.gaussian()));
  }
  KnownSearch search(known, {.offset_step_hz = 4, .offsets = 43, .repeat = repeat});
  SampleHistory history(16384);
  std::vector<SearchCandidate> candidates;
  for (std::size_t i = 0; i + kHop <= samples.size(); i += kHop) {
    history.push(std::span(samples).subspan(i, kHop));
    const auto candidate = search.advance(history, 100);
    if (candidate) candidates.push_back(*candidate);
  }
  return candidates;
}

void expect_at_its_place(const SearchCandidate& candidate) {
  const auto since = static_cast<std::size_t>(candidate.position) - kFirst;
  EXPECT_EQ(since % kRepeat, 0u) << candidate.position;
  EXPECT_EQ(candidate.offset_hz, kOffsetHz);
}

TEST(KnownSearch, what_one_stretch_does_not_show_several_do) {
  const auto together = found(kRepeat, 4, 0.06);
  ASSERT_FALSE(together.empty());
  for (const SearchCandidate& candidate : together) {
    expect_at_its_place(candidate);
    EXPECT_LT(candidate.strength, 0.1F);
  }
  EXPECT_TRUE(found(0, 4, 0.06).empty());
  EXPECT_TRUE(found(kRepeat, 1, 0.06).empty());
}

// Sums of a strong signal are as high beside its peak as on it.
TEST(KnownSearch, a_strong_stretch_is_found_at_its_peak_each_time) {
  constexpr unsigned kTimes = 12;
  const auto candidates = found(kRepeat, kTimes, 0.4);
  EXPECT_EQ(candidates.size(), kTimes);
  for (const SearchCandidate& candidate : candidates) {
    expect_at_its_place(candidate);
    EXPECT_GT(candidate.strength, 0.25F);
  }
}

}  // namespace
}  // namespace s5066::modem::framed
