// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/table_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "s5066d/posix/fd.h"

namespace s5066::gateways {
namespace {

namespace fs = std::filesystem;

// Unit of the copy; a unit that the disk does not read is left out.
constexpr std::size_t kCopyOctets = 4096;

// Places in the first page of a database (sqlite.org/fileformat.html).
constexpr std::size_t kWriteVersionAt = 18;
constexpr std::size_t kReadVersionAt = 19;
constexpr std::size_t kPagesAt = 28;
constexpr std::size_t kSchemaFormatAt = 44;
constexpr std::size_t kEncodingAt = 56;
constexpr std::size_t kHeaderOctets = 100;

Error failed(const std::string& path) {
  const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::queue_full : ErrorCode::io;
  return {code, path + ": " + std::strerror(errno)};
}

void remove_database(const std::string& path) {
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    std::error_code none;
    fs::remove(path + suffix, none);
  }
}

/// Octets that the disk does not read are zeros in the copy.
Result<void> copy_file(const std::string& from, const std::string& to) {
  const posix::Fd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) return failed(from);
  const posix::Fd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!out) return failed(to);
  Bytes piece(kCopyOctets);
  for (off_t at = 0;; at += static_cast<off_t>(kCopyOctets)) {
    ssize_t octets = ::pread(in.get(), piece.data(), piece.size(), at);
    if (octets == 0) return {};
    if (octets < 0) {
      struct stat status {};
      if (::fstat(in.get(), &status) != 0 || at >= status.st_size) return failed(from);
      octets = static_cast<ssize_t>(std::min<off_t>(status.st_size - at, kCopyOctets));
      std::fill(piece.begin(), piece.end(), std::uint8_t{0});
    }
    if (::pwrite(out.get(), piece.data(), static_cast<std::size_t>(octets), at) != octets) {
      return failed(to);
    }
  }
}

void put_big_endian(Bytes& page, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i)
    page[at + i] = static_cast<std::uint8_t>(value >> 8 * (3 - i));
}

Result<std::int64_t> number(Database& db, const char* sql) {
  auto row = db.prepare(sql);
  if (!row) return row.error();
  const auto found = row->step();
  if (!found) return found.error();
  return row->integer(0);
}

}  // namespace

Result<TableList::Content> TableList::read(const std::string& path, const std::string& table) {
  auto db = Database::open({.path = path});
  if (!db) return db.error();
  Content content;
  const auto page_octets = number(*db, "PRAGMA page_size");
  const auto version = number(*db, "PRAGMA user_version");
  if (!page_octets || !version) return page_octets ? version.error() : page_octets.error();
  content.page_octets = *page_octets;
  content.version = *version;
  auto rows = db->prepare("SELECT type, name, tbl_name, coalesce(sql, ''), rootpage FROM " + table +
                          " WHERE type IN ('table', 'index') ORDER BY rowid");
  if (!rows) return rows.error();
  const auto done = rows->each([&] {
    content.rows.push_back(
        {rows->text(0), rows->text(1), rows->text(2), rows->text(3), rows->integer(4)});
  });
  if (!done) return done.error();
  return content;
}

// A list that is not right any more is worse than none, because rows would be read as those of
// another table.
Result<void> TableList::keep() const {
  const auto now = read(spool_, "sqlite_schema");
  if (!now) return now.error();
  if (fs::exists(file_)) {
    if (const auto before = kept(); before && *before == *now) return {};
  }
  remove_database(file_);
  const std::string fresh = file_ + "-new";
  remove_database(fresh);
  auto done = write(fresh, *now);
  if (done && ::rename(fresh.c_str(), file_.c_str()) != 0) done = failed(file_);
  if (!done) remove_database(fresh);
  return done;
}

Result<void> TableList::write(const std::string& path, const Content& content) {
  auto db = Database::open({.path = path});
  if (!db) return db.error();
  for (const std::string& sql :
       {"PRAGMA page_size = " + std::to_string(content.page_octets),
        "PRAGMA user_version = " + std::to_string(content.version),
        std::string("CREATE TABLE list (type, name, tbl_name, sql, rootpage)")}) {
    if (auto done = db->execute(sql.c_str()); !done) return done;
  }
  auto transaction = Transaction::begin(*db);
  if (!transaction) return transaction.error();
  for (const auto& row : content.rows) {
    auto put = db->prepare("INSERT INTO list VALUES (?, ?, ?, ?, ?)");
    if (!put) return put.error();
    put->bind_text(row.type).bind_text(row.name).bind_text(row.table).bind_text(row.sql);
    if (auto done = put->bind(row.root).run(); !done) return done;
  }
  return transaction->commit();
}

