// SPDX-License-Identifier: Apache-2.0
// A modem with a thread of its own, as the process of a node uses it. Commands go in and events
// come out. The built-in modem (modem/worker) and a modem at the other end of a TCP connection
// (modem/remote) implement it.
#pragma once

#include <cstdint>
#include <optional>

#include "modem/api/counters.h"
#include "modem/api/port.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// The level of the received sound. It is unknown when the level cannot be adjusted, and before it
/// was measured.
enum class SoundLevel : std::uint8_t { unknown, good, silent, too_low, clipping };

struct ModemState {
  ModemCounters counters;
  ReceiverCounters receiver;  // all 0 with a remote modem
  /// The modem's device, or the host that has it, is lost: the modem receives nothing and takes no
  /// burst.
  bool down = false;
  // The level of the last seconds in which the modem did not transmit.
  SoundLevel sound_level = SoundLevel::unknown;
  double sound_level_db = 0;  // dB relative to full scale, if known
  /// The deviation of the device's clock from this machine's clock. It is absent in lockstep and in
  /// the first minutes.
  std::optional<double> clock_ppm;
};

/// While the thread runs, one other thread may call all functions except start() and stop().
class Modem {
 public:
  virtual ~Modem() = default;

  virtual Result<void> start() = 0;
  /// Ends a transmission, unkeys and joins the thread.
  virtual void stop() = 0;

  /// Never blocks. An error means that the modem did not take the command.
  virtual Result<void> request(Command command) = 0;
  /// Returns the events in order of `at`; none of them is later than now().
  virtual std::optional<Event> poll_event() = 0;
  virtual Instant now() const = 0;
  /// Returns true when the modem has stopped, or when its device did not come back.
  virtual bool finished() const = 0;
  virtual ModemState state() const = 0;

  /// Returns true when time advances only with blocks of samples, each of which waits for
  /// release().
  virtual bool lockstep() const = 0;
  /// Lockstep only: the caller has handled everything up to `until`. The modem may go on once its
  /// clock is not later than that.
  virtual void release(Instant until) = 0;
  /// Lockstep only: returns the time of day, since 1970, at which Instant{} was by the device's
  /// clock. It changes when the device was lost and came back (FaultKind::device_back).
  virtual Duration utc_began() const = 0;
};

}  // namespace s5066::modem
