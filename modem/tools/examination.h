// SPDX-License-Identifier: Apache-2.0
// Tests a sound device and a key as an operator would before the first transmission: whether there
// is sound, its level, the accuracy of the clock, whether the key goes up again, and whether a
// burst comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modem/api/modes.h"
#include "modem/audio/device.h"
#include "modem/audio/level_meter.h"
#include "modem/worker/rate_adapter.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem::tools {

class Examination {
 public:
  /// Opens the device. Its sample clock is compared with `monotonic`, which also limits the time of
  /// each step.
  static Result<Examination> begin(Device& device, std::function<Duration()> monotonic);

  struct Sound {
    LevelMeter::Reading level;
    std::uint64_t lost = 0;    // samples that did not come or were sent too late
    double rate_hz = 0;        // measured; 0 in lockstep, which has no other time
    double rate_doubt_hz = 0;  // three standard errors of the rate
  };
  /// Ignores the sound of this time and sends silence, because some sound systems stand still for a
  /// while after their start. In lockstep it does nothing.
  Result<void> settle(double seconds);
  /// `made` fills each block that is sent meanwhile, at kSampleRate; without it silence is sent.
  /// The step ends when it returns false.
  Result<Sound> listen(double seconds, const std::function<bool(std::span<float>)>& made = {});
  /// Does the same with a tone, as a keyed transmitter sends it. `level_db` is asked at each block
  /// for its level relative to the power of bursts, and ends the tone by returning nothing. Without
  /// it the level is 0 dB.
  Result<Sound> send_tone(double seconds,
                          const std::function<std::optional<double>()>& level_db = {});

  struct Loop {
    bool heard = false;
    std::uint64_t lost = 0;        // samples, as in Sound
    std::size_t octets = 0;        // octets that were sent
    std::size_t octets_right = 0;  // octets that were received without an error
    float snr_db = 0;
    float offset_hz = 0;
    double round_trip_ms = 0;  // delay of the device, from taking samples to delivering them
  };
  /// Sends a burst and listens for it until 3 s behind its end. A tone fills the lead.
  Result<Loop> send_around(const Mode& mode, std::size_t octets, Duration lead = {});

  /// Exchanges one block in each direction, at kSampleRate. The received one is valid until the
  /// next call.
  Result<std::span<const float>> exchange(std::span<const float> made);
  std::size_t block_samples() const { return adapter_.modem_block(); }
  /// Returns the level since the last call.
  LevelMeter::Reading take_level() { return meter_.take(); }

 private:
  void begin_exchanges(double seconds);
  Examination(Device& device, std::function<Duration()> monotonic, RateAdapter adapter);

  Device* device_;
  std::function<Duration()> monotonic_;
  RateAdapter adapter_;
  std::vector<float> received_;
  std::vector<float> to_send_;
  LevelMeter meter_;
  std::uint64_t lost_ = 0;
  std::uint64_t taken_ = 0;  // samples of the device, including lost ones
  bool keyed_ = false;
  std::optional<Duration> overdue_at_;  // set when time is not that of the samples
};

}  // namespace s5066::modem::tools
