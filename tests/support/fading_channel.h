// A fading channel for the simulated medium: the ratio of signal to noise over time, and how often
// a receiver decodes wrongly at it, by mode. Two paths fade as in modem/channel/watterson; a block
// of the interleaver has the ratio that gives white noise the same errors (exponential effective
// SNR: -b ln(mean exp(-g / b)) over the block). Requirement, slope and b of each rate are fitted to
// what the modem was measured to do; docs/measurements/adaptation.md has the fit.
#pragma once

#include <cstdint>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"

namespace s5066::sim {

/// A part of a trace.
struct FadingPart {
  Duration lasting{};
  double snr_db = 20;    // mean, in 3 kHz
  double spread_hz = 1;  // of each of the two paths
  double delay_ms = 2;   // between them
};

class FadingChannel {
 public:
  /// The parts follow each other, and begin anew after the last. The mean wanders by `wander_db`
  /// (standard deviation) within minutes.
  FadingChannel(const std::vector<FadingPart>& parts, double wander_db, Rng rng);

  /// Of a receiver that needs so much more than the measured one, and measures so much wrong.
  double needs_more_db = 0;
  double reads_more_db = 0;

  /// A preamble that begins then is found.
  bool found(const modem::Mode& mode, Instant begin) const;
  /// Bits wrong in what was sent between the two, as one block of the interleaver.
  double bit_errors(const modem::Mode& mode, Instant from, Instant to) const;
  /// Mean ratio between the two.
  double snr_db(Instant from, Instant to) const;

 private:
  struct Sample {
    float ratio;
    bool wide;  // the paths are further apart than the equaliser of the high rates reaches
  };
  const Sample& at(Instant when) const;

  std::vector<Sample> samples_;
};

}  // namespace s5066::sim
