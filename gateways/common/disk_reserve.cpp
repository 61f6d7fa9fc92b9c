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

bool DiskReserve::refill() {
  if (held()) return true;
  const posix::Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return false;
  struct statvfs disk {};
  const bool known = ::fstatvfs(file.get(), &disk) == 0;
  const std::uint64_t room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (!known || room + octets_of(path_) < 2 * octets_) return false;
  if (::posix_fallocate(file.get(), 0, static_cast<off_t>(octets_)) == 0 && held()) return true;
  release();
  return false;
}

bool DiskReserve::release() {
  if (octets_ == 0 || octets_of(path_) == 0) return false;
  return ::truncate(path_.c_str(), 0) == 0;
}

}  // namespace s5066::gateways
