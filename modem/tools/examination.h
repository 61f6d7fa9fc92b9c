// Looks at a sound device and a key as an operator would before the first transmission: is there
// sound, how loud, how exact is the clock, does the key go up again, does a burst come back.
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
  /// Opens the device. `monotonic` is what its sample clock is compared with, and by which nothing
  /// here takes much longer than it should.
  static Result<Examination> begin(Device& device, std::function<Duration()> monotonic);

  struct Sound {
    LevelMeter::Reading level;
    std::uint64_t lost = 0;    // samples that did not come, or went out too late
    double rate_hz = 0;        // measured; 0 in lockstep, where there is no other time
    double rate_doubt_hz = 0;  // three standard errors of that
  };
  /// Lets so much sound pass unseen, in silence: some sound systems stand still for a while when
  /// they have just begun. In lockstep none.
  Result<void> settle(double seconds);
  /// `made` fills each block that is sent meanwhile, at kSampleRate; silence without it.
  Result<Sound> listen(double seconds, const std::function<void(std::span<float>)>& made = {});
  /// The same with a tone of the modem's own power, as a keyed transmitter has it.
  Result<Sound> send_tone(double seconds);

  struct Loop {
    bool heard = false;
    std::uint64_t lost = 0;        // samples, as above
    std::size_t octets = 0;        // sent
    std::size_t octets_right = 0;  // and received as they were
    float snr_db = 0;
    float offset_hz = 0;
    double round_trip_ms = 0;  // of the device: from its taking samples to its giving them back
  };
  /// Sends a burst and listens for it until three seconds behind its end. A tone fills the lead.
  Result<Loop> send_around(const Mode& mode, std::size_t octets, Duration lead = {});

  /// One block each way, at kSampleRate; what came is valid until the next.
  Result<std::span<const float>> exchange(std::span<const float> made);
  std::size_t block_samples() const { return adapter_.modem_block(); }
  /// Of what came since it was asked last.
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
  std::uint64_t taken_ = 0;  // samples of the device, the lost ones too
  bool keyed_ = false;
  std::optional<Duration> overdue_at_;  // where there is other time than the samples
};

}  // namespace s5066::modem::tools
