// A SQLite file layer whose power can fail at the n-th change to a file, whose disk can be full,
// and which can fail to read once, or some place at all times. What was not synced by then may be
// lost, kept, or half of the last write kept.
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

  /// The power fails instead of the n-th change from now on, counted from 1.
  void cut_at(std::uint64_t change) { changes_left_ = change; }
  bool dead() const { return dead_; }
  /// Counts a change made elsewhere; true when the power fails instead of it.
  bool spend();
  /// Every write finds the disk full until this is taken back.
  void set_full(bool full) { full_ = full; }
  /// Every write finds the disk full as long as this file has octets.
  void set_full_beside(std::string file) { full_beside_ = std::move(file); }
  /// The n-th read from now on fails, counted from 1; those after it do not.
  void fail_read(std::uint64_t read) { reads_left_ = read; }
  bool read_failed() const { return reads_left_ == 0; }
  /// So many octets of the database file cannot be read from now on.
  void set_bad(std::uint64_t begin, std::uint64_t octets) { bad_ = {begin, begin + octets}; }

  /// Leaves the files as they are found when the power returns. All connections must be closed.
  void restore();

 private:
  friend struct PowerFileMethods;

  std::string name_;
  sqlite3_vfs vfs_;
  Unsynced unsynced_;
  std::optional<std::uint64_t> changes_left_;
  std::uint64_t reads_left_ = UINT64_MAX;  // 0: has failed
  std::pair<std::uint64_t, std::uint64_t> bad_{};
  bool dead_ = false;
  bool is_full() const;
  bool full_ = false;
  std::string full_beside_;
  std::map<std::string, Bytes> synced_;
  std::map<std::string, bool> seen_;
};

}  // namespace s5066::test