bool TableList::is_complete(Database& spool) const {
  if (!fs::exists(file_)) return true;
  const auto list = kept();
  if (!list) return true;
  if (const auto version = number(spool, "PRAGMA user_version");
      version && *version != list->version) {
    return true;
  }
  return std::all_of(list->rows.begin(), list->rows.end(), [&](const auto& row) {
    return row.type != "table" || spool.prepare("SELECT 1 FROM " + row.name + " NOT INDEXED");
  });
}

// The WAL may have the first page and the list as they were written last, so it is read before the
// list is put in.
Result<void> TableList::copy_spool(const std::string& copy) const {
  const auto list = kept();
  if (!list) return list.error();
  remove_database(copy);
  if (auto done = copy_file(spool_, copy); !done) return done;
  if (fs::exists(spool_ + "-wal")) {
    if (auto done = copy_file(spool_ + "-wal", copy + "-wal"); !done) return done;
    if (auto done = put_first_page(copy, *list, true); !done) return done;
    auto db = Database::open({.path = copy});
    if (!db) return db.error();
    if (const auto read = number(*db, "PRAGMA user_version"); !read) return read.error();
  }
  {
    auto db = Database::open({.path = copy});
    if (!db) return db.error();
    const bool read = fs::file_size(copy) > 0 && number(*db, "PRAGMA user_version");
    if (read && is_complete(*db)) return {};
  }
  for (const char* suffix : {"-journal", "-wal", "-shm"}) {
    std::error_code none;
    fs::remove(copy + suffix, none);
  }
  if (auto done = put_first_page(copy, *list, false); !done) return done;
  return put_rows(copy, *list);
}

/// Puts the first page of an empty database where that of the copy is.
Result<void> TableList::put_first_page(const std::string& copy, const Content& content, bool wal) {
  const std::string empty = copy + "-empty";
  remove_database(empty);
  {
    auto db = Database::open({.path = empty});
    if (!db) return db.error();
    for (const std::string& sql : {"PRAGMA page_size = " + std::to_string(content.page_octets),
                                   "PRAGMA user_version = " + std::to_string(content.version)}) {
      if (auto done = db->execute(sql.c_str()); !done) return done;
    }
  }
  Bytes page(static_cast<std::size_t>(content.page_octets));
  const posix::Fd from(::open(empty.c_str(), O_RDONLY | O_CLOEXEC));
  const posix::Fd to(::open(copy.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!from || !to || ::fstat(to.get(), &status) != 0) return failed(copy);
  const auto octets = ::pread(from.get(), page.data(), page.size(), 0);
  if (octets < static_cast<ssize_t>(kHeaderOctets)) return failed(empty);
  page[kWriteVersionAt] = page[kReadVersionAt] = wal ? 2 : 1;
  const auto pages = std::max<std::int64_t>(1, status.st_size / content.page_octets);
  put_big_endian(page, kPagesAt, static_cast<std::uint32_t>(pages));
  put_big_endian(page, kSchemaFormatAt, 4);
  put_big_endian(page, kEncodingAt, 1);  // UTF-8
  const auto written = ::pwrite(to.get(), page.data(), page.size(), 0);
  remove_database(empty);
  return written == static_cast<ssize_t>(page.size()) ? Result<void>() : failed(copy);
}

/// The first page says that no page of the copy is free, so SQLite puts these rows on pages behind
/// all others.
Result<void> TableList::put_rows(const std::string& copy, const Content& content) {
  auto db = Database::open({.path = copy});
  if (!db) return db.error();
  if (auto done = db->execute("PRAGMA writable_schema = ON"); !done) return done;
  auto transaction = Transaction::begin(*db);
  if (!transaction) return transaction.error();
  for (const auto& row : content.rows) {
    auto put = db->prepare(
        "INSERT INTO sqlite_schema (type, name, tbl_name, sql, rootpage) VALUES (?, ?, ?, "
        "nullif(?, ''), ?)");
    if (!put) return put.error();
    put->bind_text(row.type).bind_text(row.name).bind_text(row.table).bind_text(row.sql);
    if (auto done = put->bind(row.root).run(); !done) return done;
  }
  return transaction->commit();
}

void keep_table_list(LogSink& log, const std::string& spool) {
  const auto kept = TableList(spool).keep();
  if (kept) return;
  LogLine(log, LogLevel::warning, "spool_tables_not_kept")
      .kv("reason", std::string_view(kept.error().detail));
}

}  // namespace s5066::gateways
