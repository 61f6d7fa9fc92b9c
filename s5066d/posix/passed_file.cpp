// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/passed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "s5066d/posix/os_error.h"

namespace s5066::posix {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

/// Takes the first descriptor of a message and closes the others.
void take_files(msghdr& message, PassedFile& passed) {
  if ((message.msg_flags & MSG_CTRUNC) != 0) passed.more = true;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t octets = part->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= octets; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + at, sizeof number);
      Fd file(number);
      if (passed.file) {
        passed.more = true;
      } else {
        passed.file = std::move(file);
      }
    }
  }
}

}  // namespace

Result<Fd> make_sealed_file(ByteSpan content) {
  Fd file(::memfd_create("s5066", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return os_error("memory file");
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return os_error("memory file");
    content = content.subspan(static_cast<std::size_t>(written));
  }
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return os_error("memory file");
  return file;
}

Result<Bytes> read_sealed_file(int file, std::size_t octets_max) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(file, &status) != 0) {
    return Error{ErrorCode::refused, "no descriptor of a sealed memory file came with it"};
  }
  if (static_cast<std::uint64_t>(status.st_size) > octets_max) {
    return Error{ErrorCode::too_large,
                 "the file is larger than the limit of " + std::to_string(octets_max) + " octets"};
  }
  Bytes content(static_cast<std::size_t>(status.st_size));
  for (std::size_t at = 0; at < content.size();) {
    // The sender shares the position of the descriptor, so it is not used.
    const ssize_t octets =
        ::pread(file, content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (octets < 0 && errno == EINTR) continue;
    if (octets < 0 && errno == EBADF) {
      return Error{ErrorCode::refused, "the descriptor is not open for reading"};
    }
    if (octets < 0) return os_error("memory file");
    if (octets == 0) return Error{ErrorCode::truncated, "memory file"};
    at += static_cast<std::size_t>(octets);
  }
  return content;
}

Result<std::size_t> send_with_file(int socket, ByteSpan bytes, int file) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof file)> control{};
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) {
      return Error{ErrorCode::link_down, "the peer closed the connection"};
    }
    return os_error("send");
  }
}

Result<std::size_t> receive_with_file(int socket, std::span<std::uint8_t> bytes,
                                      PassedFile& passed) {
  // Room for two, so that a second one is noticed and not silently dropped.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  iovec part{bytes.data(), bytes.size()};
  for (;;) {
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::size_t{0};
    if (got < 0 && errno != ECONNRESET) return os_error("receive");
    if (got <= 0) return Error{ErrorCode::link_down, "the peer closed the connection"};
    take_files(message, passed);
    return static_cast<std::size_t>(got);
  }
}

}  // namespace s5066::posix
