// What each mode needs on a link beyond a table, learnt from what is seen of a few of them: a
// Kalman filter over all modes at once (R. E. Kalman, "A new approach to linear filtering and
// prediction problems", J. Basic Eng. 82, 1960), whose covariance says how far one mode speaks for
// another (as in Gaussian process regression: C. Rasmussen and C. Williams, MIT Press, 2006).
#pragma once

#include <cstddef>
#include <vector>

#include "modem/api/modes.h"

namespace s5066::dts {

/// Signal to noise in 3 kHz, white noise, at which about one bit in 10^5 goes wrong, by rate: as
/// measured of our modem (docs/measurements/modem.md) or as the standards ask.
double snr_needed_db(const modem::Mode& mode);

/// 0: a short interleaver, 1: a long one.
inline std::size_t kind(const modem::Mode& mode) {
  return mode.interleaver >= modem::Interleaver::medium ? 1 : 0;
}

/// Of the standard normal distribution.
double bell(double x);    // its density
double normal(double x);  // the share below x

/// The offsets (dB beyond `snr_needed_db`) of `modes`, by their index.
class ModeOffsets {
 public:
  explicit ModeOffsets(const std::vector<modem::Mode>& modes);

  double expected_db(std::size_t at) const { return expected_db_[at]; }
  /// Of what is expected (dB squared).
  double variance(std::size_t at) const { return covariance(at, at); }
  /// Of the mode that is most like that one.
  std::size_t nearest(const modem::Mode& mode) const;

  /// Each is expected to be that.
  void expect(double offset_db);
  /// That was seen of one mode, with an error of this variance (dB squared).
  void observe(std::size_t at, double offset_db, double variance);
  /// Only that it is below the bound, or not.
  void observe_bound(std::size_t at, double bound_db, double variance, bool below);
  /// So much of what is known wears off (0 to 1).
  void forget(double share);

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
  std::vector<double> prior_;       // the same, before anything was seen
};

}  // namespace s5066::dts
