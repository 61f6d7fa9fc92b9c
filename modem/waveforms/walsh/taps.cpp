// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/walsh/taps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/tap_memory.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::walsh {
namespace {

using dsp::Complex;
using dsp::mul_conj;

constexpr std::size_t kTapsMax = 40;
constexpr float kTapSignificant = 0.03F;  // share of the strongest tap
constexpr float kTapNoiseFactor = 4;      // standard deviations of a tap's measured power
constexpr std::array kDopplersHz = {0.3, 0.7, 1.5, 3.0, 6.0, 12.0, 25.0, 50.0};
constexpr std::size_t kMovedMax = 4;  // half-symbol samples
/// At least this share of the power without a pattern counts as noise.
constexpr double kNoiseOfHeardMin = 0.03;

}  // namespace

Taps::Taps(std::size_t frames, std::size_t preamble_sets, std::pmr::memory_resource& memory)
    : frames_(frames),
      taps_(&memory),
      correlations_(&memory),
      measured_(&memory),
      mean_(&memory),
      variance_(&memory),
      llr_(2 * frames, &memory),
      extrinsic_(llr_.size(), &memory) {
  taps_.reserve(kDelays);
  correlations_.reserve(frames * kPatterns * kTapsMax);
  measured_.reserve(std::max(frames, preamble_sets) * kTapsMax);
  mean_.reserve(measured_.capacity());
  variance_.reserve(measured_.capacity());
}

// --- The choice of the taps

void Taps::choose(std::span<const float> profile, float sets) {
  const float peak = *std::max_element(profile.begin(), profile.end());
  const float error = noise_ / std::sqrt(sets);
  const float threshold = std::max(kTapSignificant * peak, kTapNoiseFactor * error);
  taps_.clear();
  for (std::size_t k = 0; k < kDelays; ++k) {
    // The power of a neighbour may move here when clocks drift.
    const float left = k > 0 ? profile[k - 1] : 0;
    const float right = k + 1 < kDelays ? profile[k + 1] : 0;
    const float power = std::max({profile[k], 0.1F * left, 0.1F * right});
    if (std::max({profile[k], left, right}) < std::min(threshold, peak)) continue;
    taps_.push_back({.delay = static_cast<int>(k) - kReach,
                     .power = std::max({power, 0.02F * peak, 0.0F}) + kTiny,
                     .mean = {},
                     .variance = 0});
  }
  if (taps_.size() > kTapsMax) {
    std::nth_element(taps_.begin(), taps_.begin() + kTapsMax, taps_.end(),
                     [](const Tap& a, const Tap& b) { return a.power > b.power; });
    taps_.resize(kTapsMax);
    std::sort(taps_.begin(), taps_.end(),
              [](const Tap& a, const Tap& b) { return a.delay < b.delay; });
  }
  for (Tap& tap : taps_) tap.variance = tap.power;
}

void Taps::choose_again(std::span<const float> profile, float sets,
                        std::span<const Complex> everywhere) {
  std::array<Tap, kDelays> before{};
  for (std::size_t k = 0; k < taps_.size(); ++k) before[place(k)] = taps_[k];
  choose(profile, sets);
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const Tap& old = before[place(k)];
    if (old.power == 0) continue;
    taps_[k].mean = old.mean;
    taps_[k].variance = old.variance;
  }
  resize(frames_);
  for (std::size_t row = 0; row < frames_ * kPatterns; ++row) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      correlations_[row * taps_.size() + k] = everywhere[row * kDelays + place(k)];
    }
  }
}

void Taps::learn(std::span<const Complex> sequence, std::size_t count) {
  const std::size_t frames = std::exchange(frames_, count);
  measured_.assign(count * taps_.size(), {});
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      measured_[n * taps_.size() + k].value = sequence[n * kDelays + place(k)];
    }
  }
  choose_doppler();
  advance();
  frames_ = frames;
  resize(frames_);
}

void Taps::resize(std::size_t frames) {
  correlations_.resize(frames * kPatterns * taps_.size());
  measured_.resize(frames * taps_.size());
  mean_.resize(measured_.size());
  variance_.resize(measured_.size());
}

