// What the receivers of all waveforms share: the samples they look at, and the two parts that a
// waveform brings along. A listener runs all the time and finds transmissions; a demodulator
// receives the one that was found. BurstReceiver puts them together.
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
/// Samples are taken in portions of this size, on which every decision is aligned: 10 ms.
inline constexpr std::size_t kHop = 48;

/// What a preamble said.
struct PreambleReading {
  Mode mode;
  std::int64_t data_start = 0;  // half-symbol sample, by the path the search locked to
  double offset_hz = 0;
  float snr_db = 0;         // in 3 kHz
  float strength = 0;       // coherent part of the received power, 0 to 1
  unsigned constraint = 7;  // constraint length of the code
  bool late = false;        // in the middle of a transmission, whose data go on at data_start
  /// Of a late one: reception begins so many half-symbol samples before data_start, which may be
  /// yet to come, with that frame of a cycle.
  std::int64_t lead = 0;
  unsigned first_frame = 0;
  /// Of a preamble that comes again with every frame: it did before data_start, too.
  bool begun_before = false;
  unsigned repeats = 1;  // times that the preamble was sent from what was read on, at least
  /// Of a preamble that says the same over and over: after how many half-symbol samples it does (0:
  /// it does not), the place that was read last, and how much likelier this reading is than any
  /// other, as a log-likelihood.
  std::int64_t period = 0;
  std::int64_t at = 0;
  float sureness = 0;
};

/// The soft quality of a block (see ReceivedBytes) by the share of signal in what its decoder was
/// given, and by the share of bits that are probably wrong in what it made of that: where each
/// second octet would be, none is left.
inline float soft_quality(float signal_share, float wrong_share) {
  return std::max(0.0F, std::min(signal_share, 1 - 16 * wrong_share));
}

/// Receives the data part of one burst.
class Demodulator {
 public:
  struct Output {
    ByteSpan bytes;               // until the next advance()
    std::uint64_t first_bit = 0;  // of these octets, counted from the start of the data
    float soft_quality = 0;       // 0 useless .. 1 noise-free; see ReceivedBytes
    ChannelEstimate channel;      // in this block
    bool more = false;            // of the octets that it brought; the next advance() has them
  };

  virtual ~Demodulator() = default;

  /// Receives what the history holds by now; gives the next block, if one is complete. Call until
  /// there is none.
  virtual std::optional<Output> advance(const SampleHistory& history) = 0;
  /// Where the transmission ends if the last mark that was found is the end of the message. None
  /// any more once it proved to be the user's: the octets from it on come then.
  virtual const std::optional<Ending>& ending() const = 0;

  /// The signal has not been heard for a while.
  virtual bool lost() const = 0;
  /// The signal is there at this moment.
  virtual bool healthy() const = 0;
  /// That preamble belongs to this very burst.
  virtual bool covers(const PreambleReading& reading) const = 0;

  virtual const Mode& mode() const = 0;
  /// Half-symbol sample of the data's beginning by the first path, to a fraction of a sample, once
  /// the channel has been learned.
  virtual double first_path_start() const = 0;
  /// Half-symbol sample up to which the signal was heard.
  virtual std::int64_t last_heard() const = 0;
};

/// What repeats in the transmissions of a waveform, or of those of its modes that look alike.
struct TrafficPattern {
  static constexpr std::size_t kChipsMax = 32;
  /// Known symbols, at most kChipsMax; only their differences in phase count.
  struct Part {
    std::size_t start = 0;  // in the cycle, symbols
    std::vector<dsp::Complex> chips;
  };

  Mode mode;                  // stands for all that look alike
  std::size_t cycle = 0;      // symbols after which the parts come again
  unsigned alternatives = 1;  // so many parts stand at each place, of which one is sent
  double memory_s = 0.5;      // over which sums are taken
  float enough = 11;          // standard deviations of a sum in noise that are enough to be sure
  std::vector<Part> parts;
};

/// A transmission on the air, noticed by what repeats in it.
struct Traffic {
  Mode mode;                     // stands for all that look alike
  float offset_hz = 0;           // to 25 Hz
  std::int64_t cycle_start = 0;  // half-symbol sample; others are whole cycles away
};

/// Looks for the preambles of one waveform.
class PreambleListener {
 public:
  virtual ~PreambleListener() = default;

  /// The modes that are wanted; none: all that tell themselves apart.
  virtual void set_modes(std::span<const Mode> modes) { static_cast<void>(modes); }
  /// Takes note of the last kHop samples of the history. A reading comes out once it is certain.
  virtual std::optional<PreambleReading> advance(const SampleHistory& history) = 0;
  /// As if nothing had been heard, and no sample had come; the modes stay.
  virtual void restart() = 0;
  /// The burst that was being received is over; what was heard of it counts no more.
  virtual void forget() {}
  /// No other burst began before that half-symbol sample.
  virtual void begin_at(std::int64_t sample) { static_cast<void>(sample); }
  /// Preambles that were found and then not understood: reserved, or too unclear.
  virtual std::uint64_t refused() const = 0;
  /// What can be read by now of a transmission that was noticed without its preamble.
  virtual std::optional<PreambleReading> enter(const SampleHistory& history,
                                               const Traffic& traffic) {
    static_cast<void>(history);
    static_cast<void>(traffic);
    return std::nullopt;
  }
  virtual InMemory<Demodulator> demodulator(const PreambleReading& reading,
                                            BurstMemory& memory) const = 0;
  /// What shows that a transmission is on the air whose preamble was missed.
  virtual std::vector<TrafficPattern> traffic() const = 0;
};

}  // namespace s5066::modem
