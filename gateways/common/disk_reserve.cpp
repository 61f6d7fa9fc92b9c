// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "s5066d/posix/fd.h"

namespace s5066::gateways {
namespace {

std::uint64_t octets_of(const std::string& path) {
  struct stat known {};
  if (::stat(path.c_str(), &known) != 0) return 0;
  // Only allocated blocks count, because a file with holes keeps no room.
  return static_cast<std::uint64_t>(known.st_blocks) * 512;
}

}  // namespace

bool DiskReserve::held() const {
  return octets_of(path_) >= octets_;
}

bool DiskReserve::has_room() const {
  const std::size_t name = path_.rfind('/');
  const std::string folder = name == std::string::npos ? "." : path_.substr(0, name + 1);
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return false;
  const std::uint64_t room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  return room + octets_of(path_) >= 2 * octets_;
}

bool DiskReserve::refill() {
  if (held()) return true;
  if (!has_room()) return false;
  const posix::Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return false;
  if (::posix_fallocate(file.get(), 0, static_cast<off_t>(octets_)) == 0 && held()) return true;
  release();
  return false;
}

bool DiskReserve::release() {
  if (octets_ == 0 || octets_of(path_) == 0) return false;
  return ::truncate(path_.c_str(), 0) == 0;
}

}  // namespace s5066::gateways
