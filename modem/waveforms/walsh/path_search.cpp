// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/walsh/path_search.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace s5066::modem::walsh {
namespace {

/// A block must contain this many sets with known patterns before its profile is used.
constexpr float kSetsMin = 20;
/// The older part of the profile counts as at most this many sets.
constexpr float kSetsKept = 600;

}  // namespace

PathSearch::PathSearch(std::size_t frames, std::pmr::memory_resource& memory)
    : frames_(frames),
      everywhere_(frames * kPatterns * kDelays, &memory),
      profile_(kDelays, &memory) {}

void PathSearch::begin(std::span<const float> profile, float sets) {
  std::copy(profile.begin(), profile.end(), profile_.begin());
  sets_ = sets;
}

// Measures the mean power at each delay above the noise, as far as the patterns are known; those
// that were not sent show the noise. Returns the equivalent number of sets with known patterns.
float PathSearch::profile_of_block(const Taps& taps, std::span<float> profile) const {
  std::fill(profile.begin(), profile.end(), 0.0F);
  float sets = 0;
  for (std::size_t n = 0; n < frames_; ++n) {
    const auto [weight, sureness] = taps.belief(n, true);
    sets += (kPatterns * sureness - 1) / (kPatterns - 1);
    for (std::size_t v = 0; v < kPatterns; ++v) {
      const float gain = (kPatterns * weight[v] - 1) / (kPatterns - 1);
      const auto c = std::span(everywhere_).subspan((n * kPatterns + v) * kDelays, kDelays);
      for (std::size_t k = 0; k < kDelays; ++k) profile[k] += gain * std::norm(c[k]);
    }
  }
  for (float& power : profile) power /= std::max(sets, kTiny);
  return sets;
}

void PathSearch::find(Taps& taps) const {
  std::array<float, kDelays> profile{};
  const float sets = profile_of_block(taps, profile);
  if (sets < kSetsMin) return;
  const float all = sets_ + sets;
  for (std::size_t k = 0; k < kDelays; ++k) {
    profile[k] = (sets_ * profile_[k] + sets * profile[k]) / all;
  }
  taps.choose_again(profile, all, everywhere_);
}

void PathSearch::remember(const Taps& taps) {
  std::array<float, kDelays> profile{};
  const float sets = profile_of_block(taps, profile);
  if (sets < kSetsMin) return;
  const float all = sets_ + sets;
  for (std::size_t k = 0; k < kDelays; ++k) {
    profile_[k] = (sets_ * profile_[k] + sets * profile[k]) / all;
  }
  sets_ = std::min(all, kSetsKept);
}

}  // namespace s5066::modem::walsh
