// SPDX-License-Identifier: Apache-2.0
// The care of a running gateway for its spool: the lock against a second process, the recovery of a
// damaged spool at the start, copies while the gateway serves, and the end of the process when
// SQLite reports damage. Decision 0012.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gateways/common/backup_types.h"
#include "gateways/common/spool_backup.h"
#include "gateways/common/spool_recovery.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::gateways {

/// Call order: take(), then open the stores; start_backups() as soon as the gateway serves;
/// finish_backups() after the stores are closed. All but post_damage() is called on the thread that
/// runs `io`.
class SpoolKeeper {
 public:
  struct Config {
    std::string directory;
    std::string path;     // path of the database file in it
    std::string program;  // an error calls another process that has the spool "another PROGRAM"
    BackupSettings backup;
    std::uint64_t reserve_octets = 0;  // size of the file PATH.reserve
    /// SpoolRecovery::Config describes it.
    std::function<Result<void>(Database& fresh, SpoolReport& report)> review;
    /// Tells the operator of a recovery, which is in the log already. If it is empty, the log is
    /// enough.
    std::function<Result<void>(const SpoolReport& report)> tell{};
  };
  /// `end` ends the gateway, and is called once, after the first report of damage.
  SpoolKeeper(boost::asio::io_context& io, LogSink& log, Config config, std::function<void()> end);
  SpoolKeeper(const SpoolKeeper&) = delete;
  SpoolKeeper& operator=(const SpoolKeeper&) = delete;

  /// Locks the spool until this object ends, and recovers a damaged one. Fails with already_exists
  /// if another process has the spool, and with the errors of SpoolRecovery.
  Result<void> take();

  /// Makes copies from now on, if the settings name a directory for them.
  void start_backups();
  /// Finishes a copy that has begun, which may take longer than a service manager waits.
  void finish_backups() { backup_.reset(); }

  /// Ends the gateway because of this damage. Changes that are not committed by now are lost as in
  /// a power cut.
  void end_for_damage(const Error& damage);
  /// Does the same from any thread, or after the present event.
  void post_damage(const Error& damage);
  /// Returns the damage because of which the gateway ends: the first that was reported.
  const std::optional<Error>& damage() const { return damage_; }

 private:
  boost::asio::io_context& io_;
  LogSink& log_;
  Config config_;
  std::function<void()> end_;
  posix::Fd lock_;
  std::optional<Error> damage_;
  std::unique_ptr<BackupThread> backup_;
};

}  // namespace s5066::gateways