// --- Decisions

// The noise is measured in the frame itself, so that a change of level has no influence.
float Taps::evidence(std::size_t frame) const {
  std::array<float, kPatterns> energy{};
  for (std::size_t v = 0; v < kPatterns; ++v) {
    for (std::size_t k = 0; k < taps_.size(); ++k)
      energy[v] += std::norm(correlations(frame, v)[k]);
  }
  const float strongest = *std::max_element(energy.begin(), energy.end());
  float noise = -strongest;
  for (const float value : energy) noise += value;
  noise = noise / static_cast<float>((kPatterns - 1) * taps_.size()) + kTiny;
  noise = std::max(noise, kNoiseMinShare * taps_.front().power);
  std::array<float, kPatterns> weight{};
  for (std::size_t v = 0; v < kPatterns; ++v) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const float ratio = taps_[k].power / (noise_ + kTiny);
      weight[v] +=
          kSquareScale *
          (std::norm(correlations(frame, v)[k]) / noise * ratio / (1 + ratio) - std::log1p(ratio));
    }
  }
  return log_sum(weight) - std::log(static_cast<float>(kPatterns));
}

void Taps::forget_means() {
  for (std::size_t n = 0; n < frames_; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      mean_[n * taps_.size() + k] = 0;
      variance_[n * taps_.size() + k] = taps_[k].power;
    }
  }
}

// Returns how much better each pattern explains a frame than noise does.
std::array<float, kPatterns> Taps::metrics(std::size_t frame, float scale) const {
  std::array<float, kPatterns> out{};
  const float per_noise = 1 / noise_;
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const Complex h = mean_[frame * taps_.size() + k];
    const float per_all = 1 / (noise_ + variance_[frame * taps_.size() + k]);
    for (std::size_t v = 0; v < kPatterns; ++v) {
      const Complex c = correlations(frame, v)[k];
      out[v] += std::norm(c) * per_noise - std::norm(c - h) * per_all;
    }
  }
  for (float& value : out) value *= scale;
  return out;
}

// Computes the log-likelihood ratios of the two bits of each frame, without the information of the
// code about the bit.
void Taps::demap(bool with_code, float scale) {
  for (std::size_t n = 0; n < frames_; ++n) {
    auto weight = metrics(n, scale);
    const float first = with_code ? extrinsic_[2 * n] : 0;
    const float second = with_code ? extrinsic_[2 * n + 1] : 0;
    for (unsigned bits = 0; bits < kPatterns; ++bits) {
      weight[bits] += (bits & 2 ? -0.5F : 0.5F) * first + (bits & 1 ? -0.5F : 0.5F) * second;
    }
    const auto log_add = [](float a, float b) {
      return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
    };
    llr_[2 * n] = log_add(weight[0], weight[1]) - log_add(weight[2], weight[3]) - first;
    llr_[2 * n + 1] = log_add(weight[0], weight[2]) - log_add(weight[1], weight[3]) - second;
  }
}

Taps::Belief Taps::belief(std::size_t frame, bool with_code) const {
  Belief belief;
  auto& weight = belief.patterns;
  for (unsigned bits = 0; bits < kPatterns; ++bits) {
    const float first = llr_[2 * frame] + (with_code ? extrinsic_[2 * frame] : 0);
    const float second = llr_[2 * frame + 1] + (with_code ? extrinsic_[2 * frame + 1] : 0);
    weight[bits] = (bits & 2 ? -0.5F : 0.5F) * first + (bits & 1 ? -0.5F : 0.5F) * second;
  }
  const float all = log_sum(weight);
  for (float& value : weight) {
    value = std::exp(value - all);
    belief.sureness += value * value;
  }
  return belief;
}

// --- The course of the taps

// Measures the taps from the frames, as far as their patterns are known.
void Taps::measure(bool with_code) {
  for (std::size_t n = 0; n < frames_; ++n) {
    const auto [weight, sureness] = belief(n, with_code);
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      Complex sum;
      for (std::size_t v = 0; v < kPatterns; ++v) sum += weight[v] * correlations(n, v)[k];
      measured_[n * taps_.size() + k] = {sum / sureness, sureness};
    }
  }
}

