// Receives bursts of every waveform: takes audio in, finds transmissions by their preamble, learns
// waveform, rate and interleaver from it, and reports the octets. It never needs to be told where a
// burst begins, and works on while one is being received: the next preamble replaces a lost burst.
//
// A transmission whose preamble was missed is noticed by its probes and acquired without being
// received: no octets come, no more than the waveform is known, and the end is by loss. It is told
// of a fifth of a second after it was noticed, since the preamble may be about to be read. One of
// STANAG 4539 is then received once the signs of its probes were read, which takes two to four
// seconds, as a burst of its own that replaces the other: whole octets, from the first block on
// that was heard from its beginning.
//
// A burst ends with the end-of-message mark. The user's bits may look like it: the zeros that its
// last block is filled with, and nothing or zeros behind them, tell. Where a block says enough, the
// end is told at once. What follows without a pause is listened to: zeros, and what breaks off
// within a block, belong to the burst that ended, and make neither octets nor a burst; should
// something else be decoded, the burst goes on as one of its own, without a bit lost. A preamble is
// found meanwhile as at any time.
//
// A block that ends while the signal is not heard waits, and is delivered when the signal comes
// back. Of modes with short blocks more end before a loss is certain than can wait: then all that
// wait are delivered, for in a fade they may be good, and behind the end of a burst they are noise
// of next to no quality. What still waits when the loss is certain is never delivered.
//
// Samples may come in any portions; events do not depend on how they were portioned.
//
// All memory is taken when a receiver is made: nothing below it takes any from the heap later,
// whatever it hears.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "modem/waveforms/burst_events.h"

namespace s5066::modem {

class BurstReceiver {
 public:
  struct Config {
    /// Bursts of other modes are ignored. Empty: every mode that tells itself, which STANAG 4285
    /// does not: of those the first one in the list is listened for. A preamble of 110A does not
    /// tell the zero interleaver from the short one: it is taken for zero when the list has the
    /// rate with the zero and without the short interleaver, else for short.
    std::vector<Mode> modes;
    /// Room for events nobody has polled yet, and for their octets: two minutes of the busiest
    /// mode. Beyond it the oldest are dropped and counted.
    std::size_t events_max = 1024;
    std::size_t octets_max = std::size_t{512} << 10;  // at least kOctetsLeast
  };
  /// Of what waits until a signal comes back.
  static constexpr std::size_t kOctetsLeast = std::size_t{192} << 10;
  struct Stats {
    std::uint64_t samples = 0;
    std::uint64_t samples_sanitized = 0;  // not finite, or far beyond full scale
    std::uint64_t preambles_refused = 0;  // reserved or unwanted mode, or too unclear
    std::uint64_t bursts = 0;
    std::uint64_t joined = 0;          // transmissions noticed without their preamble
    std::uint64_t blocks_unheard = 0;  // read behind the signal's loss, and not delivered
    std::uint64_t events_dropped = 0;
  };

  BurstReceiver();
  explicit BurstReceiver(const Config& config);
  ~BurstReceiver();
  BurstReceiver(BurstReceiver&&) noexcept;
  BurstReceiver& operator=(BurstReceiver&&) noexcept;

  /// From now on bursts of these modes only; one being received goes on.
  void set_modes(std::vector<Mode> modes);

  /// As if just made: the next sample is number 0. The modes stay; events that wait go.
  void restart();

  /// Real samples at kSampleRate, full scale 1; any level above the noise will do.
  void process(std::span<const float> samples);
  /// Drain after every process(). What an event points to lasts until the next one.
  std::optional<BurstEvent> poll_event();

  /// The channel is in use: a burst has been acquired and has not ended, events up to now included.
  bool busy() const;
  const Stats& stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace s5066::modem
