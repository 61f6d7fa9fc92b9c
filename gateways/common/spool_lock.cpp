// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/spool_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "gateways/common/migrations.h"
#include "s5066d/posix/user_name.h"

namespace s5066::gateways {

Result<posix::Fd> lock_spool(const std::string& directory, const std::string& other) {
  const std::string path = directory + "/lock";
  posix::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return Error{ErrorCode::io, "spool " + path + ": " + std::strerror(errno)};
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::already_exists,
                 "spool " + directory + " is in use by another " + other};
  }
  return lock;
}

Result<void> check_spool_writable(const std::string& directory) {
  for (const char* name : {"", "/spool.db", "/spool.db-wal", "/spool.db-shm", "/lock"}) {
    const std::string path = directory + name;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) continue;
    const int wanted = S_ISDIR(status.st_mode) ? W_OK | X_OK : W_OK | R_OK;
    if (::faccessat(AT_FDCWD, path.c_str(), wanted, AT_EACCESS) == 0) continue;
    const std::string user = posix::user_name(::geteuid());
    const std::string owner = posix::user_name(status.st_uid);
    return Error{ErrorCode::refused, "spool " + path + " belongs to " + owner +
                                         " and cannot be written by " + user +
                                         ": act as its owner by sudo, or, if " + user +
                                         " runs the service, chown -R " + user + ": " + directory};
  }
  return {};
}

// SQLite keeps user_version in octets 60 to 63 of the file. A service may have the spool open, so
// nothing but the file is read.
Result<void> check_spool_version(const std::string& directory) {
  constexpr off_t kVersionAt = 60;
  const std::string path = directory + "/spool.db";
  const posix::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<std::uint8_t, 4> octets{};
  if (!file || ::pread(file.get(), octets.data(), octets.size(), kVersionAt) != 4) return {};
  const std::uint32_t version = std::uint32_t{octets[0]} << 24 | std::uint32_t{octets[1]} << 16 |
                                std::uint32_t{octets[2]} << 8 | octets[3];
  const auto newest = static_cast<std::uint32_t>(migrations().back().number);
  if (version <= newest) return {};
  return Error{ErrorCode::unsupported, "spool " + path + " has form " + std::to_string(version) +
                                           " of a newer program, and this one knows forms up to " +
                                           std::to_string(newest) + ": install that program again"};
}

}  // namespace s5066::gateways
