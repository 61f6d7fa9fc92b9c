// SPDX-License-Identifier: Apache-2.0
// The interface that a waveform implements to be sent. BurstTransmitter sends through it.
#pragma once

#include <cstdint>
#include <span>

namespace s5066::modem {

/// The mean power of the samples of a phase-shift keyed burst. It is 9 dB below full scale, which
/// is 1, so that the peaks of the filtered signal, and of two bursts with a weak overlap, stay
/// inside the range. When points of a constellation lie inside the unit circle, the data part is
/// weaker accordingly.
inline constexpr float kTransmitPower = 0.125F;

/// A modulator makes the samples of one burst, at kSampleRate. Symbol rate and carrier are its own
/// matter; SymbolModulator has those of every waveform here.
class Modulator {
 public:
  virtual ~Modulator() = default;

  virtual std::uint64_t total_samples() const = 0;
  /// Writes the samples from number `from` on, within +-1. All of them belong to the burst, and
  /// each call goes on where the one before ended.
  virtual void write(std::uint64_t from, std::span<float> out) = 0;
};

}  // namespace s5066::modem
