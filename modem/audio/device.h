// The modem worker's one interface to audio: fixed blocks of samples in and out, on one sample
// clock, with the transmitter's key beside them. Sound cards, files and the audio cable all stand
// behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// One thread owns a device; open, receive, transmit, receive, transmit, … A device that has lost
/// its hardware or peer says so in a Result and can be opened again.
class Device {
 public:
  struct Info {
    std::string name;
    unsigned rate_hz = 9600;
    /// Samples of every block, both ways; a whole number of them at 9600 samples/s as well.
    std::size_t block_samples = 192;
    /// Time is the count of samples: the other end waits for our block as long as it takes.
    bool lockstep = false;
    /// In lockstep, the time of day by the device's clock when it was opened, since 1970.
    Duration utc{};
    /// The first sample of the next block to transmit leaves this many samples after the newest
    /// received one arrived; 0 on a cable, the sum of all buffers on a sound card.
    std::size_t transmit_delay = 0;
    /// There is a level for an operator to set.
    bool has_level = false;
  };

  struct Received {
    /// Samples that were lost before this block. The clock counts them all the same.
    std::uint64_t dropped = 0;
    /// Samples of ours that came too late to be played.
    std::uint64_t underrun = 0;
    /// So many of those that transmit() is given next will not be played: their time is over.
    std::uint64_t unplayable = 0;
  };

  virtual ~Device() = default;

  /// Again after a failure. `refused` means that trying once more is useless.
  virtual Result<void> open() = 0;
  virtual void close() = 0;
  /// Final once open() has succeeded.
  virtual const Info& info() const = 0;
  /// It may be missing for now, and be plugged in at any time. Then rate, block and lockstep in
  /// info() are right before open() has succeeded.
  virtual bool may_come_later() const { return false; }

  /// Waits for the next block. `timed_out` is no failure: nothing came for a while, so that the
  /// caller can look whether it should stop. Any other error is the loss of the device.
  virtual Result<Received> receive(std::span<float> samples) = 0;
  /// Answers the block just received. `keyed`: the transmitter is on during some of these samples.
  virtual Result<void> transmit(bool keyed, std::span<const float> samples) = 0;
};

}  // namespace s5066::modem
