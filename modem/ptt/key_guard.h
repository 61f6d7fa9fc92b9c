// When a transmitter has to be unkeyed by force: it was keyed longer than it may be, or whoever
// keyed it has shown no sign of life. Decides only; KeyWatchdog is the thread that acts. Times are
// those of any monotonic clock.
#pragma once

#include <cstdint>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066::modem {

enum class KeyTrip : std::uint8_t { too_long, owner_hangs };

class KeyGuard {
 public:
  struct Config {
    Duration hang_max = std::chrono::seconds(3);       // without a sign of life while keyed
    Duration repeat = std::chrono::milliseconds(500);  // of unkeying, until the owner has unkeyed
  };

  explicit KeyGuard(const Config& config) : config_(config) {}

  /// The owner is about to key, for `keyed_max` at most.
  void on_keying(Duration now, Duration keyed_max);
  /// While keyed: another burst has begun behind one that was sent in time, and has a limit of its
  /// own.
  void on_next_burst(Duration now, Duration keyed_max);
  void on_alive(Duration now);
  /// The owner has unkeyed, and the transmitter confirmed it.
  void on_unkeyed();

  /// None while unkeyed.
  std::optional<Duration> next_deadline() const;
  /// True when the transmitter is to be told, now, to unkey. Not only once: a call that keys may
  /// have been on its way, so it is repeated until the owner itself has unkeyed.
  bool on_deadline(Duration now);

  std::optional<KeyTrip> tripped() const { return tripped_; }

 private:
  struct Keyed {
    Duration limit_at{};
    Duration hangs_at{};
    Duration repeat_at{};  // once tripped
  };

  Config config_;
  std::optional<Keyed> keyed_;
  std::optional<KeyTrip> tripped_;
};

}  // namespace s5066::modem
