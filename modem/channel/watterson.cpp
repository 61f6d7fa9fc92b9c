// SPDX-License-Identifier: Apache-2.0
#include "modem/channel/watterson.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::channel {
namespace {

using std::numbers::pi;

constexpr double kPointsPerSpread = 64;  // points of the fading process in 1 / spread seconds
constexpr double kShapeReach = 0.683;    // reach in 1 / spread, where the shape is 1 % of its peak
constexpr unsigned kHilbertReach = Watterson::kDelaySamples;

struct NamedChannel {
  std::string_view name;
  double delay_ms;
  double spread_hz;
};

constexpr std::array kNamed = {
    NamedChannel{"low-quiet", 0.5, 0.5},
    NamedChannel{"low-moderate", 2, 1.5},
    NamedChannel{"low-disturbed", 6, 10},
    NamedChannel{"mid-quiet", 0.5, 0.1},
    NamedChannel{"mid-moderate", 1, 0.5},
    NamedChannel{"mid-disturbed", 2, 1},
    NamedChannel{"mid-disturbed-nvis", 7, 1},
    NamedChannel{"high-quiet", 1, 0.5},
    NamedChannel{"high-moderate", 3, 10},
    NamedChannel{"high-disturbed", 7, 30},
    NamedChannel{"good", 0.5, 0.1},
    NamedChannel{"moderate", 1, 0.5},
    NamedChannel{"poor", 2, 1},
    NamedChannel{"flutter", 0.5, 10},
};

// Returns the weights of an odd Hilbert filter at the odd distances 1, 3, 5 ... from its centre.
std::vector<float> hilbert_weights() {
  std::vector<float> weights;
  for (unsigned n = 1; n <= kHilbertReach; n += 2) {
    const double window = 0.54 + 0.46 * std::cos(pi * n / (kHilbertReach + 1));
    weights.push_back(static_cast<float>(2 / (pi * n) * window));
  }
  return weights;
}

}  // namespace

FadingGain::FadingGain(double spread_hz, double sample_rate, const Rng& rng) : rng_(rng) {
  S5066_ASSERT(spread_hz > 0);
  interval_ = std::max(1U, static_cast<unsigned>(sample_rate / (kPointsPerSpread * spread_hz)));
  const double point_rate = sample_rate / interval_;
  const int reach = static_cast<int>(kShapeReach / spread_hz * point_rate);
  double energy = 0;
  for (int n = -reach; n <= reach; ++n) {
    const double t = n / point_rate;
    const double value = std::exp(-pi * pi * spread_hz * spread_hz * t * t);
    shape_.push_back(static_cast<float>(value));
    energy += value * value;
  }
  for (float& value : shape_) value /= static_cast<float>(std::sqrt(energy));
  for (std::size_t i = 0; i < shape_.size(); ++i) white_.push_back(draw());
  from_ = filtered();
  white_[at_] = draw();
  at_ = (at_ + 1) % white_.size();
  to_ = filtered();
}

std::complex<float> FadingGain::next() {
  if (phase_ == interval_) {
    phase_ = 0;
    white_[at_] = draw();
    at_ = (at_ + 1) % white_.size();
    from_ = to_;
    to_ = filtered();
  }
  const float part = static_cast<float>(phase_++) / static_cast<float>(interval_);
  return from_ + part * (to_ - from_);
}

std::complex<float> FadingGain::draw() {
  const double scale = std::numbers::sqrt2 / 2;
  const double re = rng_.gaussian();
  const double im = rng_.gaussian();
  return {static_cast<float>(scale * re), static_cast<float>(scale * im)};
}

std::complex<float> FadingGain::filtered() const {
  std::complex<float> sum;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    sum += shape_[i] * white_[(at_ + i) % white_.size()];
  }
  return sum;
}

Watterson::Watterson(const Config& config, const Rng& rng)
    : quadrature_(hilbert_weights()), input_(2 * kHilbertReach + 1, 0.0F) {
  S5066_ASSERT(!config.paths.empty());
  double total = 0;
  for (const Path& path : config.paths) total += path.power;
  Rng source = rng;
  unsigned delay_max = 0;
  for (const Path& path : config.paths) {
    Tap tap;
    tap.delay = static_cast<unsigned>(std::lround(path.delay_ms * config.sample_rate / 1000));
    tap.amplitude = static_cast<float>(std::sqrt(path.power / total));
    tap.fixed = std::polar(1.0F, static_cast<float>(2 * pi * path.phase_turn));
    const Rng own = source.fork();
    if (path.spread_hz > 0) tap.fading.emplace_back(path.spread_hz, config.sample_rate, own);
    delay_max = std::max(delay_max, tap.delay);
    taps_.push_back(std::move(tap));
  }
  line_.resize(delay_max + 1);
  turn_step_ = std::polar(1.0, 2 * pi * config.offset_hz / config.sample_rate);
}

void Watterson::process(std::span<float> samples) {
  for (float& x : samples) x = step(x);
}

float Watterson::step(float in) {
  input_at_ = (input_at_ + 1) % input_.size();
  input_[input_at_] = in;
  line_at_ = (line_at_ + 1) % line_.size();
  line_[line_at_] = analytic();

  std::complex<float> sum;
  for (Tap& tap : taps_) {
    const std::size_t at = (line_at_ + line_.size() - tap.delay) % line_.size();
    const std::complex<float> gain = tap.fading.empty() ? tap.fixed : tap.fading.front().next();
    sum += tap.amplitude * gain * line_[at];
  }
  turn_ *= turn_step_;
  return (sum * std::complex<float>(turn_)).real();
}

// Returns the sample in the middle of the ring and its Hilbert transform, which uses both sides of
// it.
std::complex<float> Watterson::analytic() const {
  const std::size_t size = input_.size();
  const std::size_t centre = (input_at_ + size - kHilbertReach) % size;
  float quadrature = 0;
  for (std::size_t i = 0; i < quadrature_.size(); ++i) {
    const std::size_t distance = 2 * i + 1;
    const float earlier = input_[(centre + size - distance) % size];
    const float later = input_[(centre + distance) % size];
    quadrature += quadrature_[i] * (earlier - later);
  }
  return {input_[centre], quadrature};
}

std::vector<Path> paths_by_name(std::string_view name) {
  for (const NamedChannel& row : kNamed) {
    if (row.name != name) continue;
    return {Path{.delay_ms = 0, .spread_hz = row.spread_hz},
            Path{.delay_ms = row.delay_ms, .spread_hz = row.spread_hz}};
  }
  return {};
}

std::vector<std::string_view> channel_names() {
  std::vector<std::string_view> names;
  for (const NamedChannel& row : kNamed) names.push_back(row.name);
  return names;
}

}  // namespace s5066::modem::channel
