// What a radio path adds to noise and fading: the filters of the single-sideband radios, sound
// cards whose clocks differ, and static that comes in crashes. Real samples; each keeps its state
// from portion to portion.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::channel {

/// Pass band of a radio, linear in phase: flat within it to a tenth of a decibel, 40 dB down 200 Hz
/// outside.
class RigFilter {
 public:
  struct Config {
    double low_hz = 300;
    double high_hz = 3000;
    double sample_rate = 9600;
  };
  /// Samples between input and output.
  static constexpr std::size_t kDelaySamples = 96;

  explicit RigFilter(const Config& config);
  /// Changes the samples in place.
  void process(std::span<float> samples);

 private:
  std::vector<float> taps_;
  std::vector<float> line_;
};

/// The receiver's clock runs faster than the sender's by so many parts in a million: more samples
/// come out than went in. Below 3.6 kHz of 9600/s the error stays 50 dB down.
class ClockSkew {
 public:
  explicit ClockSkew(double ppm);
  /// Appends what the samples yield.
  void process(std::span<const float> in, std::vector<float>& out);

 private:
  double step_;
  double at_;  // of the next output, in the line
  std::vector<float> line_;
};

/// Crashes of white noise at random times.
class ImpulseNoise {
 public:
  struct Config {
    double per_second = 1;
    double mean_length_s = 0.005;
    double deviation = 1;  // of the samples within a crash
    double sample_rate = 9600;
  };
  ImpulseNoise(const Config& config, const Rng& rng) : config_(config), rng_(rng) {}
  /// Adds noise in place.
  void process(std::span<float> samples);

 private:
  Config config_;
  Rng rng_;
  bool crashing_ = false;
};

}  // namespace s5066::modem::channel
