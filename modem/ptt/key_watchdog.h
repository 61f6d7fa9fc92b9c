// A key under guard: a thread of its own unkeys the transmitter when whoever keyed it hangs, in the
// device, in its own work, or in the call that moves the key (key_guard.h says when).
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
  /// `monotonic` is called by the owner and by the watchdog's thread.
  KeyWatchdog(const KeyGuard::Config& config, std::unique_ptr<Ptt> ptt,
              std::function<Duration()> monotonic);
  /// Unkeys what may be keyed.
  ~KeyWatchdog();
  KeyWatchdog(const KeyWatchdog&) = delete;
  KeyWatchdog& operator=(const KeyWatchdog&) = delete;

  // --- The owner's thread ---

  /// For `keyed_max` at most; unguarded without, where time is not that of any clock. Refused after
  /// a trip, until unkey() has succeeded and the watchdog is no longer unkeying.
  Result<void> key(std::optional<Duration> keyed_max);
  Result<void> unkey();
  /// What speaks for it, once that has succeeded.
  Result<Unkeyed> confirm_unkeyed() { return ptt_->confirm_unkeyed(); }
  /// While keyed and guarded: the key stays down for another burst, for `keyed_max` from now on.
  void next_burst(Duration keyed_max);
  /// To be called while keyed, more often than every KeyGuard::Config::hang_max.
  void alive();

  // --- Any thread ---

  std::optional<KeyTrip> tripped() const;
  /// When the watchdog will unkey; none while unkeyed or unguarded.
  std::optional<Duration> next_deadline() const;
  /// How often the watchdog told the transmitter to unkey, and how often that was an error.
  std::uint64_t releases() const;
  std::uint64_t release_failures() const;

 private:
  void run();

  std::unique_ptr<Ptt> ptt_;
  bool keyed_ = false;  // or perhaps so; the owner's
  std::function<Duration()> monotonic_;
  mutable std::mutex mutex_;  // guards all below; not held while the key is moved
  std::condition_variable wake_;
  KeyGuard guard_;
  bool releasing_ = false;  // it may come through late, and must not hit the next burst
  std::uint64_t releases_ = 0;
  std::uint64_t release_failures_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace s5066::modem
