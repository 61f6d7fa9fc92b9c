#include "gateways/common/spool_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

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

}  // namespace s5066::gateways
