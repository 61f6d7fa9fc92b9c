// SPDX-License-Identifier: Apache-2.0
// Chooses which of the two channels of a stereo input is heard: a radio is often wired to one of
// them only. The thread of the card measures, the owner of the device decides.
#pragma once

#include <array>
#include <atomic>
#include <cmath>

namespace s5066::modem {

class ChannelChoice {
 public:
  static constexpr unsigned kChannels = 2;
  /// Smaller samples are no sound; -60 dB of full scale.
  static constexpr float kSoundMin = 0.001F;
  /// The other channel is taken if its peak is so many times that of the one that is heard (20 dB):
  /// noise of an open input must not keep the modem from a radio that was silent for a while.
  static constexpr float kLouderBy = 10;

  /// Hears this channel, 0 or 1, from now on.
  void hear(unsigned channel) { heard_.store(channel, std::memory_order_relaxed); }
  unsigned heard() const { return heard_.load(std::memory_order_relaxed); }
  /// A sample of that channel has come.
  void add(unsigned channel, float sample) {
    auto& peak = peaks_[channel];
    if (std::abs(sample) > peak.load(std::memory_order_relaxed)) {
      peak.store(std::abs(sample), std::memory_order_relaxed);
    }
  }
  /// Decides by what has come since the last call.
  void decide() {
    const std::array peaks = {peaks_[0].exchange(0), peaks_[1].exchange(0)};
    const unsigned now = heard();
    const float other = peaks[1 - now];
    if (other >= kSoundMin && other > kLouderBy * peaks[now]) hear(1 - now);
  }

 private:
  std::atomic<unsigned> heard_{0};
  std::array<std::atomic<float>, kChannels> peaks_{};
};

}  // namespace s5066::modem
