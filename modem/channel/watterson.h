// The HF channel of C. C. Watterson (ITU-R F.1487; MIL-STD-188-110C appendix E): paths with a delay
// each, whose gains are independent complex Gaussian processes with a Gaussian Doppler spectrum.
// A path without spread is a fixed one. Real passband samples in and out; no noise: that is Awgn.
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
  double spread_hz = 0;   // two standard deviations of the Doppler power spectrum; 0: fixed
  double power = 1;       // mean; all paths together are scaled to 1
  double phase_turn = 0;  // of a fixed path
};

/// The gain of one path over time, with mean power 1. Its Doppler power spectrum is
/// exp(-2 f^2 / spread^2), so the amplitude filter is the root of that, not that itself.
class FadingGain {
 public:
  FadingGain(double spread_hz, double sample_rate, const Rng& rng);
  std::complex<float> next();

 private:
  std::complex<float> draw();
  std::complex<float> filtered() const;

  std::vector<float> shape_;
  std::vector<std::complex<float>> white_;  // a ring, newest at at_
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
    double offset_hz = 0;  // moves every frequency up
    double sample_rate = 9600;
  };
  /// Samples between input and output on a path without delay: the analytic signal needs them.
  static constexpr unsigned kDelaySamples = 63;

  Watterson(const Config& config, const Rng& rng);

  /// Changes the samples in place.
  void process(std::span<float> samples);

 private:
  struct Tap {
    unsigned delay;
    float amplitude;
    std::complex<float> fixed;
    std::vector<FadingGain> fading;  // one or none
  };
  float step(float in);
  std::complex<float> analytic() const;

  std::vector<Tap> taps_;
  std::vector<float> quadrature_;          // every second weight of the Hilbert filter
  std::vector<float> input_;               // a ring, newest at input_at_
  std::vector<std::complex<float>> line_;  // a ring of the analytic signal, newest at line_at_
  std::size_t input_at_ = 0;
  std::size_t line_at_ = 0;
  std::complex<double> turn_{1, 0};
  std::complex<double> turn_step_;
};

/// The representative channels of ITU-R F.1487 and their older names; empty when unknown.
/// "mid-disturbed" and "poor" are 2 ms and 1 Hz.
std::vector<Path> paths_by_name(std::string_view name);
std::vector<std::string_view> channel_names();

}  // namespace s5066::modem::channel