// Measures the noise by the patterns that were not sent.
void Taps::measure_noise() {
  double sum = 0;
  double count = 0;
  double power = 0;
  for (std::size_t n = 0; n < frames_; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const Measurement& m = measured_[n * taps_.size() + k];
      double all = 0;
      for (std::size_t v = 0; v < kPatterns; ++v) all += std::norm(correlations(n, v)[k]);
      // Three patterns are left when one is certain; an uncertain frame counts less.
      const double sure = static_cast<double>(m.sureness);
      sum += sure * (all - static_cast<double>(std::norm(m.value)));
      count += sure * (kPatterns - 1);
      power += static_cast<double>(std::norm(m.value));
    }
  }
  const double noise = sum / std::max(count, 1.0);
  const double least =
      static_cast<double>(kNoiseMinShare) * power / static_cast<double>(frames_ * taps_.size());
  noise_ = static_cast<float>(std::max(noise, least)) + kTiny;
}

float Taps::memory() const {
  return dsp::tap_memory(kFrameSeconds, doppler_hz_);
}

// Chooses the spread with the highest likelihood of the measurements.
void Taps::choose_doppler() {
  double best = -1e300;
  double chosen = doppler_hz_;
  for (const double candidate : kDopplersHz) {
    doppler_hz_ = candidate;
    const float a = memory();
    double likelihood = 0;
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const float power = taps_[k].power;
      Complex h = taps_[k].mean;
      float p = taps_[k].variance;
      for (std::size_t n = 0; n < frames_; ++n) {
        const Measurement& m = measured_[n * taps_.size() + k];
        h *= a;
        p = a * a * p + (1 - a * a) * power;
        const float spread = p + noise_ / m.sureness;
        const Complex error = m.value - h;
        likelihood -= static_cast<double>(std::log(spread) + std::norm(error) / spread);
        h += p / spread * error;
        p -= p * p / spread;
      }
    }
    if (likelihood <= best) continue;
    best = likelihood;
    chosen = candidate;
  }
  doppler_hz_ = chosen;
}

// Predicts each frame's taps from the frames before and behind it: by a filter forwards, one
// backwards, and both together with the long-term mean counted once.
void Taps::predict() {
  const float a = memory();
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const float power = taps_[k].power;
    Complex h = taps_[k].mean;
    float p = taps_[k].variance;
    const auto step = [&](const Measurement& m) {
      const float gain = p / (p + noise_ / m.sureness);
      h += gain * (m.value - h);
      p -= gain * p;
    };
    for (std::size_t n = 0; n < frames_; ++n) {
      h *= a;
      p = a * a * p + (1 - a * a) * power;
      mean_[n * taps_.size() + k] = h;
      variance_[n * taps_.size() + k] = p;
      step(measured_[n * taps_.size() + k]);
    }
    h = 0;
    p = power;
    for (std::size_t n = frames_; n-- > 0;) {
      Complex& mean = mean_[n * taps_.size() + k];
      float& variance = variance_[n * taps_.size() + k];
      const float precision = std::max(1 / variance + 1 / p - 1 / power, 1 / power);
      mean = (mean / variance + h / p) / precision;
      variance = 1 / precision;
      step(measured_[n * taps_.size() + k]);
      h *= a;
      p = a * a * p + (1 - a * a) * power;
    }
  }
}

// The taps at the end of these frames are those at the beginning of the next ones.
void Taps::advance() {
  const float a = memory();
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    Tap& tap = taps_[k];
    for (std::size_t n = 0; n < frames_; ++n) {
      const Measurement& m = measured_[n * taps_.size() + k];
      tap.mean *= a;
      tap.variance = a * a * tap.variance + (1 - a * a) * tap.power;
      const float gain = tap.variance / (tap.variance + noise_ / m.sureness);
      tap.mean += gain * (m.value - tap.mean);
      tap.variance -= gain * tap.variance;
    }
  }
}

