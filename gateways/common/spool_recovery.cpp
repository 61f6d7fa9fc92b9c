// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/spool_recovery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <utility>

#include "gateways/common/damage_note.h"
#include "gateways/common/disk_reserve.h"
#include "gateways/common/spool_backup.h"
#include "gateways/common/table_copy.h"
#include "gateways/common/table_list.h"
#include "s5066d/posix/fd.h"

namespace s5066::gateways {
namespace {

namespace fs = std::filesystem;

// Names beside the database file. A file with the second one is a whole fresh spool, which is to
// take the place of the damaged one.
constexpr const char* kRecovering = ".recovering";
constexpr const char* kReady = ".recovered-";
constexpr const char* kPutAside = ".damaged-";
constexpr const char* kUnread = ".unread";
constexpr const char* kReading = ".reading";  // ending of a copy that has a whole first page
constexpr const char* kReport = ".report";

// This many numbers are left out if the last number of a table is not known.
constexpr std::int64_t kNumbersLeftOut = 10'000;
constexpr std::int64_t kAddressMax = std::numeric_limits<std::uint32_t>::max();

Error failed(const std::string& path) {
  const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::queue_full : ErrorCode::io;
  return {code, "spool " + path + ": " + std::strerror(errno)};
}

/// True if a finding of the integrity check means a page that the disk did not read.
bool is_read_error(const std::string& finding) {
  const auto at = finding.find("error code=");
  if (at == std::string::npos) return finding.find("failed to get page") != std::string::npos;
  const int code = std::atoi(finding.c_str() + at + std::strlen("error code="));
  return (code & 0xFF) == SQLITE_IOERR;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Result<std::vector<std::string>> tables_of(Database& fresh) {
  auto rows = fresh.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  if (!rows) return rows.error();
  return rows->collect([&] { return rows->text(0); });
}

/// Returns the last number that each table has given; empty if that cannot be read.
std::map<std::string, std::int64_t> last_numbers(Database& old) {
  std::map<std::string, std::int64_t> numbers;
  auto rows = old.prepare("SELECT name, seq FROM sqlite_sequence");
  while (rows) {
    const auto row = rows->step();
    if (!row) return {};
    if (!*row) break;
    numbers[rows->text(0)] = rows->integer(1);
  }
  return numbers;
}

/// Returns at least the last number of any table, from the rows that can be read.
std::int64_t guess_last_number(Database& old, const std::map<std::string, TableCopy>& copies) {
  std::int64_t last = 0;
  for (const auto& [table, copy] : copies) {
    if (!copy.has_row_numbers()) continue;
    auto row = old.prepare("SELECT max(" + copy.first_key() + ") FROM " + table + " NOT INDEXED");
    if (row && row->step()) last = std::max(last, row->integer(0));
  }
  return last + kNumbersLeftOut;
}

Result<std::int64_t> count_rows(Database& db, const std::string& table) {
  auto row = db.prepare("SELECT count(*) FROM " + table);
  if (!row) return row.error();
  if (auto found = row->step(); !found) return found.error();
  return row->integer(0);
}

/// Makes the fresh spool go on behind the last number, so that none is given twice.
Result<void> keep_numbers(Database& fresh, const std::map<std::string, std::int64_t>& known) {
  if (known.empty()) {
    auto done = fresh.prepare("UPDATE sqlite_sequence SET seq = seq + ?");
    return done ? done->bind(kNumbersLeftOut).run() : done.error();
  }
  for (const auto& [table, last] : known) {
    auto update = fresh.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?");
    if (!update) return update.error();
    if (auto done = update->bind(last).bind_text(table).run(); !done) return done;
    if (fresh.changes() > 0) continue;
    auto insert = fresh.prepare("INSERT INTO sqlite_sequence VALUES (?, ?)");
    if (!insert) return insert.error();
    if (auto done = insert->bind_text(table).bind(last).run(); !done) return done;
  }
  return {};
}

}  // namespace

std::string stamp_of(UtcSeconds now) {
  const std::time_t seconds = now.value;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

bool SpoolReport::has_gap(const std::string& table) const {
  return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) { return gap.table == table; });
}

bool SpoolReport::has_gap(const std::string& table, std::int64_t key) const {
  return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) {
    return gap.table == table && gap.first <= key && key <= gap.last;
  });
}

