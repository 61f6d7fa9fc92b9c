// SPDX-License-Identifier: Apache-2.0
// Receives bursts of every waveform. The receiver takes audio, finds transmissions by their
// preamble, reads waveform, rate and interleaver from that, and reports the octets. It needs no
// information about the start of a burst. It also searches while a burst is being received, so that
// the next preamble replaces a lost burst.
//
// A transmission whose preamble was missed is noticed by its probes. It is acquired but not
// received: no octets come, only the waveform is known, and the end is by loss. It is reported 0.2
// s after it was noticed, because the preamble may be about to be read. The exception is STANAG
// 4539: once the signs of its probes were read, which takes 2 s to 4 s, it is received as a burst
// of its own that replaces the first one. Its whole octets come from the first block that was
// received from its beginning.
//
// A burst ends with the end-of-message mark. The user's bits may look like the mark, so the zeros
// behind it in the last block, and silence or zeros behind that, decide. When a block is sufficient
// evidence, the end is reported at once. The receiver then goes on with what follows without a
// pause. Zeros, and a signal that stops within a block, belong to the burst that ended and give
// neither octets nor a burst. When anything else is decoded, the burst goes on as a burst of its
// own without losing a bit. A preamble is found meanwhile as at any time.
//
// A block that ends while the signal is not received waits, and is delivered when the signal comes
// back. With short blocks, more of them may end before a loss is certain than can wait. Then all
// waiting blocks are delivered, because in a fade they may be good, and behind the end of a burst
// they are noise of almost no quality. A block that still waits when the loss is certain is never
// delivered.
//
// Samples may come in any portions; events do not depend on the portions.
//
// All memory is allocated when a receiver is made. After that it allocates nothing from the heap,
// whatever it receives.
// whatever it receives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "modem/api/counters.h"
#include "modem/waveforms/burst_events.h"

namespace s5066::modem {

class BurstReceiver {
 public:
  struct Config {
    /// Bursts of other modes are ignored. When empty, every mode that announces itself is received.
    /// STANAG 4285 does not, so only the first of its modes in the list is received. A preamble of
    /// 110A does not separate the zero interleaver from the short one. It counts as zero if the
    /// list has the rate with the zero and without the short interleaver, and as short otherwise.
    std::vector<Mode> modes;
    /// The room for events that nobody has polled, and for their octets, is enough for two minutes
    /// of the fastest mode. Beyond it the oldest are dropped and counted.
    std::size_t events_max = 1024;
    std::size_t octets_max = std::size_t{512} << 10;  // at least kOctetsLeast
  };
  /// This is the size needed by the blocks that wait for a signal to come back.
  static constexpr std::size_t kOctetsLeast = std::size_t{192} << 10;

  BurstReceiver();
  explicit BurstReceiver(const Config& config);
  ~BurstReceiver();
  BurstReceiver(BurstReceiver&&) noexcept;
  BurstReceiver& operator=(BurstReceiver&&) noexcept;

  /// Only bursts of these modes are received from now on. A burst that is being received goes on.
  void set_modes(std::vector<Mode> modes);

  /// Sets the initial state: the next sample is number 0. The modes stay, and waiting events are
  /// dropped.
  void restart();

  /// Takes real samples at kSampleRate with full scale 1. Any level above the noise is sufficient.
  void process(std::span<const float> samples);
  /// The caller must read all events after every process(). Data of an event are valid until the
  /// next process().
  std::optional<BurstEvent> poll_event();

  /// Returns true while the channel is in use: a burst has been acquired and has not ended, by all
  /// events up to now.
  bool busy() const;
  /// Counts since the construction; restart() keeps them.
  const ReceiverCounters& counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace s5066::modem
