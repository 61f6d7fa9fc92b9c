// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/cable_mixer.h"

#include <algorithm>

#include "modem/audio/cable_protocol.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/rng.h"

namespace s5066::modem {
namespace {

/// The result is empty when the channel leaves the samples unchanged.
std::vector<channel::Path> paths_of(const CableMixer::Config& config) {
  switch (config.channel) {
    case CableChannel::two_path:
      return {channel::Path{}, channel::Path{.delay_ms = config.delay_ms}};
    case CableChannel::watterson:
      return {channel::Path{.spread_hz = config.doppler_hz},
              channel::Path{.delay_ms = config.delay_ms, .spread_hz = config.doppler_hz}};
    case CableChannel::clean:
    case CableChannel::awgn:
      break;
  }
  if (config.offset_hz == 0) return {};
  return {channel::Path{}};
}

}  // namespace

Result<CableChannel> parse_cable_channel(std::string_view text) {
  if (text == "clean") return CableChannel::clean;
  if (text == "awgn") return CableChannel::awgn;
  if (text == "two-path") return CableChannel::two_path;
  if (text == "watterson") return CableChannel::watterson;
  return Error{ErrorCode::bad_field, "channel is clean, awgn, two-path or watterson"};
}

CableMixer::CableMixer(const Config& config)
    : stations_(config.stations),
      paths_(config.stations * config.stations),
      noises_(config.stations) {
  Rng rng(config.seed);
  const std::vector<channel::Path> paths = paths_of(config);
  const double deviation =
      channel::noise_deviation(config.signal_power, config.snr_db, config.rate_hz);
  // Each pair gets a fork whether or not it is used, so that one station's noise does not depend on
  // the channels between the others.
  for (std::size_t to = 0; to < stations_; ++to) {
    const Rng noise_rng = rng.fork();
    if (config.channel != CableChannel::clean) noises_[to].emplace(deviation, noise_rng);
    for (std::size_t from = 0; from < stations_; ++from) {
      const Rng path_rng = rng.fork();
      if (from == to || paths.empty()) continue;
      const double rate = config.rate_hz;
      paths_[from * stations_ + to].emplace(
          channel::Watterson::Config{
              .paths = paths, .offset_hz = config.offset_hz, .sample_rate = rate},
          path_rng);
    }
  }
}

void CableMixer::mix(std::span<const std::span<const float>> sent,
                     std::span<std::vector<float>> heard) {
  S5066_ASSERT(sent.size() == stations_ && heard.size() == stations_);
  const std::size_t block = heard.front().size();
  for (std::size_t to = 0; to < stations_; ++to) {
    std::vector<float>& sum = heard[to];
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (std::size_t from = 0; from < stations_; ++from) {
      auto& path = paths_[from * stations_ + to];
      if (from == to || (sent[from].empty() && !path)) continue;
      scratch_.assign(sent[from].begin(), sent[from].end());
      scratch_.resize(block, 0.0F);
      if (path) path->process(scratch_);
      for (std::size_t i = 0; i < block; ++i) sum[i] += scratch_[i];
    }
    if (noises_[to]) noises_[to]->process(sum);
    for (float& sample : sum) sample = std::clamp(sample, -cable::kLevelMax, cable::kLevelMax);
  }
}

}  // namespace s5066::modem
