// What the demodulators of waveforms with known symbols among the data share: the channel is
// learned once, from the preamble, and how well the known symbols are foretold tells whether the
// signal is still there.
#pragma once

#include <cstdint>
#include <optional>

#include "modem/waveforms/reception.h"

namespace s5066::modem::framed {

/// The window in which the paths of a channel are looked for, in symbols around the found position.
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
  /// How soon a signal is given up that is heard no more.
  struct Patience {
    double seconds = 1;  // over which is averaged how well known symbols fit
    /// The average is never taken for more, so that it falls as soon after a strong signal.
    float heard_max = 1;
    /// What it must fall below. Noise comes to 0.
    float lost_below = 0.12F;
  };

  /// `repeat`: half-symbol samples after which the preamble comes again; 0: never.
  ProbedDemodulator(const PreambleReading& reading, std::int64_t repeat, const Patience& patience,
                    const EndWatch::Config& end);

  /// Once, when the history holds all of the window behind the preamble.
  virtual void learn_channel(const SampleHistory& history) = 0;
  /// Gives the next block, if one is complete.
  virtual std::optional<Output> receive(const SampleHistory& history) = 0;
  /// How well known symbols were foretold, up to 1, in a frame that lasted so long and ended at
  /// that half-symbol sample.
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
  std::int64_t window_shift_ = 0;  // of row 0 against where the data begin
  Patience patience_;
  float heard_;          // how well known symbols fit, on average
  float heard_now_ = 1;  // over a tenth of a second
  std::int64_t last_heard_;
  /// Where preambles repeat: the end of the last gap in what was heard.
  std::optional<std::int64_t> gap_until_;
};

}  // namespace s5066::modem::framed
