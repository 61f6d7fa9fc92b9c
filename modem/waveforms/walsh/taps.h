// SPDX-License-Identifier: Apache-2.0
// The taps of the channel at 75 bit/s: the power, the mean and the variance of each path, the
// correlations of a block with all patterns at their delays, and the metrics of the bits.
//
// The prior information about a tap from its neighbours in time, as mean and variance, decides how
// its correlations count: squared without prior information, as in fast fading, and with their
// phase otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "modem/api/port.h"
#include "modem/dsp/complex_math.h"
#include "modem/waveforms/walsh/constants.h"
#include "modem/waveforms/walsh/signal.h"

namespace s5066::modem::walsh {

class Taps {
 public:
  /// Neighbouring taps at half-symbol steps receive the same path. This is the weight of each when
  /// only its power is used. When its phase is used, the weight is the part of the band that noise
  /// fills.
  static constexpr float kSquareScale = 0.5F;

  /// The probability of each pattern.
  struct Belief {
    std::array<float, kPatterns> patterns{};
    float sureness = 0;  // sum of the squared probabilities
  };

  /// A block has `frames` frames; learn() takes at most `preamble_sets` sets.
  Taps(std::size_t frames, std::size_t preamble_sets, std::pmr::memory_resource& memory);

  std::size_t frames() const { return frames_; }
  std::size_t size() const { return taps_.size(); }
  /// Returns the place of a tap among the delays of a profile.
  std::size_t place(std::size_t tap) const {
    return static_cast<std::size_t>(taps_[tap].delay + kReach);
  }
  float noise() const { return noise_; }
  void set_noise(float noise) { noise_ = noise; }
  double doppler_hz() const { return doppler_hz_; }
  std::span<const float> llr() const { return llr_; }
  std::span<float> extrinsic() { return extrinsic_; }

  /// Chooses the taps by a profile of powers without noise, in which `sets` sets are summed.
  void choose(std::span<const float> profile, float sets);
  /// Does the same within a block. Existing taps keep their state, a new tap begins without one.
  /// `everywhere` has the correlations of the block at all delays.
  void choose_again(std::span<const float> profile, float sets,
                    std::span<const dsp::Complex> everywhere);
  /// Learns the Doppler spread and the present taps from their course through `count` known sets,
  /// whose correlations at all delays are in `sequence`.
  void learn(std::span<const dsp::Complex> sequence, std::size_t count);

  /// Stores the correlation of a frame with a pattern at a tap.
  void set_correlation(std::size_t frame, std::size_t pattern, std::size_t tap,
                       dsp::Complex value) {
    correlations_[(frame * kPatterns + pattern) * taps_.size() + tap] = value;
  }
  /// Returns how much better the patterns explain this frame than noise does, in nats.
  float evidence(std::size_t frame) const;

  void forget_means();
  void demap(bool with_code, float scale);
  Belief belief(std::size_t frame, bool with_code) const;
  void measure(bool with_code);
  void measure_noise();
  void choose_doppler();
  void predict();
  void advance();

  /// Returns the sum of the turns between neighbouring frames, weighted by power.
  dsp::Complex turn() const;
  /// Returns by how many half-symbol samples the paths moved in this block. The powers then follow
  /// those of the block by `power_gain`.
  double follow_movement(float power_gain);
  float signal_share() const;
  ChannelEstimate estimate(double offset_hz, float noise_share) const;

 private:
  struct Tap {
    int delay = 0;       // half-symbol samples from the frame's beginning
    float power = 0;     // mean of a correlation
    dsp::Complex mean;   // mean at the end of the last block
    float variance = 0;  // variance of that mean
  };
  /// A correlation is a measurement of its tap.
  struct Measurement {
    dsp::Complex value;
    float sureness = 1;  // sum of the squared probabilities of the patterns
  };

  void resize(std::size_t frames);
  std::array<float, kPatterns> metrics(std::size_t frame, float scale) const;
  float heard_power(std::size_t tap) const;
  float memory() const;
  const dsp::Complex* correlations(std::size_t frame, std::size_t pattern) const {
    return &correlations_[(frame * kPatterns + pattern) * taps_.size()];
  }

  std::size_t frames_;
  float noise_ = 1;  // variance of a correlation without its pattern
  double doppler_hz_ = 1;
  std::pmr::vector<Tap> taps_;
  std::pmr::vector<dsp::Complex> correlations_;  // correlations for each frame, pattern and tap
  std::pmr::vector<Measurement> measured_;       // measurements for each frame and tap
  std::pmr::vector<dsp::Complex> mean_;          // expected mean, for each frame and tap
  std::pmr::vector<float> variance_;             // variance of that mean
  std::pmr::vector<float> llr_;
  std::pmr::vector<float> extrinsic_;
};

}  // namespace s5066::modem::walsh
