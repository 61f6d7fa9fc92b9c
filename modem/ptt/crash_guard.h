// SPDX-License-Identifier: Apache-2.0
// Unkeys when the process dies with the key down, however it dies. A second process holds only the
// key and one end of a socket, and notices that the other end closes. It also unkeys when the key
// stays down longer than any burst, because then the process has been stopped (SIGSTOP) and its
// watchdog with it. The guard is for keys that keep their state when their owner is gone (rigctld,
// CM108). A serial port drops its lines by itself. The second process is called s5066-unkey.
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
    /// This text identifies the key: two objects with the same key have the same text.
    std::string key;
    /// The second process unkeys until this many attempts in a row were confirmed, because a
    /// command to key may still be on its way in the program that moves the key.
    unsigned confirmations = 6;
    Duration retry = std::chrono::milliseconds(500);  // time between two attempts
    unsigned attempts_max = 240;  // the second process gives up after so many attempts
    Duration start_max = std::chrono::seconds(5);  // limit until the second process is ready
    /// This is the longest time of one burst. It is longer than the limit of the process's own
    /// watchdog.
    Duration keyed_max = std::chrono::seconds(145);
  };

  /// `ptt` must be able to release() in a copy of this process that has one thread and none of the
  /// descriptors.
  CrashGuardedPtt(const Config& config, std::unique_ptr<Ptt> ptt)
      : config_(config), ptt_(std::move(ptt)) {}

  /// Does not key without a second process; one that has ended is replaced. The result is
  /// already_exists, although the key was unkeyed, while the second process of a dead process still
  /// unkeys the same key, because it would end any burst.
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
  posix::Fd guard_;  // closed after the key, because it is declared before the key
  std::unique_ptr<Ptt> ptt_;
};

}  // namespace s5066::modem