std::string to_text(const SpoolReport& report) {
  if (!report.text_before.empty()) return report.text_before;
  std::string text = "The spool was damaged: " + report.damage + "\nIt lies whole in " +
                     report.put_aside +
                     "\nRows moved to a new spool: " + std::to_string(report.rows) + "\n";
  if (!report.backup.empty()) text += "The last copy of the spool: " + report.backup + "\n";
  const auto list = [&](const std::string& title, const std::vector<std::string>& lines) {
    text += "\n" + title + (lines.empty() ? " nothing\n" : "\n");
    for (const std::string& line : lines) text += "- " + line + "\n";
  };
  list("Not saved:", report.lost);
  list("Held, because it may have been sent before:", report.held);
  if (report.gaps.empty()) return text;
  text += "\nRows that could not be read (table, first and last key):\n";
  for (const auto& gap : report.gaps) {
    text +=
        "- " + gap.table + " " + std::to_string(gap.first) + " " + std::to_string(gap.last) + "\n";
  }
  return text;
}

SpoolRecovery::SpoolRecovery(Config config)
    : config_(std::move(config)),
      directory_(fs::path(config_.path).parent_path().string()),
      name_(fs::path(config_.path).filename().string()) {}

void log_report(LogSink& log, const SpoolReport& report) {
  LogLine(log, LogLevel::error, "spool_recovered")
      .kv("reason", std::string_view(report.damage))
      .kv("put_aside", std::string_view(report.put_aside))
      .kv("backup", std::string_view(report.backup.empty() ? "none" : report.backup))
      .kv("rows", report.rows)
      .kv("lost", std::uint64_t{report.lost.size()})
      .kv("held", std::uint64_t{report.held.size()})
      .kv("report", std::string_view(report.put_aside + "/report.txt"));
  for (const std::string& line : report.lost) {
    LogLine(log, LogLevel::error, "spool_row_lost").kv("detail", std::string_view(line));
  }
  for (const std::string& line : report.held) {
    LogLine(log, LogLevel::error, "spool_row_held").kv("detail", std::string_view(line));
  }
}

Result<std::optional<SpoolReport>> SpoolRecovery::run() {
  auto report = recover();
  const bool full = !report && report.error().code == ErrorCode::queue_full;
  if (full && DiskReserve(config_.path + ".reserve", config_.reserve_octets).release()) {
    return recover();
  }
  return report;
}

Result<std::optional<SpoolReport>> SpoolRecovery::recover() {
  const auto ready = find_ready();
  if (!ready) return ready.error();
  if (!ready->empty()) {
    // The power failed while the damaged spool was put aside.
    SpoolReport report;
    report.damage = "found before the last start, which did not get to its end";
    report.put_aside = folder_for(ready->substr((config_.path + kReady).size()));
    report.text_before = read_report(report.put_aside);
    if (auto done = exchange(*ready, report); !done) return done.error();
    return std::optional(std::move(report));
  }
  if (!exists(config_.path)) return std::optional<SpoolReport>();
  SpoolReport report;
  auto damage = check();
  const bool unread = !damage;
  if (unread) {
    if (auto waited = wait_for_disk(damage.error()); !waited) return waited.error();
    damage = damage.error().detail;
  }
  // SQLite reports some damage that the integrity check does not find.
  if (damage->empty()) damage = noted_damage(config_.path);
  if (damage->empty()) return std::optional<SpoolReport>();
  report.damage = *damage;
  std::string stamp = stamp_of(config_.now);
  for (int i = 2; exists(folder_for(stamp)); ++i) {
    stamp = stamp_of(config_.now) + "-" + std::to_string(i);
  }
  report.put_aside = folder_for(stamp);
  auto old = open_damaged();
  const auto made = old ? make_fresh(*old, report) : old.error();
  remove_copies();
  if (!made) return made.error();
  if (unread && report.rows == 0) return Error{ErrorCode::io, report.damage};
  if (auto written = write_report(report); !written) return written.error();
  const std::string fresh = config_.path + kReady + stamp;
  if (auto done = move(config_.path + kRecovering, fresh); !done) return done.error();
  if (auto done = sync_folder(directory_); !done) return done.error();
  if (auto done = exchange(fresh, report); !done) return done.error();
  return std::optional(std::move(report));
}

