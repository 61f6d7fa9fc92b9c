// SPDX-License-Identifier: Apache-2.0
// Estimates how far the SNR that each mode needs on a link differs from the table, from
// observations of a few modes. It is a Kalman filter over all modes at once (R. E. Kalman, "A new
// approach to linear filtering and prediction problems", J. Basic Eng. 82, 1960). Its covariance
// tells how much an observation of one mode says about another (as in Gaussian process regression:
// C. Rasmussen and C. Williams, MIT Press, 2006).
#pragma once

#include <cstddef>
#include <vector>

#include "modem/api/modes.h"

namespace s5066::dts {

/// Returns the SNR (dB in 3 kHz, white noise) from which hardly a block is lost, by waveform and
/// rate. The values are measured with our modem (docs/measurements/modem.md) or those that the
/// standards require.
double snr_needed_db(const modem::Mode& mode);

/// Returns 0 for a short interleaver and 1 for a long one.
inline std::size_t kind(const modem::Mode& mode) {
  return mode.interleaver >= modem::Interleaver::medium ? 1 : 0;
}

/// The standard normal distribution:
double bell(double x);    // its density
double normal(double x);  // the probability of a value below x

/// The SNR offsets (dB beyond `snr_needed_db`) of `modes`, by their index.
class ModeOffsets {
 public:
  explicit ModeOffsets(const std::vector<modem::Mode>& modes);

  double expected_db(std::size_t at) const { return expected_db_[at]; }
  /// Returns the variance of the expected offset (dB squared).
  double variance(std::size_t at) const { return covariance(at, at); }
  /// Returns the index of the mode most like `mode`.
  std::size_t nearest(const modem::Mode& mode) const;

  /// Sets the expected offset of every mode.
  void expect(double offset_db);
  /// Takes an observed offset of one mode with an error of this variance (dB squared).
  void observe(std::size_t at, double offset_db, double variance);
  /// Takes the observation that the offset of one mode is below the bound, or is not.
  void observe_bound(std::size_t at, double bound_db, double variance, bool below);
  /// Loses this share (0 to 1) of what was learnt.
  void forget(double share);
  /// Sets how steady the channel is: 0 if it fades, 1 if all blocks have the same SNR. On a steady
  /// channel each mode needs less, and the offsets differ less from link to link.
  void set_steadiness(double steadiness);

 private:
  double& covariance(std::size_t a, std::size_t b) { return covariance_[a * modes_.size() + b]; }
  double covariance(std::size_t a, std::size_t b) const {
    return covariance_[a * modes_.size() + b];
  }
  double prior(std::size_t a, std::size_t b) const;
  void move(std::size_t at, double by, double shrink);

  std::vector<modem::Mode> modes_;
  std::vector<double> expected_db_;
  std::vector<double> covariance_;  // row by row
  std::vector<double> prior_;       // the covariance before any observation
  double steadiness_ = 0;
};

}  // namespace s5066::dts
