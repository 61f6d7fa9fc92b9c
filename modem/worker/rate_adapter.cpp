// SPDX-License-Identifier: Apache-2.0
#include "modem/worker/rate_adapter.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "modem/waveforms/burst_events.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {

Result<RateAdapter> RateAdapter::create(unsigned rate_hz, std::size_t block_samples) {
  if (rate_hz == 0 || block_samples == 0 || block_samples * kSampleRate % rate_hz != 0) {
    return Error{ErrorCode::unsupported, "blocks of " + std::to_string(block_samples) +
                                             " samples at " + std::to_string(rate_hz) + " Hz"};
  }
  return RateAdapter(rate_hz, block_samples, block_samples * kSampleRate / rate_hz);
}

RateAdapter::RateAdapter(unsigned rate_hz, std::size_t block_samples, std::size_t modem_block)
    : rate_hz_(rate_hz), device_block_(block_samples), modem_block_(modem_block) {
  if (rate_hz == kSampleRate) return;
  receive_.emplace(dsp::Resampler::Config{.rate_in = rate_hz, .rate_out = kSampleRate});
  transmit_.emplace(dsp::Resampler::Config{.rate_in = kSampleRate, .rate_out = rate_hz});
  modem_samples_.reserve(modem_block_);
  device_samples_.reserve(device_block_);
}

std::uint64_t RateAdapter::delay() const {
  if (!receive_) return 0;
  return static_cast<std::uint64_t>(
      std::lround(receive_->delay() + transmit_->delay() * kSampleRate / rate_hz_));
}

// A block is a whole number of samples at either rate. So it is one unit of the resampler, and no
// sample waits in that for the next block.
std::span<const float> RateAdapter::to_modem(std::span<const float> device_block) {
  S5066_ASSERT(device_block.size() == device_block_);
  if (!receive_) return device_block;
  modem_samples_.clear();
  receive_->process(device_block, modem_samples_);
  S5066_ASSERT(modem_samples_.size() == modem_block_);
  return modem_samples_;
}

void RateAdapter::to_device(std::span<const float> modem_block, std::span<float> device_block) {
  S5066_ASSERT(modem_block.size() == modem_block_ && device_block.size() == device_block_);
  if (!transmit_) {
    std::copy(modem_block.begin(), modem_block.end(), device_block.begin());
    return;
  }
  device_samples_.clear();
  transmit_->process(modem_block, device_samples_);
  S5066_ASSERT(device_samples_.size() == device_block_);
  std::copy(device_samples_.begin(), device_samples_.end(), device_block.begin());
}

}  // namespace s5066::modem
