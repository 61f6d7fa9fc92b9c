// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/modem_soak/line.h"

#include <algorithm>
#include <cmath>

#include "modem/waveforms/burst_events.h"
#include "modem/waveforms/burst_transmitter.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

constexpr double kSceneMeanS = 120;
constexpr double kSceneMaxS = 600;
constexpr double kOutageMaxS = 30;
constexpr double kOffsetMaxHz = 75;

double between(Rng& rng, double low, double high) {
  return low + (high - low) * rng.uniform();
}

std::size_t samples_of(double seconds) {
  return static_cast<std::size_t>(seconds * kSampleRate);
}

std::optional<Mode> draw_mode_of_4285(Rng& rng) {
  std::vector<Mode> modes;
  for (const Mode& mode : all_modes()) {
    if (mode.waveform == Waveform::stanag4285) modes.push_back(mode);
  }
  return modes.at(rng.below(static_cast<std::uint32_t>(modes.size())));
}

}  // namespace

Scene draw_scene(Rng& rng) {
  Scene scene;
  scene.channel.signal_power = kTransmitPower;
  scene.channel.offset_hz = between(rng, -kOffsetMaxHz, kOffsetMaxHz);
  const double weather = rng.uniform();
  if (weather < 0.3) {
    scene.channel.snr_db = between(rng, 35, 45);
    scene.kind = true;
  } else if (weather < 0.5) {
    scene.channel.snr_db = between(rng, -6, 15);
  } else if (weather < 0.75) {
    scene.channel.snr_db = between(rng, 5, 30);
    scene.channel.paths = channel::paths_by_name("poor");
  } else if (weather < 0.9) {
    scene.channel.snr_db = between(rng, 10, 40);
    const double spread_hz = between(rng, 0.1, 10);
    scene.channel.paths = {{.spread_hz = spread_hz},
                           {.delay_ms = between(rng, 0.5, 6), .spread_hz = spread_hz}};
  } else {
    scene.channel.snr_db = between(rng, 10, 30);
    scene.channel.impulses = channel::ImpulseNoise::Config{.per_second = between(rng, 0.1, 10)};
  }
  if (rng.chance(0.25)) scene.channel.filter = channel::RigFilter::Config{};
  if (rng.chance(0.7)) scene.outages_per_second = between(rng, 0.01, 0.2);
  if (rng.chance(0.15)) scene.only = draw_mode_of_4285(rng);
  const double seconds = -kSceneMeanS * std::log(1 - rng.uniform());
  scene.samples = samples_of(std::clamp(seconds, 10.0, kSceneMaxS));
  return scene;
}

Line::Line(const Rng& rng) : rng_(rng) {}

void Line::begin(const Scene& scene, double skew_ppm) {
  channel::SimulatedChannel::Config config = scene.channel;
  config.skew_ppm = skew_ppm;
  channel_.emplace(config, rng_);
  outages_per_second_ = scene.outages_per_second;
}

void Line::send(std::span<const float> samples) {
  S5066_ASSERT(channel_);
  scratch_.assign(samples.begin(), samples.end());
  const double seconds = static_cast<double>(samples.size()) / kSampleRate;
  if (out_for_ == 0 && rng_.chance(outages_per_second_ * seconds)) {
    // Short outages are more frequent than long ones; a third of them leave no signal, the others
    // some.
    out_for_ = samples_of(kOutageMaxS * std::pow(rng_.uniform(), 4));
    faded_to_ = rng_.chance(0.33) ? 0.0F : static_cast<float>(0.3 * rng_.uniform());
  }
  const std::size_t faded = std::min(out_for_, scratch_.size());
  std::for_each(scratch_.begin(), scratch_.begin() + static_cast<std::ptrdiff_t>(faded),
                [this](float& x) { x *= faded_to_; });
  out_for_ -= faded;
  out_ = faded > 0;
  channel_->process(scratch_);
  waiting_.insert(waiting_.end(), scratch_.begin(), scratch_.end());
}

void Line::take(std::span<float> samples) {
  S5066_ASSERT(has(samples.size()));
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(samples.size());
  std::copy(waiting_.begin(), end, samples.begin());
  waiting_.erase(waiting_.begin(), end);
}

}  // namespace s5066::modem
