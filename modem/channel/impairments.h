// SPDX-License-Identifier: Apache-2.0
// Impairments of a radio path besides noise and fading: the filters of single-sideband radios,
// sound cards with different clocks, and impulse noise (static). Samples are real. Each class keeps
// its state between calls.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::channel {

/// The pass band of a radio, with linear phase. It is flat to 0.1 dB, and 40 dB down at 200 Hz
/// outside the band.
class RigFilter {
 public:
  struct Config {
    double low_hz = 300;
    double high_hz = 3000;
    double sample_rate = 9600;
  };
  /// The output is so many samples behind the input.
  static constexpr std::size_t kDelaySamples = 96;

  explicit RigFilter(const Config& config);
  /// This function changes the samples in place.
  void process(std::span<float> samples);

 private:
  std::vector<float> taps_;
  std::vector<float> line_;
};

/// The receiver's clock is `ppm` parts in a million faster than the sender's, so that more samples
/// come out than went in. Below 3.6 kHz at 9600 samples/s the error is 50 dB down.
class ClockSkew {
 public:
  explicit ClockSkew(double ppm);
  /// Appends the output for the samples.
  void process(std::span<const float> in, std::vector<float>& out);

 private:
  double step_;
  double at_;  // position of the next output in the line
  std::vector<float> line_;
};

/// This class adds bursts of white noise at random times.
class ImpulseNoise {
 public:
  struct Config {
    double per_second = 1;
    double mean_length_s = 0.005;
    double deviation = 1;  // standard deviation of the samples within a burst
    double sample_rate = 9600;
  };
  ImpulseNoise(const Config& config, const Rng& rng) : config_(config), rng_(rng) {}
  /// This function adds the noise in place.
  void process(std::span<float> samples);

 private:
  Config config_;
  Rng rng_;
  bool crashing_ = false;
};

}  // namespace s5066::modem::channel
