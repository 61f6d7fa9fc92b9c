// SPDX-License-Identifier: Apache-2.0
#include "modem/channel/impairments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::channel {
namespace {

using std::numbers::pi;

double sinc(double x) {
  return std::abs(x) < 1e-9 ? 1 : std::sin(pi * x) / (pi * x);
}

// Returns Blackman's window at x from the cosine of pi x.
double blackman(double cosine) {
  return 0.42 + 0.5 * cosine + 0.08 * (2 * cosine * cosine - 1);
}

// Returns Blackman's window over -1 to 1.
double window(double x) {
  return std::abs(x) > 1 ? 0 : blackman(std::cos(pi * x));
}

constexpr int kSkewReach = 24;  // samples on either side of an output

/// The table holds cosine and sine of pi k / kSkewReach, from k = -kSkewReach + 1 on.
struct Turns {
  std::array<double, 2 * kSkewReach> cosine;
  std::array<double, 2 * kSkewReach> sine;
};

Turns make_turns() {
  Turns turns{};
  for (int k = -kSkewReach + 1; k <= kSkewReach; ++k) {
    const auto i = static_cast<std::size_t>(k + kSkewReach - 1);
    turns.cosine[i] = std::cos(pi * k / kSkewReach);
    turns.sine[i] = std::sin(pi * k / kSkewReach);
  }
  return turns;
}

}  // namespace

RigFilter::RigFilter(const Config& config)
    : taps_(2 * kDelaySamples + 1), line_(taps_.size() - 1, 0.0F) {
  S5066_ASSERT(config.low_hz >= 0 && config.low_hz < config.high_hz);
  S5066_ASSERT(config.high_hz < config.sample_rate / 2);
  const double low = 2 * config.low_hz / config.sample_rate;
  const double high = 2 * config.high_hz / config.sample_rate;
  for (std::size_t i = 0; i < taps_.size(); ++i) {
    const double t = static_cast<double>(i) - kDelaySamples;
    taps_[i] = static_cast<float>((high * sinc(high * t) - low * sinc(low * t)) *
                                  window(t / (kDelaySamples + 1)));
  }
}

void RigFilter::process(std::span<float> samples) {
  line_.insert(line_.end(), samples.begin(), samples.end());
  for (std::size_t n = 0; n < samples.size(); ++n) {
    float sum = 0;
    for (std::size_t i = 0; i < taps_.size(); ++i) sum += taps_[i] * line_[n + i];
    samples[n] = sum;
  }
  line_.erase(line_.begin(), line_.end() - static_cast<std::ptrdiff_t>(taps_.size() - 1));
}

ClockSkew::ClockSkew(double ppm)
    : step_(1 / (1 + ppm * 1e-6)), at_(kSkewReach), line_(kSkewReach, 0.0F) {}

void ClockSkew::process(std::span<const float> in, std::vector<float>& out) {
  static const Turns turns = make_turns();
  line_.insert(line_.end(), in.begin(), in.end());
  const auto end = static_cast<double>(line_.size()) - kSkewReach;
  for (; at_ < end; at_ += step_) {
    const auto centre = static_cast<std::ptrdiff_t>(at_);
    const double fraction = at_ - static_cast<double>(centre);
    // A weight is sinc(t) times Blackman's window at t = k - fraction. The sine and cosine of each
    // weight follow from those of `fraction` and the table.
    const double cosine = std::cos(pi * fraction / kSkewReach);
    const double sine = std::sin(pi * fraction / kSkewReach);
    const double numerator = std::sin(pi * fraction) / pi;
    double sum = 0;
    for (int k = -kSkewReach + 1; k <= kSkewReach; ++k) {
      const auto i = static_cast<std::size_t>(k + kSkewReach - 1);
      const double t = k - fraction;
      const double c = turns.cosine[i] * cosine + turns.sine[i] * sine;
      const double sinc = std::abs(t) < 1e-9 ? 1 : (k % 2 == 0 ? -numerator : numerator) / t;
      sum += static_cast<double>(line_[static_cast<std::size_t>(centre + k)]) * sinc * blackman(c);
    }
    out.push_back(static_cast<float>(sum));
  }
  const auto done = static_cast<std::ptrdiff_t>(at_) - kSkewReach;
  if (done <= 0) return;
  line_.erase(line_.begin(), line_.begin() + done);
  at_ -= static_cast<double>(done);
}

void ImpulseNoise::process(std::span<float> samples) {
  const double begin = config_.per_second / config_.sample_rate;
  const double end = 1 / (config_.mean_length_s * config_.sample_rate);
  for (float& x : samples) {
    crashing_ = crashing_ ? !rng_.chance(end) : rng_.chance(begin);
    if (crashing_) x += static_cast<float>(config_.deviation * rng_.gaussian());
  }
}

}  // namespace s5066::modem::channel
