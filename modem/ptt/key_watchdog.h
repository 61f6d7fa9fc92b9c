// SPDX-License-Identifier: Apache-2.0
// A watched key. A thread of its own unkeys the transmitter when the owner of the key hangs in the
// device, in its own work or in the call that moves the key (key_guard.h decides when).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "modem/ptt/key_guard.h"
#include "modem/ptt/ptt.h"

namespace s5066::modem {

class KeyWatchdog {
 public:
  /// The owner and the thread of the watchdog call `monotonic`.
  KeyWatchdog(const KeyGuard::Config& config, std::unique_ptr<Ptt> ptt,
              std::function<Duration()> monotonic);
  /// Unkeys if the transmitter may be keyed.
  ~KeyWatchdog();
  KeyWatchdog(const KeyWatchdog&) = delete;
  KeyWatchdog& operator=(const KeyWatchdog&) = delete;

  // --- The owner's thread ---

  /// Keys for at most `keyed_max`. Without `keyed_max` the key is not watched, because in lockstep
  /// no clock measures the time. Keying is refused after a trip until unkey() has succeeded and the
  /// watchdog no longer unkeys.
  Result<void> key(std::optional<Duration> keyed_max);
  Result<void> unkey();
  /// Returns the evidence for the unkeying, once unkey() has succeeded.
  Result<Unkeyed> confirm_unkeyed() { return ptt_->confirm_unkeyed(); }
  /// While keyed and watched: the key stays down for another burst, for `keyed_max` from now on.
  void next_burst(Duration keyed_max);
  /// The owner must call this while keyed, more often than every KeyGuard::Config::hang_max.
  void alive();

  // --- Any thread ---

  std::optional<KeyTrip> tripped() const;
  /// Returns the time at which the watchdog will unkey; nothing while unkeyed or not watched.
  std::optional<Duration> next_deadline() const;
  /// Returns how often the watchdog told the transmitter to unkey, and how often that failed.
  std::uint64_t releases() const;
  std::uint64_t release_failures() const;

 private:
  void run();

  std::unique_ptr<Ptt> ptt_;
  bool keyed_ = false;  // the transmitter is or may be keyed; used by the owner only
  std::function<Duration()> monotonic_;
  mutable std::mutex mutex_;  // guards all below; it is not held while the key is moved
  std::condition_variable wake_;
  KeyGuard guard_;
  bool releasing_ = false;  // a late unkeying must not end the next burst
  std::uint64_t releases_ = 0;
  std::uint64_t release_failures_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace s5066::modem
