// SPDX-License-Identifier: Apache-2.0
// Copies a spool at regular times while the gateway serves. Each copy is checked before older ones
// are deleted.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gateways/common/backup_types.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// Returns the path of the newest copy in the directory that is whole and has this version of the
/// schema. Returns an empty path if there is none.
std::string newest_sound_copy(const std::string& directory, int schema);

class SpoolBackup {
 public:
  /// `path` is the database file. Each spool needs a directory of its own, because names of copies
  /// do not tell the spool.
  SpoolBackup(std::string path, BackupSettings settings)
      : path_(std::move(path)), settings_(std::move(settings)) {}

  /// Makes a copy if the last one is old enough, and returns its path.
  Result<std::optional<std::string>> run(UtcSeconds now);

 private:
  Result<void> copy_to(const std::string& path) const;

  std::string path_;
  BackupSettings settings_;
};

/// Writes to the log that a copy was made, or why it was not.
void log_backup(LogSink& log, const Result<std::string>& made);

/// Asks for a copy every minute, and an hour after a failure, on a thread of its own.
class BackupThread {
 public:
  /// `done` is called on that thread for each copy and each failure.
  using Done = std::function<void(Result<std::string>)>;
  BackupThread(SpoolBackup backup, std::function<UtcSeconds()> now, Done done);
  /// A copy that has begun is finished first.
  ~BackupThread();
  BackupThread(const BackupThread&) = delete;
  BackupThread& operator=(const BackupThread&) = delete;

 private:
  void run();

  SpoolBackup backup_;
  std::function<UtcSeconds()> now_;
  Done done_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;  // the last member, because it uses all of the above
};

}  // namespace s5066::gateways
