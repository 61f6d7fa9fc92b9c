// SPDX-License-Identifier: Apache-2.0
// Converts between the device's sample rate and the modem's, in whole blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modem/dsp/resampler.h"
#include "s5066d/base/result.h"

namespace s5066::modem {

class RateAdapter {
 public:
  /// Refuses a block that is no whole number of samples at kSampleRate.
  static Result<RateAdapter> create(unsigned rate_hz, std::size_t block_samples);

  /// Returns the samples of a block at kSampleRate.
  std::size_t modem_block() const { return modem_block_; }
  /// Returns the delay of both conversions together, in samples at kSampleRate.
  std::uint64_t delay() const;

  /// The result is valid until the next call.
  std::span<const float> to_modem(std::span<const float> device_block);
  void to_device(std::span<const float> modem_block, std::span<float> device_block);

 private:
  RateAdapter(unsigned rate_hz, std::size_t block_samples, std::size_t modem_block);

  unsigned rate_hz_;
  std::size_t device_block_;
  std::size_t modem_block_;
  std::optional<dsp::Resampler> receive_;  // both are empty when the rates are the same
  std::optional<dsp::Resampler> transmit_;
  std::vector<float> modem_samples_;
  std::vector<float> device_samples_;
};

}  // namespace s5066::modem
