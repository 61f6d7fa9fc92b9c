// SPDX-License-Identifier: Apache-2.0
// The modem worker's only interface to audio. It moves fixed blocks of samples in both directions
// on one sample clock, together with the transmitter's key. Sound cards, files and the audio cable
// implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// One thread owns a device and calls open, receive, transmit, receive, transmit, … A device that
/// has lost its hardware or its peer returns an error and can be opened again.
class Device {
 public:
  struct Info {
    std::string name;
    unsigned rate_hz = 9600;
    /// Samples of every block in both directions; the block is a whole number of samples at 9600
    /// samples/s as well.
    std::size_t block_samples = 192;
    /// When true, time is the count of samples: the other end waits for our block without a limit.
    bool lockstep = false;
    /// In lockstep, the time of day by the device's clock when it was opened, since 1970.
    Duration utc{};
    /// The first sample of the next block to transmit leaves this many samples after the newest
    /// received one arrived; 0 on a cable, the sum of all buffers on a sound card.
    std::size_t transmit_delay = 0;
    /// When true, an operator can set a level.
    bool has_level = false;
  };

  struct Received {
    /// Samples that were lost before this block. The clock counts them as well.
    std::uint64_t dropped = 0;
    /// Samples of ours that came too late to be played.
    std::uint64_t underrun = 0;
    /// This many of the samples that transmit() gets next will not be played, because their time is
    /// over.
    std::uint64_t unplayable = 0;
  };

  virtual ~Device() = default;

  /// May be called again after a failure. `refused` means that another attempt is useless.
  virtual Result<void> open() = 0;
  virtual void close() = 0;
  /// The result is final once open() has succeeded.
  virtual const Info& info() const = 0;
  /// Returns true if the device may be missing now and be plugged in at any time. Then rate, block
  /// and lockstep in info() are right before open() has succeeded.
  virtual bool may_come_later() const { return false; }

  /// Waits for the next block. `timed_out` is no failure: no block came for a while, so that the
  /// caller can check whether it must stop. Any other error is the loss of the device.
  virtual Result<Received> receive(std::span<float> samples) = 0;
  /// Answers the block just received. `keyed` means that the transmitter is on during some of these
  /// samples.
  virtual Result<void> transmit(bool keyed, std::span<const float> samples) = 0;
};

}  // namespace s5066::modem
