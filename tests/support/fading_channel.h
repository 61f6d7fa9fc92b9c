// SPDX-License-Identifier: Apache-2.0
// A fading channel for the simulated medium: it gives the signal-to-noise ratio over time, and the
// error rate of a receiver at it, by mode. Two paths fade as in modem/channel/watterson. A block of
// the interleaver has the ratio that gives the same errors in white noise (exponential effective
// SNR: -b ln(mean exp(-g / b)) over the block). Requirement, slope and b of each rate are fitted to
// measurements of the modem; docs/measurements/adaptation.md has the fit.
#pragma once

#include <cstdint>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"

namespace s5066::sim {

/// One part of a channel's trace over time.
struct FadingPart {
  Duration lasting{};
  double snr_db = 20;    // mean, in 3 kHz
  double spread_hz = 1;  // Doppler spread of each of the two paths
  double delay_ms = 2;   // between the paths
};

class FadingChannel {
 public:
  /// The parts follow each other and repeat after the last. The mean ratio wanders by `wander_db`
  /// (standard deviation) within minutes.
  FadingChannel(const std::vector<FadingPart>& parts, double wander_db, Rng rng);

  /// A receiver worse than the measured one: it needs this much more ratio, and reads the ratio
  /// this much too high.
  double needs_more_db = 0;
  double reads_more_db = 0;

  /// True if the receiver finds a preamble that begins at `begin`.
  bool found(const modem::Mode& mode, Instant begin) const;
  /// Returns the bit error rate of data sent between the two instants as one block of the
  /// interleaver.
  double bit_errors(const modem::Mode& mode, Instant from, Instant to) const;
  /// Returns the mean ratio between the two instants.
  double snr_db(Instant from, Instant to) const;

 private:
  struct Sample {
    float ratio;
    bool wide;  // the delay is too long for the equaliser of the high rates
  };
  const Sample& at(Instant when) const;

  std::vector<Sample> samples_;
};

}  // namespace s5066::sim
