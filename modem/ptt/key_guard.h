// SPDX-License-Identifier: Apache-2.0
// Decides when a transmitter must be unkeyed by force: it was keyed longer than allowed, or its
// owner has shown no sign of life. KeyWatchdog is the thread that acts on it. Times may be those of
// any monotonic clock.
#pragma once

#include <cstdint>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066::modem {

enum class KeyTrip : std::uint8_t { too_long, owner_hangs };

class KeyGuard {
 public:
  struct Config {
    Duration hang_max = std::chrono::seconds(3);  // longest time without a sign of life while keyed
    // Unkeying is repeated at this interval until the owner has unkeyed.
    Duration repeat = std::chrono::milliseconds(500);
  };

  explicit KeyGuard(const Config& config) : config_(config) {}

  /// The owner is about to key for at most `keyed_max`.
  void on_keying(Duration now, Duration keyed_max);
  /// While keyed: another burst follows one that was sent in time, and has its own limit.
  void on_next_burst(Duration now, Duration keyed_max);
  void on_alive(Duration now);
  /// The owner has unkeyed and the transmitter has confirmed it.
  void on_unkeyed();

  /// Returns nothing while unkeyed.
  std::optional<Duration> next_deadline() const;
  /// Returns true when the transmitter must be told now to unkey. This repeats until the owner
  /// itself has unkeyed, because a call that keys may have been on its way.
  bool on_deadline(Duration now);

  std::optional<KeyTrip> tripped() const { return tripped_; }

 private:
  struct Keyed {
    Duration limit_at{};
    Duration hangs_at{};
    Duration repeat_at{};  // used once the guard has tripped
  };

  Config config_;
  std::optional<Keyed> keyed_;
  std::optional<KeyTrip> tripped_;
};

}  // namespace s5066::modem
