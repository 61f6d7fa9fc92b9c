// SPDX-License-Identifier: Apache-2.0
// This SQLite file layer can lose its power at the n-th change to a file, have a full disk, and
// fail to read once, or at some place at all times. Data that was not synced at a power failure may
// be lost, kept, or have half of its last write kept.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "s5066d/base/bytes.h"

namespace s5066::test {

class PowerVfs {
 public:
  enum class Unsynced { lost, kept, torn };

  explicit PowerVfs(Unsynced unsynced);
  ~PowerVfs();
  PowerVfs(const PowerVfs&) = delete;
  PowerVfs& operator=(const PowerVfs&) = delete;

  const char* name() const { return name_.c_str(); }

  /// Makes the power fail instead of the n-th change from now on, counted from 1.
  void cut_at(std::uint64_t change) { changes_left_ = change; }
  bool dead() const { return dead_; }
  /// Counts a change made elsewhere. Returns true if the power fails instead of it.
  bool spend();
  /// Notes that the file `from` was renamed by somebody else, and that this is on the disk.
  void rename(const std::string& from, const std::string& to);
  /// Makes every write find the disk full until this is taken back.
  void set_full(bool full) { full_ = full; }
  /// Makes every write find the disk full as long as this file has octets.
  void set_full_beside(std::string file) { full_beside_ = std::move(file); }
  /// Makes the n-th read from now on fail, counted from 1. Later reads work.
  void fail_read(std::uint64_t read) { reads_left_ = read; }
  bool read_failed() const { return reads_left_ == 0; }
  /// Makes `octets` octets of the database file unreadable from now on.
  void set_bad(std::uint64_t begin, std::uint64_t octets) { bad_ = {begin, begin + octets}; }

  /// Leaves the files as they are found when the power returns. All connections must be closed.
  void restore();

 private:
  friend struct PowerFileMethods;

  std::string name_;
  sqlite3_vfs vfs_;
  Unsynced unsynced_;
  std::optional<std::uint64_t> changes_left_;
  std::uint64_t reads_left_ = UINT64_MAX;  // 0: the read has failed
  std::pair<std::uint64_t, std::uint64_t> bad_{};
  bool dead_ = false;
  bool is_full() const;
  bool full_ = false;
  std::string full_beside_;
  std::map<std::string, Bytes> synced_;
  std::map<std::string, bool> seen_;
};

}  // namespace s5066::test
