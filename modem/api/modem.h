// A modem with a thread of its own, as a node's process holds it: commands in, events out. The
// built-in one (modem/worker) and one at the other end of a TCP connection (modem/remote) are such.
#pragma once

#include <cstdint>
#include <optional>

#include "modem/api/port.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// Of received sound; unknown where nobody can set it, and before it was measured.
enum class SoundLevel : std::uint8_t { unknown, good, silent, too_low, clipping };

struct ModemStats {
  std::uint64_t blocks = 0;
  std::uint64_t samples_dropped = 0;
  std::uint64_t samples_underrun = 0;
  std::uint64_t events_lost = 0;
  std::uint64_t commands_refused = 0;
  std::uint64_t device_losses = 0;
  /// Its device, or the host that has it, is lost: nothing is heard, and no burst taken.
  bool down = false;
  std::uint64_t ptt_failures = 0;
  std::uint64_t watchdog_trips = 0;
  SoundLevel sound_level = SoundLevel::unknown;  // of the last seconds while not transmitting
  double sound_level_db = 0;                     // of full scale, if known
  std::uint64_t samples_clipped = 0;
  /// The device's clock, of this machine's; none in lockstep, and in the first minutes.
  std::optional<double> clock_ppm;
};

/// All but start() and stop() may be called while its thread runs, from one other thread.
class Modem {
 public:
  virtual ~Modem() = default;

  virtual Result<void> start() = 0;
  /// Ends a transmission, unkeys, joins the thread.
  virtual void stop() = 0;

  /// Never blocks; an error says that the command was not taken.
  virtual Result<void> request(Command command) = 0;
  /// Events in order of `at`, none of them later than now().
  virtual std::optional<Event> poll_event() = 0;
  virtual Instant now() const = 0;
  /// It has stopped, or its device did not come back.
  virtual bool finished() const = 0;
  virtual ModemStats stats() const = 0;

  /// Time passes only as blocks of samples do, and each waits for release().
  virtual bool lockstep() const = 0;
  /// Lockstep only: everything up to `until` is handled, so the modem may go on once its clock is
  /// not later than that.
  virtual void release(Instant until) = 0;
  /// Lockstep only: the time of day that Instant{} is by the device's clock, since 1970. Another
  /// one when the device was lost and came back: FaultKind::device_back.
  virtual Duration utc_began() const = 0;
};

}  // namespace s5066::modem
