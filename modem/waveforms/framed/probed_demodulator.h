// SPDX-License-Identifier: Apache-2.0
// The common part of demodulators of waveforms with known symbols among the data. The channel is
// learned once, from the preamble. The agreement of the known symbols with their prediction shows
// whether the signal is still received.
#pragma once

#include <cstdint>
#include <optional>

#include "modem/waveforms/reception.h"

namespace s5066::modem::framed {

/// The paths of a channel are searched in this window, in symbols around the found position.
inline constexpr int kWindowBefore = 14;
inline constexpr unsigned kWindowTaps = 44;

class ProbedDemodulator : public Demodulator {
 public:
  std::optional<Output> advance(const SampleHistory& history) final;
  bool lost() const final;
  bool healthy() const final;
  bool covers(const PreambleReading& reading) const final;
  const Mode& mode() const final { return reading_.mode; }
  double first_path_start() const final { return first_path_start_; }
  std::int64_t last_heard() const final { return last_heard_; }
  const std::optional<Ending>& ending() const final { return end_.ending(); }

 protected:
  /// This struct sets how soon a signal that is no longer received is given up.
  struct Patience {
    double seconds = 1;  // time over which the fit of known symbols is averaged
    /// The average is limited to this, so that it falls as soon after a strong signal.
    float heard_max = 1;
    /// The signal is lost below this average. Noise gives 0.
    float lost_below = 0.12F;
  };

  /// `repeat` is the number of half-symbol samples after which the preamble is repeated; 0 means
  /// never.
  ProbedDemodulator(const PreambleReading& reading, std::int64_t repeat, const Patience& patience,
                    const EndWatch::Config& end);

  /// Is called once, when the history holds all of the window behind the preamble.
  virtual void learn_channel(const SampleHistory& history) = 0;
  /// Returns the next block, if one is complete.
  virtual std::optional<Output> receive(const SampleHistory& history) = 0;
  /// `fit` is the agreement of the known symbols with their prediction, up to 1, in a frame of that
  /// duration which ended at that half-symbol sample.
  void judge(float fit, double frame_seconds, std::int64_t end);

  PreambleReading reading_;
  std::int64_t origin_ = 0;  // half-symbol sample of row 0 of the next frame
  double offset_hz_;
  double carrier_turn_ = 0;  // turns of the carrier's offset up to carrier_at_
  std::int64_t carrier_at_ = 0;
  double first_path_start_;
  EndWatch end_;

 private:
  std::int64_t repeat_;
  bool learned_ = false;
  std::int64_t window_shift_ = 0;  // samples from the beginning of the data to row 0
  Patience patience_;
  float heard_;          // mean fit of known symbols
  float heard_now_ = 1;  // mean over 0.1 s
  std::int64_t last_heard_;
  /// The end of the last gap in the received signal, if the preambles are repeated.
  std::optional<std::int64_t> gap_until_;
};

}  // namespace s5066::modem::framed
