// The functions that find paths which the preamble did not show.
#include <algorithm>
#include <array>
#include <cmath>

#include "modem/waveforms/walsh/constants.h"
#include "modem/waveforms/walsh/demodulator.h"

namespace s5066::modem::walsh {
namespace {

using dsp::Complex;

/// A block must contain this many sets with known patterns before its profile is used.
constexpr float kSetsMin = 20;
/// The older part of the profile counts as at most this many sets.
constexpr float kSetsKept = 600;

}  // namespace

const Complex* WalshDemodulator::everywhere(std::size_t frame, std::size_t pattern) const {
  return &everywhere_[(frame * kPatterns + pattern) * kDelays];
}

// Measures the mean power at each delay above the noise, as far as the patterns are known; those
// that were not sent show the noise. Returns the equivalent number of sets with known patterns.
float WalshDemodulator::profile_of_block(std::span<float> profile) const {
  std::fill(profile.begin(), profile.end(), 0.0F);
  float sets = 0;
  for (std::size_t n = 0; n < block_frames_; ++n) {
    const auto [weight, sureness] = belief(n, true);
    sets += (kPatterns * sureness - 1) / (kPatterns - 1);
    for (std::size_t v = 0; v < kPatterns; ++v) {
      const float gain = (kPatterns * weight[v] - 1) / (kPatterns - 1);
      const Complex* const c = everywhere(n, v);
      for (std::size_t k = 0; k < kDelays; ++k) profile[k] += gain * std::norm(c[k]);
    }
  }
  for (float& power : profile) power /= std::max(sets, kTiny);
  return sets;
}

// Existing taps keep their state. A new tap begins without one.
void WalshDemodulator::find_paths() {
  std::array<float, kDelays> profile{};
  const float sets = profile_of_block(profile);
  if (sets < kSetsMin) return;
  const float all = profile_sets_ + sets;
  for (std::size_t k = 0; k < kDelays; ++k) {
    profile[k] = (profile_sets_ * profile_[k] + sets * profile[k]) / all;
  }
  std::array<Tap, kDelays> before{};
  for (const Tap& tap : taps_) before[static_cast<std::size_t>(tap.delay + kReach)] = tap;
  choose_taps(profile, all);
  for (Tap& tap : taps_) {
    const Tap& old = before[static_cast<std::size_t>(tap.delay + kReach)];
    if (old.power == 0) continue;
    tap.mean = old.mean;
    tap.variance = old.variance;
  }
  correlations_.resize(block_frames_ * kPatterns * taps_.size());
  for (std::size_t n = 0; n < block_frames_; ++n) {
    for (std::size_t v = 0; v < kPatterns; ++v) {
      const std::size_t row = (n * kPatterns + v) * taps_.size();
      for (std::size_t k = 0; k < taps_.size(); ++k) {
        correlations_[row + k] =
            everywhere(n, v)[static_cast<std::size_t>(taps_[k].delay + kReach)];
      }
    }
  }
  measured_.resize(block_frames_ * taps_.size());
  mean_.resize(measured_.size());
  variance_.resize(measured_.size());
}

// Adds the profile of this block, which is decoded now.
void WalshDemodulator::remember_paths() {
  std::array<float, kDelays> profile{};
  const float sets = profile_of_block(profile);
  if (sets < kSetsMin) return;
  const float all = profile_sets_ + sets;
  for (std::size_t k = 0; k < kDelays; ++k) {
    profile_[k] = (profile_sets_ * profile_[k] + sets * profile[k]) / all;
  }
  profile_sets_ = std::min(all, kSetsKept);
}

}  // namespace s5066::modem::walsh
