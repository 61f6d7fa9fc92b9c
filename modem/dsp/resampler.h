// SPDX-License-Identifier: Apache-2.0
// Changes the rate of a stream of real samples by the exact ratio of two whole numbers, for sound
// cards whose rate is not the modem's. The output never gains or loses a sample, however long it
// runs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace s5066::modem::dsp {

class Resampler {
 public:
  struct Config {
    unsigned rate_in = 48000;
    unsigned rate_out = 9600;
    float stopband_db = 60;  // attenuation of aliases
  };

  explicit Resampler(const Config& config);
  ~Resampler();
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;

  /// This function appends the output for the samples; the rest comes out with later ones. When the
  /// rates are related as P to Q in lowest terms, each Q samples yield P.
  void process(std::span<const float> in, std::vector<float>& out);
  /// Returns the delay of a sample in output samples, when input comes in multiples of Q. Otherwise
  /// the delay is up to Q more.
  double delay() const;
  /// This many zeros push out the samples that have not come out yet.
  std::size_t zeros_to_drain() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace s5066::modem::dsp