// No other process writes into the old spool until it is put aside. Where the lock cannot be taken
// nobody else can write either. The damaged file is closed before it is copied, because
// closing the copied file would take the lock from the connection.
Result<Database> SpoolRecovery::open_damaged() {
  const TableList tables(config_.path);
  {
    auto old = Database::open({.path = config_.path, .vfs = config_.vfs});
    if (!old) return old.error();
    old->keep_files_as_they_are();
    static_cast<void>(old->execute("BEGIN IMMEDIATE"));
    if (tables.is_complete(*old)) return old;
  }
  const std::string copy = config_.path + kReading;
  if (auto copied = tables.copy_spool(copy); !copied) return copied.error();
  return Database::open({.path = copy});
}

void SpoolRecovery::remove_copies() const {
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    std::error_code none;
    fs::remove(config_.path + kReading + suffix, none);
  }
}

Result<void> SpoolRecovery::write_report(const SpoolReport& report) const {
  const std::string path = config_.path + kReport;
  const std::string text = to_text(report);
  const posix::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return failed(path);
  const auto written = ::write(file.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || ::fsync(file.get()) != 0) return failed(path);
  return {};
}

/// Returns the report of the start before, which is in one of two places.
std::string SpoolRecovery::read_report(const std::string& folder) const {
  for (const std::string& path : {config_.path + kReport, folder + "/report.txt"}) {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!text.empty()) return text;
  }
  return "The spool was damaged. It lies whole in " + folder + "\n";
}

std::string SpoolRecovery::folder_for(const std::string& stamp) const {
  return config_.path + kPutAside + stamp;
}

/// Returns the damage, or an empty text if the spool is sound. Returns an error if the disk does
/// not read, or another process has the spool.
Result<std::string> SpoolRecovery::check() {
  auto db = Database::open({.path = config_.path, .vfs = config_.vfs});
  if (!db) return db.error();
  db->keep_files_as_they_are();
  const auto as_text = [](const Error& error) -> Result<std::string> {
    if (error.code != ErrorCode::bad_checksum) return error;
    return error.detail;
  };
  auto rows = db->prepare("PRAGMA integrity_check(1)");
  if (!rows) return as_text(rows.error());
  const auto row = rows->step();
  if (!row) return as_text(row.error());
  std::string said = *row ? rows->text(0) : "no answer to the integrity check";
  std::replace(said.begin(), said.end(), '\n', ' ');
  if (is_read_error(said)) return Error{ErrorCode::io, said};
  if (said != "ok") return said;
  std::error_code none;
  fs::remove(config_.path + kUnread, none);
  return std::string();
}

// A disk may read again, so the service manager starts the service again and again for a while.
Result<void> SpoolRecovery::wait_for_disk(const Error& error) {
  if (error.code != ErrorCode::io) return error;
  const std::string path = config_.path + kUnread;
  std::int64_t since = 0;
  if (!(std::ifstream(path) >> since) || since > config_.now.value) {
    since = config_.now.value;
    std::ofstream(path) << since;
  }
  if (config_.now.value - since < config_.read_errors_max_s) return error;
  return {};
}

// --- The fresh spool -----------------------------------------------------------------------------

Result<void> SpoolRecovery::make_fresh(Database& old, SpoolReport& report) {
  const std::string path = config_.path + kRecovering;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    std::error_code none;
    fs::remove(path + suffix, none);
  }
  auto fresh = Database::open({.path = path, .vfs = config_.vfs});
  if (!fresh) return fresh.error();
  if (auto done = fresh->execute("PRAGMA synchronous = FULL"); !done) return done;
  std::int64_t version = 0;
  if (auto known = old.prepare("PRAGMA user_version"); known && known->step()) {
    version = known->integer(0);
  }
  if (version > newest_schema()) {
    return Error{ErrorCode::unsupported, "spool " + config_.path + " is of a newer version"};
  }
  const int schema = version > 0 ? static_cast<int>(version) : newest_schema();
  if (auto done = migrate(*fresh, path, schema); !done) return done;
  if (auto done = fill(old, *fresh, report); !done) return done;
  if (auto done = migrate(*fresh, path, newest_schema()); !done) return done;
  return config_.review ? review(*fresh, report) : Result<void>();
}

Result<void> SpoolRecovery::review(Database& fresh, SpoolReport& report) {
  report.backup = newest_sound_copy(config_.backups, newest_schema());
  if (!report.backup.empty()) {
    auto attach = fresh.prepare("ATTACH DATABASE ? AS backup");
    if (!attach) return attach.error();
    if (auto done = attach->bind_text(report.backup).run(); !done) return done;
  }
  auto transaction = Transaction::begin(fresh);
  if (!transaction) return transaction.error();
  if (auto done = config_.review(fresh, report); !done) return done;
  return transaction->commit();
}

