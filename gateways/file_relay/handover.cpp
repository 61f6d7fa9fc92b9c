// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/handover.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "s5066d/posix/fd.h"
#include "s5066d/posix/os_error.h"

namespace s5066::file_relay {
namespace {

using posix::os_error;

constexpr int kReadTries = 3;

Result<Bytes> read_whole(int fd, const std::string& path, std::size_t octets_max) {
  Bytes content;
  std::uint8_t buffer[65536];
  while (true) {
    const ssize_t octets = ::read(fd, buffer, sizeof buffer);
    if (octets < 0 && errno == EINTR) continue;
    if (octets < 0) return os_error(path);
    if (octets == 0) return content;
    append(content, ByteSpan(buffer, static_cast<std::size_t>(octets)));
    if (content.size() > octets_max) {
      return Error{ErrorCode::too_large,
                   path + " is larger than the limit of " + std::to_string(octets_max) + " octets"};
    }
  }
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

Result<HandedFile> read_file_to_send(const std::string& path, std::size_t octets_max, bool follow,
                                     const std::function<void()>& was_read) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW);
  for (int i = 0; i < kReadTries; ++i) {
    // O_NONBLOCK, because a FIFO would wait for a writer.
    const posix::Fd file(::open(path.c_str(), flags));
    if (!file) return os_error(path);
    struct stat before {};
    struct stat after {};
    if (::fstat(file.get(), &before) != 0) return os_error(path);
    if (S_ISDIR(before.st_mode)) return os_error(path, EISDIR);
    if (!S_ISREG(before.st_mode)) return Error{ErrorCode::io, path + ": Not a regular file"};
    auto content = read_whole(file.get(), path, octets_max);
    if (!content) return content.error();
    if (was_read) was_read();
    if (::fstat(file.get(), &after) != 0) return os_error(path);
    if (!is_same(before, after)) continue;
    HandedFile handed;
    handed.name = std::filesystem::path(path).filename().string();
    handed.mtime = before.st_mtim.tv_sec;
    handed.ctime = before.st_ctim.tv_sec;
    handed.mode = static_cast<std::uint16_t>(before.st_mode & 0777);
    handed.content = std::move(content).value();
    return handed;
  }
  return Error{ErrorCode::refused, path + ": the file changes while it is read"};
}

}  // namespace s5066::file_relay
