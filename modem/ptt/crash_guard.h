// Unkeys when the process dies with the key down, however it dies: a second process, which holds
// nothing but the key and one end of a socket, sees the other end close. It also unkeys when the
// key stays down for longer than any burst, because the process has been stopped (SIGSTOP), its
// watchdog with it. For keys that stay as they are when their owner is gone (rigctld, CM108); a
// serial port drops its lines by itself. The second process is called s5066-unkey.
#pragma once

#include <memory>
#include <string>

#include "modem/ptt/ptt.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem {

class CrashGuardedPtt final : public Ptt {
 public:
  struct Config {
    /// Which key it is: the same text for the same key.
    std::string key;
    /// The second process unkeys until that was confirmed so many times on end: what keys may still
    /// be on its way in whatever moves the key.
    unsigned confirmations = 6;
    Duration retry = std::chrono::milliseconds(500);  // from one attempt to the next
    unsigned attempts_max = 240;                      // before it gives up
    Duration start_max = std::chrono::seconds(5);     // until it is ready
    /// Of one burst; longer than the watchdog of the process itself waits.
    Duration keyed_max = std::chrono::seconds(145);
  };

  /// `ptt` must be able to release() in a copy of this process that has one thread and none of the
  /// descriptors.
  CrashGuardedPtt(const Config& config, std::unique_ptr<Ptt> ptt)
      : config_(config), ptt_(std::move(ptt)) {}

  /// Does not key without a second process; one that is gone is replaced. already_exists, though
  /// unkeyed, while that of a process that died still unkeys the same key, and would any burst.
  Result<void> key(bool on) override;
  void on_next_burst() override { static_cast<void>(tell(true)); }
  Result<void> release() override { return ptt_->release(); }
  Result<Unkeyed> confirm_unkeyed() override { return ptt_->confirm_unkeyed(); }

 private:
  Result<void> start();
  Result<void> tell(bool on);
  [[noreturn]] void guard(int owner, int owners_end) const;
  void release_overdue() const;
  void unkey_until_confirmed() const;

  Config config_;
  posix::Fd guard_;  // outlives the key: closed behind it
  std::unique_ptr<Ptt> ptt_;
};

}  // namespace s5066::modem
