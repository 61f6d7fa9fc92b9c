// SPDX-License-Identifier: Apache-2.0
// A gateway checks its spool at each start. If the spool is damaged, or a note beside it says so,
// every row that can still be read goes to a fresh spool, and the damaged one is put aside whole
// and never deleted. Decision 0012.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gateways/common/sqlite_store_db.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// The outcome of a recovery.
struct SpoolReport {
  /// Rows of `table` whose keys lie in this range could not be read.
  struct Gap {
    std::string table;
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  std::string damage;     // damage as the integrity check or the note said it
  std::string put_aside;  // folder with the damaged spool
  std::string backup;     // copy of the spool that helped; empty: there is none
  /// Set where a start before this one has recovered the spool and came to no end: the text of its
  /// report, and nothing below is known.
  std::string text_before;
  std::uint64_t rows = 0;
  std::vector<Gap> gaps;
  std::vector<std::string> lost;  // one line for the operator on each thing that was not saved
  std::vector<std::string> held;  // one line on each thing that waits for the operator

  /// True if rows of the table may have been lost.
  bool has_gap(const std::string& table) const;
  /// True if rows of the table with this key may have been lost.
  bool has_gap(const std::string& table, std::int64_t key) const;
};

/// Returns a time of day for names of files, such as 20261126T191500Z.
std::string stamp_of(UtcSeconds now);

/// Returns the report as text for the operator.
std::string to_text(const SpoolReport& report);
/// Writes the report to the log.
void log_report(LogSink& log, const SpoolReport& report);

class SpoolRecovery {
 public:
  /// A change of names in the folder of the spool.
  enum class Step { make_folder, move, link, sync_folder };

  struct Config {
    std::string path;  // path of the database file
    UtcSeconds now;
    /// Looks through the rows in the fresh spool before they count as saved: takes out each that is
    /// not as it was accepted, and adds to the report. All of it is in one commit.
    std::function<Result<void>(Database& fresh, SpoolReport& report)> review{};
    /// Tells the operator, before the fresh spool takes the place of the damaged one. It is called
    /// again with the next start if the power fails then.
    std::function<Result<void>(const SpoolReport& report)> tell{};
    /// The directory with copies of the spool; the newest sound one is the database `backup` for
    /// the review. If it is empty, there are no copies.
    std::string backups{};
    /// Size of the file PATH.reserve, which is released for a fresh spool.
    std::uint64_t reserve_octets = 0;
    std::int64_t read_errors_max_s = 600;  // longest wait for a disk that does not read
    const char* vfs = nullptr;             // a faulty file system in tests
    /// Tests are called before each step; false means that the power fails instead of it.
    std::function<bool(Step step, const std::string& from, const std::string& to)> hook{};
  };
  explicit SpoolRecovery(Config config);

  /// Returns no report if the spool is sound or missing. Call this in the process that has the
  /// spool to itself (lock_spool), before it opens the spool. After an error the damaged spool is
  /// still whole, and the next call begins anew or goes on.
  Result<std::optional<SpoolReport>> run();

 private:
  Result<std::optional<SpoolReport>> recover();
  Result<std::string> check();
  Result<void> wait_for_disk(const Error& error);
  Result<Database> open_damaged();
  Result<void> make_fresh(Database& old, SpoolReport& report);
  Result<void> review(Database& fresh, SpoolReport& report);
  Result<void> fill(Database& old, Database& fresh, SpoolReport& report);
  Result<void> exchange(const std::string& ready, const SpoolReport& report);
  Result<void> write_report(const SpoolReport& report) const;
  std::string read_report(const std::string& folder) const;
  Result<std::string> find_ready() const;
  Result<void> move(const std::string& from, const std::string& to);
  Result<void> sync_folder(const std::string& folder);
  std::string folder_for(const std::string& stamp) const;
  void remove_copies() const;

  Config config_;
  std::string directory_;
  std::string name_;
};

}  // namespace s5066::gateways