Result<void> SpoolRecovery::fill(Database& old, Database& fresh, SpoolReport& report) {
  auto transaction = Transaction::begin(fresh);
  if (!transaction) return transaction.error();
  const auto tables = tables_of(fresh);
  if (!tables) return tables.error();
  std::map<std::string, TableCopy> copies;
  for (const std::string& table : *tables) {
    auto copy = TableCopy::of(fresh, table);
    if (!copy) return copy.error();
    copies.emplace(table, std::move(copy).value());
  }
  const auto numbers = last_numbers(old);
  std::int64_t last_number = 1;  // value for tables with one row
  for (const auto& [table, last] : numbers) last_number = std::max(last_number, last);
  if (numbers.empty()) last_number = guess_last_number(old, copies);
  for (auto& [table, copy] : copies) {
    if (auto done = fresh.execute(("DELETE FROM " + table).c_str()); !done) return done;
    const std::int64_t last = copy.has_row_numbers() ? last_number : kAddressMax;
    if (auto done = copy.run(old, fresh, {.first = 0, .last = last}); !done) return done;
    for (const auto& gap : copy.gaps()) report.gaps.push_back({table, gap.first, gap.last});
    const auto rows = count_rows(fresh, table);
    if (!rows) return rows.error();
    report.rows += static_cast<std::uint64_t>(*rows);
  }
  if (auto done = keep_numbers(fresh, numbers); !done) return done;
  return transaction->commit();
}

// --- Names ---------------------------------------------------------------------------------------

/// Returns the path of the whole fresh spool of a start that did not get to its end, or nothing.
Result<std::string> SpoolRecovery::find_ready() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const std::string path = entry.path().string();
    if (path.rfind(config_.path + kReady, 0) == 0) return path;
  }
  if (error) return Error{ErrorCode::io, "spool " + directory_ + ": " + error.message()};
  return std::string();
}

// Each step can be done again after a power cut, and the name of the spool is never without a file.
// The WAL goes first: beside the fresh spool it would be read into that.
Result<void> SpoolRecovery::exchange(const std::string& ready, const SpoolReport& report) {
  const std::string& folder = report.put_aside;
  const auto step = [&](Step kind, const std::string& from, const std::string& to) {
    return !config_.hook || config_.hook(kind, from, to);
  };
  const Error no_power{ErrorCode::io, "no power"};
  if (!step(Step::make_folder, folder, folder)) return no_power;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failed(folder);
  if (exists(config_.path + "-wal")) {
    const std::string wal = folder + "/" + name_ + "-wal";
    if (auto done = move(config_.path + "-wal", exists(wal) ? wal + "-2" : wal); !done) return done;
  }
  const std::string aside = folder + "/" + name_;
  if (!step(Step::link, config_.path, aside)) return no_power;
  if (::link(config_.path.c_str(), aside.c_str()) != 0 && errno != EEXIST) {
    // A file system without links has the spool under no name for a moment.
    if (errno != EPERM && errno != EOPNOTSUPP) return failed(aside);
    if (auto done = move(config_.path, aside); !done) return done;
  }
  const std::string text = config_.path + kReport;
  if (exists(text) && ::rename(text.c_str(), (folder + "/report.txt").c_str()) != 0) {
    return failed(folder);
  }
  if (auto done = sync_folder(folder); !done) return done;
  if (auto done = sync_folder(directory_); !done) return done;
  // The list of tables and the note belong to the damaged spool, so they are removed.
  forget_damage(config_.path);
  std::error_code none;
  fs::remove(config_.path + ".tables", none);
  if (auto told = config_.tell ? config_.tell(report) : Result<void>(); !told) return told;
  if (auto done = move(ready, config_.path); !done) return done;
  fs::remove(config_.path + "-shm", none);
  fs::remove(config_.path + kUnread, none);
  return sync_folder(directory_);
}

Result<void> SpoolRecovery::move(const std::string& from, const std::string& to) {
  if (config_.hook && !config_.hook(Step::move, from, to)) return Error{ErrorCode::io, "no power"};
  if (::rename(from.c_str(), to.c_str()) != 0) return failed(to);
  return {};
}

Result<void> SpoolRecovery::sync_folder(const std::string& folder) {
  if (config_.hook && !config_.hook(Step::sync_folder, folder, folder)) {
    return Error{ErrorCode::io, "no power"};
  }
  const posix::Fd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open || ::fsync(open.get()) != 0) return failed(folder);
  return {};
}

}  // namespace s5066::gateways
