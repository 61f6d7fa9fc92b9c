// SPDX-License-Identifier: Apache-2.0
// Follows the impulse response of a channel symbol by symbol. It is a Kalman filter whose state is
// the response at both half-symbol phases. A symbol may be known, or be a soft decision with a
// variance.
//
//   y_p[r] = sum over l of tap(p, l) x s[r - l] + noise,   p = 0, 1
//
// Taps change as first-order processes around zero with the power that the delay profile gives
// them.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

/// These are the half-symbol phases: the samples for each symbol.
inline constexpr std::size_t kPhases = 2;

class ChannelTracker {
 public:
  static constexpr std::size_t kTapsMax = 32;

  /// The profile is the mean power of each tap, the same for both phases; it has at most kTapsMax
  /// taps.
  explicit ChannelTracker(std::span<const float> profile);

  std::size_t taps() const { return count_; }
  Complex tap(std::size_t phase, std::size_t index) const {
    return {h_re_[phase][index], h_im_[phase][index]};
  }

  /// Sets the power with which the taps change from now on. Their number must stay the same.
  void set_profile(std::span<const float> profile);

  /// Time passes; `memory` is the correlation of a tap with its earlier value.
  void predict(float memory);

  /// Corrects the response by a pair of samples. `newest_first` holds s[r], s[r-1], ... and
  /// `variances` their uncertainty; `noise` is the variance of a sample. Returns the power of the
  /// prediction error relative to the expected power, which is 1 on average when the model is
  /// right.
  float update(std::span<const Complex> newest_first, std::span<const float> variances, float noise,
               std::span<const Complex, kPhases> received);

  /// Returns the samples that the response predicts for a row of symbols.
  std::array<Complex, kPhases> predicted(std::span<const Complex> newest_first) const;

  /// Corrects the response by later estimates: `later` is the best estimate one prediction with
  /// that memory later, tap l of phase p at [2 l + p] (Rauch, Tung, Striebel). The uncertainty does
  /// not change.
  void smooth(std::span<const Complex> later, float memory);

  /// Tap l of phase p goes to [2 l + p].
  void response(std::span<Complex> out) const;
  /// Returns the sum over the taps of the variance of their errors.
  float uncertainty() const;

  /// Moves the window by one symbol: later when the energy moves to later taps.
  void shift_later();
  void shift_earlier();

  float energy() const;

 private:
  using Row = std::array<float, kTapsMax>;
  using Matrix = std::array<Row, kTapsMax>;
  void factor_prediction(float memory, Matrix& re, Matrix& im) const;
  void clear_tap(std::size_t index, float variance);

  std::size_t count_;
  float noise_min_ = 0;
  alignas(32) Row profile_{};
  alignas(32) std::array<Row, kPhases> h_re_{};
  alignas(32) std::array<Row, kPhases> h_im_{};
  alignas(32) Matrix p_re_{};  // error covariance, the same for both phases
  alignas(32) Matrix p_im_{};
};

}  // namespace s5066::modem::dsp
