// Everything that lies between a transmitter and a receiver, in one object: the paths, noise and
// static, the filter of the receiving radio, and the difference of the clocks.
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
    /// Of the clean signal, before it fades; the noise is counted in 3 kHz, before the filter.
    double signal_power = 1;
    double snr_db = 20;
    double sample_rate = 9600;
    /// Deviation and rate are taken from here, the sample rate from above.
    std::optional<ImpulseNoise::Config> impulses;
    std::optional<RigFilter::Config> filter;
    double skew_ppm = 0;
  };

  /// The same parts, configured alike, draw the same from the same generator.
  SimulatedChannel(const Config& config, Rng& rng);

  /// Changes the samples in place; with a clock skew there may be more or fewer of them afterwards.
  void process(std::vector<float>& samples);
  /// Samples by which the first path is later than the input.
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
