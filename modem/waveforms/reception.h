// SPDX-License-Identifier: Apache-2.0
// The parts that the receivers of all waveforms share: the samples, and the two interfaces that a
// waveform implements. A listener runs all the time and finds transmissions. A demodulator receives
// the transmission that was found. BurstReceiver combines them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "modem/api/port.h"
#include "modem/dsp/complex_math.h"
#include "modem/dsp/history.h"
#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/message/end_watch.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// Complex samples at half-symbol steps, as the Downconverter makes them.
using SampleHistory = dsp::History<dsp::Complex>;
inline constexpr double kHalfSymbolRate = 4800;
/// Samples are processed in portions of this size, 10 ms. Every decision is aligned to them.
inline constexpr std::size_t kHop = 48;

/// The content of a preamble.
struct PreambleReading {
  Mode mode;
  std::int64_t data_start = 0;  // half-symbol sample, by the path that the search found
  double offset_hz = 0;
  float snr_db = 0;         // dB in 3 kHz
  float strength = 0;       // coherent part of the received power, 0 to 1
  unsigned constraint = 7;  // constraint length of the code
  // The reading lies in the middle of a transmission, whose data go on at data_start.
  bool late = false;
  /// For a late reading: reception begins this many half-symbol samples before data_start, which
  /// may lie in the future, with frame `first_frame` of a cycle.
  std::int64_t lead = 0;
  unsigned first_frame = 0;
  /// For a preamble that comes with every frame: it also came before data_start.
  bool begun_before = false;
  unsigned repeats = 1;  // least number of preambles that were sent from the one read
  /// For a preamble that repeats its content: the half-symbol samples between two of them (0 if it
  /// does not repeat), the place that was read last, and how much more likely this reading is than
  /// any other, as a log-likelihood.
  std::int64_t period = 0;
  std::int64_t at = 0;
  float sureness = 0;
};

/// Returns the soft quality of a block (see ReceivedBytes). `signal_share` is the share of the
/// signal in the decoder's input, and `wrong_share` is the share of bits that are probably wrong in
/// its output. The quality is 0 when every second octet would be wrong.
inline float soft_quality(float signal_share, float wrong_share) {
  return std::max(0.0F, std::min(signal_share, 1 - 16 * wrong_share));
}

/// A demodulator receives the data part of one burst.
class Demodulator {
 public:
  struct Output {
    ByteSpan bytes;               // valid until the next advance()
    std::uint64_t first_bit = 0;  // first bit of these octets, counted from the start of the data
    float soft_quality = 0;       // 0 useless .. 1 noise-free; see ReceivedBytes
    ChannelEstimate channel;      // response of the channel in this block
    // The block has more octets, which the next advance() returns.
    bool more = false;
  };

  virtual ~Demodulator() = default;

  /// Receives all samples in the history. Returns the next block if one is complete. It must be
  /// called until there is none.
  virtual std::optional<Output> advance(const SampleHistory& history) = 0;
  /// Returns the end of the transmission if the last mark that was found is the end of the message.
  /// It becomes empty when the mark proves to be the user's; then the octets from it on follow.
  virtual const std::optional<Ending>& ending() const = 0;

  /// Returns true if the signal has not been received for a while.
  virtual bool lost() const = 0;
  /// Returns true if the signal is received at this moment.
  virtual bool healthy() const = 0;
  /// Returns true if the preamble belongs to this burst.
  virtual bool covers(const PreambleReading& reading) const = 0;

  virtual const Mode& mode() const = 0;
  /// Returns the half-symbol sample at which the data begin by the first path, to a fraction of a
  /// sample, once the channel is known.
  virtual double first_path_start() const = 0;
  /// Returns the half-symbol sample up to which the signal was received.
  virtual std::int64_t last_heard() const = 0;
};

/// The repeated parts in the transmissions of a waveform, or of those of its modes that look alike.
struct TrafficPattern {
  static constexpr std::size_t kChipsMax = 32;
  /// A part has at most kChipsMax known symbols; only their phase differences matter.
  struct Part {
    std::size_t start = 0;  // place in the cycle, in symbols
    std::vector<dsp::Complex> chips;
  };

  Mode mode;                  // represents all modes that look alike
  std::size_t cycle = 0;      // symbols after which the parts repeat
  unsigned alternatives = 1;  // number of parts for each place, of which one is sent
  double memory_s = 0.5;      // time over which sums are taken
  // A sum counts as certain above this many standard deviations of a sum in noise.
  float enough = 11;
  std::vector<Part> parts;
};

/// A transmission on the air that was noticed by its repeated parts.
struct Traffic {
  Mode mode;                     // represents all modes that look alike
  float offset_hz = 0;           // exact to 25 Hz
  std::int64_t cycle_start = 0;  // half-symbol sample; other cycles are whole cycles away
};

/// A listener looks for the preambles of one waveform.
class PreambleListener {
 public:
  virtual ~PreambleListener() = default;

  /// Sets the wanted modes; an empty list means all that announce themselves.
  virtual void set_modes(std::span<const Mode> modes) { static_cast<void>(modes); }
  /// Processes the last kHop samples of the history. Returns a reading once it is certain.
  virtual std::optional<PreambleReading> advance(const SampleHistory& history) = 0;
  /// Sets the state from before the first sample; the modes stay.
  virtual void restart() = 0;
  /// The burst that was being received is over, so its parts no longer count.
  virtual void forget() {}
  /// Tells that no other burst began before that half-symbol sample.
  virtual void begin_at(std::int64_t sample) { static_cast<void>(sample); }
  /// Returns the number of preambles that were found and not understood, because they were reserved
  /// or too uncertain.
  virtual std::uint64_t refused() const = 0;
  /// Returns what can be read by now of a transmission that was noticed without its preamble.
  virtual std::optional<PreambleReading> enter(const SampleHistory& history,
                                               const Traffic& traffic) {
    static_cast<void>(history);
    static_cast<void>(traffic);
    return std::nullopt;
  }
  virtual InMemory<Demodulator> demodulator(const PreambleReading& reading,
                                            BurstMemory& memory) const = 0;
  /// Returns the patterns that show a transmission whose preamble was missed.
  virtual std::vector<TrafficPattern> traffic() const = 0;
};

}  // namespace s5066::modem
