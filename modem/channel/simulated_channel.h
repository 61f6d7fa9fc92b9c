// SPDX-License-Identifier: Apache-2.0
// A complete channel between a transmitter and a receiver: the paths, noise and static, the filter
// of the receiving radio, and the difference of the clocks.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "modem/channel/awgn.h"
#include "modem/channel/impairments.h"
#include "modem/channel/watterson.h"
#include "s5066d/base/rng.h"

namespace s5066::modem::channel {

class SimulatedChannel {
 public:
  struct Config {
    std::vector<Path> paths = {Path{}};
    double offset_hz = 0;
    /// The power of the clean signal before fading. The noise is counted in 3 kHz, before the
    /// filter.
    double signal_power = 1;
    double snr_db = 20;
    double sample_rate = 9600;
    /// The deviation and the rate of the impulses come from here; the sample rate comes from above.
    std::optional<ImpulseNoise::Config> impulses;
    std::optional<RigFilter::Config> filter;
    double skew_ppm = 0;
  };

  /// Two objects with the same configuration draw the same numbers from generators in the same
  /// state.
  SimulatedChannel(const Config& config, Rng& rng);

  /// This function changes the samples in place. With a clock skew their number may change.
  void process(std::vector<float>& samples);
  /// Returns the delay of the first path in samples.
  unsigned delay_samples() const;

 private:
  std::optional<Watterson> fading_;
  Awgn noise_;
  std::optional<ImpulseNoise> impulses_;
  std::optional<RigFilter> filter_;
  std::optional<ClockSkew> skew_;
  std::vector<float> skewed_;
};

}  // namespace s5066::modem::channel
