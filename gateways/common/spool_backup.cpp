// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/spool_backup.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "gateways/common/spool_recovery.h"
#include "gateways/common/sqlite_store_db.h"

namespace s5066::gateways {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBegin = "spool-";
constexpr const char* kEnd = ".db";
constexpr const char* kPartial = "partial";
constexpr auto kAskEvery = std::chrono::minutes(1);
constexpr auto kAskAfterFailure = std::chrono::hours(1);
// The free room must be this multiple of the size of the spool, so that a copy does not fill the
// disk.
constexpr std::uintmax_t kRoomFactor = 2;

Result<void> check(const std::string& path) {
  auto db = Database::open({.path = path});
  if (!db) return db.error();
  auto rows = db->prepare("PRAGMA integrity_check(1)");
  if (!rows) return rows.error();
  const auto row = rows->step();
  if (!row) return row.error();
  if (*row && rows->text(0) == "ok") return {};
  return Error{ErrorCode::bad_checksum, "the copy is damaged: " + rows->text(0)};
}

/// Names of copies, the oldest first.
std::vector<std::string> copies_in(const std::string& directory) {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBegin) && name.ends_with(kEnd)) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool has_schema(const std::string& path, int schema) {
  auto db = Database::open({.path = path});
  if (!db) return false;
  auto row = db->prepare("PRAGMA user_version");
  const auto found = row ? row->step() : row.error();
  return found && row->integer(0) == schema;
}

}  // namespace

std::string newest_sound_copy(const std::string& directory, int schema) {
  if (directory.empty()) return {};
  auto names = copies_in(directory);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const std::string path = directory + "/" + *name;
    if (check(path) && has_schema(path, schema)) return path;
  }
  return {};
}

Result<void> SpoolBackup::copy_to(const std::string& path) const {
  auto from = Database::open({.path = path_});
  if (!from) return from.error();
  auto to = Database::open({.path = path});
  if (!to) return to.error();
  return from->copy_to(*to);
}

// A clock that was put back makes the next copy due, because nobody knows the age of the last.
Result<std::optional<std::string>> SpoolBackup::run(UtcSeconds now) {
  const auto name_at = [](UtcSeconds at) { return kBegin + stamp_of(at) + kEnd; };
  auto known = copies_in(settings_.directory);
  const std::string due = name_at({now.value - settings_.interval_s});
  const std::string name = name_at(now);
  if (!known.empty() && known.back() > due && known.back() <= name) {
    return std::optional<std::string>();
  }
  std::error_code unknown;
  const auto room = fs::space(settings_.directory, unknown).available;
  if (!unknown && room / kRoomFactor < fs::file_size(path_, unknown)) {
    return Error{ErrorCode::queue_full,
                 settings_.directory + ": a copy needs a free disk of twice the spool"};
  }
  const std::string folder = settings_.directory + "/";
  const std::string partial = folder + kPartial;
  std::error_code none;
  const auto clear = [&] {
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) fs::remove(partial + suffix, none);
  };
  clear();
  auto made = copy_to(partial);
  if (made) made = check(partial);
  if (made) {
    std::error_code error;
    fs::rename(partial, folder + name, error);
    if (error) made = Error{ErrorCode::io, folder + name + ": " + error.message()};
  }
  if (!made) {
    clear();
    return made.error();
  }
  known = copies_in(settings_.directory);
  for (std::size_t i = 0; i + settings_.copies < known.size(); ++i) {
    if (known[i] != name) fs::remove(folder + known[i], none);
  }
  return std::optional(folder + name);
}

void log_backup(LogSink& log, const Result<std::string>& made) {
  if (made) {
    LogLine(log, LogLevel::info, "spool_backed_up").kv("file", std::string_view(*made));
  } else {
    LogLine(log, LogLevel::error, "spool_backup_failed")
        .kv("reason", std::string_view(made.error().detail));
  }
}

BackupThread::BackupThread(SpoolBackup backup, std::function<UtcSeconds()> now, Done done)
    : backup_(std::move(backup)),
      now_(std::move(now)),
      done_(std::move(done)),
      thread_([this] { run(); }) {}

BackupThread::~BackupThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_one();
  thread_.join();
}

void BackupThread::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const auto made = backup_.run(now_());
    if (!made) done_(made.error());
    if (made && *made) done_(**made);
    lock.lock();
    const auto wait = made ? std::chrono::minutes(kAskEvery) : kAskAfterFailure;
    stop_.wait_for(lock, wait, [this] { return stopping_; });
  }
}

}  // namespace s5066::gateways
