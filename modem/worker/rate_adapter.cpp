#include "modem/worker/rate_adapter.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "modem/waveforms/burst_events.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

// A resampler's output runs ahead of or behind the ratio by a sample or so; this many, counted at
// the lower rate, keep blocks whole.
constexpr std::size_t kSlackSamples = 4;

}  // namespace

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
  const double ratio = static_cast<double>(rate_hz) / kSampleRate;
  const auto device_slack =
      static_cast<std::size_t>(std::ceil(kSlackSamples * std::max(1.0, ratio)));
  const auto modem_slack =
      static_cast<std::size_t>(std::ceil(kSlackSamples * std::max(1.0, 1 / ratio)));
  receive_.emplace(
      Direction{.resampler = dsp::Resampler({.rate_in = static_cast<double>(rate_hz),
                                             .rate_out = static_cast<double>(kSampleRate)}),
                .waiting = std::vector<float>(modem_slack),
                .primed = modem_slack});
  transmit_.emplace(
      Direction{.resampler = dsp::Resampler({.rate_in = static_cast<double>(kSampleRate),
                                             .rate_out = static_cast<double>(rate_hz)}),
                .waiting = std::vector<float>(device_slack),
                .primed = device_slack});
  receive_->reserve(modem_block_);
  transmit_->reserve(device_block_);
  modem_samples_.reserve(modem_block_);
  device_samples_.reserve(device_block_);
}

std::uint64_t RateAdapter::delay() const {
  if (!receive_) return 0;
  const double receive = receive_->resampler.delay() + static_cast<double>(receive_->primed);
  const double transmit = transmit_->resampler.delay() + static_cast<double>(transmit_->primed);
  return static_cast<std::uint64_t>(std::lround(receive + transmit * kSampleRate / rate_hz_));
}

// A block and what is left of the one before, which is the slack or two samples more.
void RateAdapter::Direction::reserve(std::size_t count) {
  waiting.reserve(count + 2 * primed + kSlackSamples);
}

void RateAdapter::Direction::convert(std::span<const float> in, std::vector<float>& out,
                                     std::size_t count) {
  resampler.process(in, waiting);
  S5066_ASSERT(waiting.size() >= count);
  const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(count);
  out.assign(waiting.begin(), end);
  waiting.erase(waiting.begin(), end);
}

std::span<const float> RateAdapter::to_modem(std::span<const float> device_block) {
  S5066_ASSERT(device_block.size() == device_block_);
  if (!receive_) return device_block;
  receive_->convert(device_block, modem_samples_, modem_block_);
  return modem_samples_;
}

void RateAdapter::to_device(std::span<const float> modem_block, std::span<float> device_block) {
  S5066_ASSERT(modem_block.size() == modem_block_ && device_block.size() == device_block_);
  if (!transmit_) {
    std::copy(modem_block.begin(), modem_block.end(), device_block.begin());
    return;
  }
  transmit_->convert(modem_block, device_samples_, device_block_);
  std::copy(device_samples_.begin(), device_samples_.end(), device_block.begin());
}

}  // namespace s5066::modem
