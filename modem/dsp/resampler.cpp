// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/resampler.h"

#include <liquid/liquid.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

// Both are relative to the lower rate: where the response is halved, and the width of the
// transition.
constexpr double kCutoff = 0.46;
constexpr double kTransition = 0.1;

/// A low pass at the input's rate times the interpolation, by a Kaiser window. The taps before the
/// middle are a whole number of input samples: taps - 1 = (stopband - 7.95) / 14.36 over the
/// transition, and 0.1102 (stopband - 8.7) gives the shape of the window [Kaiser 1974]. The
/// library's own design takes minutes for two rates without a common factor.
std::vector<float> low_pass(double cutoff, double transition, double stopband_db,
                            unsigned interpolation) {
  const double half = std::ceil((stopband_db - 7.95) / 14.36 / transition / 2);
  const auto middle = static_cast<std::size_t>(half) * interpolation;
  const double shape = 0.1102 * (stopband_db - 8.7);
  const double peak = std::cyl_bessel_i(0, shape);
  std::vector<float> taps(2 * middle);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const double place = (static_cast<double>(i) - static_cast<double>(middle)) / interpolation;
    const double angle = 2 * std::numbers::pi * cutoff * place;
    const double sinc = angle == 0 ? 1 : std::sin(angle) / angle;
    const double edge = place / half;
    const double window = std::cyl_bessel_i(0, shape * std::sqrt(1 - edge * edge)) / peak;
    taps[i] = static_cast<float>(2 * cutoff * sinc * window);
  }
  return taps;
}

}  // namespace

struct Resampler::State {
  explicit State(const Config& config) {
    S5066_ASSERT(config.rate_in > 0 && config.rate_out > 0);
    const unsigned common = std::gcd(config.rate_in, config.rate_out);
    const unsigned interpolation = config.rate_out / common;
    const unsigned decimation = config.rate_in / common;
    const double share = std::min(1.0, static_cast<double>(interpolation) / decimation);
    auto taps = low_pass(kCutoff * share, kTransition * share, config.stopband_db, interpolation);
    filter =
        rresamp_rrrf_create(interpolation, decimation,
                            static_cast<unsigned>(taps.size() / interpolation / 2), taps.data());
    S5066_ASSERT(filter != nullptr);
    rresamp_rrrf_set_scale(filter, 1);
    ratio = static_cast<double>(interpolation) / decimation;
    waiting.resize(decimation);
    output.resize(interpolation);
  }
  ~State() { rresamp_rrrf_destroy(filter); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  double ratio;
  rresamp_rrrf filter;
  // This is the portion that the filter takes at a time; the library writes to it.
  std::vector<float> waiting;
  std::size_t waiting_count = 0;
  std::vector<float> output;
};

Resampler::Resampler(const Config& config) : state_(std::make_unique<State>(config)) {}
Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

void Resampler::process(std::span<const float> in, std::vector<float>& out) {
  State& s = *state_;
  while (!in.empty()) {
    const std::size_t count = std::min(in.size(), s.waiting.size() - s.waiting_count);
    std::copy_n(in.begin(), count,
                s.waiting.begin() + static_cast<std::ptrdiff_t>(s.waiting_count));
    in = in.subspan(count);
    s.waiting_count += count;
    if (s.waiting_count < s.waiting.size()) return;
    s.waiting_count = 0;
    rresamp_rrrf_execute(s.filter, s.waiting.data(), s.output.data());
    out.insert(out.end(), s.output.begin(), s.output.end());
  }
}

double Resampler::delay() const {
  return state_->ratio * rresamp_rrrf_get_delay(state_->filter);
}
std::size_t Resampler::zeros_to_drain() const {
  return rresamp_rrrf_get_delay(state_->filter) + state_->waiting.size();
}

}  // namespace s5066::modem::dsp