Complex Taps::turn() const {
  Complex turn;
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    for (std::size_t n = 1; n < frames_; ++n) {
      turn += mul_conj(measured_[(n - 1) * taps_.size() + k].value,
                       measured_[n * taps_.size() + k].value);
    }
  }
  return turn;
}

// Returns the mean power over the block without the share of noise.
float Taps::heard_power(std::size_t tap) const {
  float sum = 0;
  for (std::size_t n = 0; n < frames_; ++n) {
    const Measurement& m = measured_[n * taps_.size() + tap];
    sum += std::norm(m.value) - noise_ / m.sureness;
  }
  return sum / static_cast<float>(frames_);
}

// When clocks differ, every path moves. The movement is the shift at which this block's amplitudes
// fit those of the taps best. Each path is weighted by its amplitude, so that fading has no
// influence.
double Taps::follow_movement(float power_gain) {
  std::array<float, kDelays> heard{};
  std::array<float, kDelays + 2 * kMovedMax> expected{};
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    Tap& tap = taps_[k];
    const float sum = std::max(heard_power(k), 0.0F);
    const std::size_t at = place(k);
    heard[at] = std::sqrt(sum);
    expected[at + kMovedMax] = std::sqrt(tap.power);
    tap.power += power_gain * (std::max(sum, 0.05F * tap.power) - tap.power);
  }
  std::array<double, 2 * kMovedMax + 1> fit{};
  for (std::size_t s = 0; s < fit.size(); ++s) {
    for (std::size_t k = 0; k < kDelays; ++k) fit[s] += heard[k] * expected[k + s];
  }
  // fit[0] is large when the paths have moved by kMovedMax steps later.
  const auto top = static_cast<std::size_t>(std::max_element(fit.begin(), fit.end()) - fit.begin());
  double moved = static_cast<double>(kMovedMax) - static_cast<double>(top);
  if (top > 0 && top + 1 < fit.size()) {
    const double bend = fit[top - 1] - 2 * fit[top] + fit[top + 1];
    if (bend < 0) moved += std::clamp(0.5 * (fit[top + 1] - fit[top - 1]) / bend, -0.5, 0.5);
  }
  return moved;
}

// --- Estimates

// Returns the share of signal in a set of symbols. Half of the power of the taps belongs to the
// other phase.
float Taps::signal_share() const {
  double signal = 0;
  for (const Measurement& m : measured_) {
    signal += static_cast<double>(std::norm(m.value) - noise_ / m.sureness);
  }
  signal = std::max(0.5 * signal / static_cast<double>(frames_), 0.0);
  return static_cast<float>(signal / (signal + static_cast<double>(noise_)));
}

// Returns the channel by the taps of this block. The profile from the preamble has sidelobes of its
// sets, which all have the same scrambling; the sets of the data do not.
ChannelEstimate Taps::estimate(double offset_hz, float noise_share) const {
  std::array<float, kDelays> profile{};
  double signal = 0;
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const float power = std::max(heard_power(k), 0.0F);
    profile[place(k)] = power;
    signal += static_cast<double>(power);
  }
  // These are correlations of 32 symbols, and half of the steps contribute to a sample. The
  // patterns that were not sent also receive every path but their own, which is not noise.
  constexpr double kGain = 2.0 * kSetSymbols * kSetSymbols;
  const double heard = static_cast<double>(noise_) / kSetSymbols;
  const double others =
      signal / kGain - signal / (kSetSymbols * kSetSymbols * static_cast<double>(taps_.size()));
  const double noise = std::max(heard - std::max(others, 0.0), kNoiseOfHeardMin * heard) /
                       static_cast<double>(noise_share) * 3000 / kHalfSymbolRate;
  return {.snr_db = static_cast<float>(10 * std::log10(signal / kGain / noise + 1e-9)),
          .offset_hz = static_cast<float>(offset_hz),
          .multipath_ms = static_cast<float>(static_cast<double>(dsp::profile_spread(profile)) *
                                             1000 / kHalfSymbolRate),
          .doppler_hz = static_cast<float>(doppler_hz_)};
}

}  // namespace s5066::modem::walsh
