// SPDX-License-Identifier: Apache-2.0
#include "modem/channel/simulated_channel.h"

#include <utility>

namespace s5066::modem::channel {
namespace {

/// Returns true if the only path would just delay the samples.
bool changes_nothing(const SimulatedChannel::Config& config) {
  if (config.offset_hz != 0 || config.paths.size() != 1) return false;
  const Path& path = config.paths.front();
  return path.delay_ms == 0 && path.spread_hz == 0 && path.phase_turn == 0;
}

}  // namespace

SimulatedChannel::SimulatedChannel(const Config& config, Rng& rng) : noise_(0, rng) {
  const Rng fading_rng = rng.fork();
  const Rng noise_rng = rng.fork();
  if (!changes_nothing(config)) {
    fading_.emplace(Watterson::Config{.paths = config.paths,
                                      .offset_hz = config.offset_hz,
                                      .sample_rate = config.sample_rate},
                    fading_rng);
  }
  noise_ = Awgn(noise_deviation(config.signal_power, config.snr_db, config.sample_rate), noise_rng);
  if (config.impulses) {
    ImpulseNoise::Config impulses = *config.impulses;
    impulses.sample_rate = config.sample_rate;
    impulses_.emplace(impulses, rng.fork());
  }
  if (config.filter) {
    RigFilter::Config filter = *config.filter;
    filter.sample_rate = config.sample_rate;
    filter_.emplace(filter);
  }
  if (config.skew_ppm != 0) skew_.emplace(config.skew_ppm);
}

void SimulatedChannel::process(std::vector<float>& samples) {
  if (fading_) fading_->process(samples);
  noise_.process(samples);
  if (impulses_) impulses_->process(samples);
  if (filter_) filter_->process(samples);
  if (!skew_) return;
  skewed_.clear();
  skew_->process(samples, skewed_);
  std::swap(samples, skewed_);
}

unsigned SimulatedChannel::delay_samples() const {
  return (fading_ ? Watterson::kDelaySamples : 0) +
         (filter_ ? static_cast<unsigned>(RigFilter::kDelaySamples) : 0);
}

}  // namespace s5066::modem::channel
