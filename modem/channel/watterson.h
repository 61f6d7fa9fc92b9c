// SPDX-License-Identifier: Apache-2.0
// The HF channel model of C. C. Watterson (ITU-R F.1487; MIL-STD-188-110C appendix E). Each path
// has a delay and a gain. The gains are independent complex Gaussian processes with a Gaussian
// Doppler spectrum; a path without spread has a fixed gain. Input and output are real passband
// samples. The model adds no noise; Awgn does that.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "s5066d/base/rng.h"

namespace s5066::modem::channel {

struct Path {
  double delay_ms = 0;    // rounded to a sample
  double spread_hz = 0;   // two standard deviations of the Doppler power spectrum; 0 is fixed
  double power = 1;       // mean; the paths together are scaled to 1
  double phase_turn = 0;  // phase of a fixed path, in turns
};

/// The gain of one path over time has mean power 1. Its Doppler power spectrum is exp(-2 f^2 /
/// spread^2), so the amplitude filter is the square root of that.
class FadingGain {
 public:
  FadingGain(double spread_hz, double sample_rate, const Rng& rng);
  std::complex<float> next();

 private:
  std::complex<float> draw();
  std::complex<float> filtered() const;

  std::vector<float> shape_;
  std::vector<std::complex<float>> white_;  // a ring; the newest is at at_
  std::size_t at_ = 0;
  unsigned interval_;  // samples between two points of the process
  unsigned phase_ = 0;
  std::complex<float> from_;
  std::complex<float> to_;
  Rng rng_;
};

class Watterson {
 public:
  struct Config {
    std::vector<Path> paths = {Path{}};
    double offset_hz = 0;  // shifts every frequency up
    double sample_rate = 9600;
  };
  /// On a path without delay the output is so many samples behind the input. They are needed to
  /// compute the analytic signal.
  static constexpr unsigned kDelaySamples = 63;

  Watterson(const Config& config, const Rng& rng);

  /// This function changes the samples in place.
  void process(std::span<float> samples);

 private:
  struct Tap {
    unsigned delay;
    float amplitude;
    std::complex<float> fixed;
    std::vector<FadingGain> fading;  // one gain, or none for a fixed path
  };
  float step(float in);
  std::complex<float> analytic() const;

  std::vector<Tap> taps_;
  std::vector<float> quadrature_;  // every second weight of the Hilbert filter
  std::vector<float> input_;       // a ring; the newest is at input_at_
  // A ring of the analytic signal; the newest is at line_at_.
  std::vector<std::complex<float>> line_;
  std::size_t input_at_ = 0;
  std::size_t line_at_ = 0;
  std::complex<double> turn_{1, 0};
  std::complex<double> turn_step_;
};

/// Returns the representative channels of ITU-R F.1487, also by their older names. The result is
/// empty when the name is unknown. "mid-disturbed" and "poor" have 2 ms and 1 Hz.
std::vector<Path> paths_by_name(std::string_view name);
std::vector<std::string_view> channel_names();

}  // namespace s5066::modem::channel
