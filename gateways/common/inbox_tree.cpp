// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/inbox_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "gateways/common/file_name.h"

namespace s5066::gateways {
namespace {

Error error_of(int code, const std::string& path) {
  const std::string what = path.empty() ? "the inbox" : path;
  if (code == ENOENT) return {ErrorCode::not_found, what + ": no such file"};
  if (code == ELOOP || code == ENOTDIR) {
    return {ErrorCode::refused, what + ": not a file or folder of the inbox"};
  }
  return {ErrorCode::io, what + ": " + std::strerror(code)};
}

InboxTree::Entry entry_of(const std::string& name, const struct stat& status) {
  return {.name = name,
          .size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
              S_ISDIR(status.st_mode) ? 0 : status.st_size, 0, UINT32_MAX)),
          .mtime = std::clamp<std::int64_t>(status.st_mtime, 0, UINT32_MAX),
          .folder = S_ISDIR(status.st_mode)};
}

bool is_shown(const struct stat& status) {
  return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

Result<Bytes> read_all(int fd, std::size_t octets_max, const std::string& path) {
  Bytes content;
  std::uint8_t buffer[65536];
  while (true) {
    const ssize_t octets = ::read(fd, buffer, sizeof buffer);
    if (octets < 0 && errno == EINTR) continue;
    if (octets < 0) return error_of(errno, path);
    if (octets == 0) return content;
    append(content, ByteSpan(buffer, static_cast<std::size_t>(octets)));
    if (content.size() > octets_max) {
      return Error{ErrorCode::too_large,
                   path + " is larger than " + std::to_string(octets_max) + " octets"};
    }
  }
}

}  // namespace

Result<std::vector<std::string>> InboxTree::names_of(const std::string& path) {
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at < path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    if (name[0] == '.' || name.find('\0') != std::string::npos) {
      return Error{ErrorCode::refused, "the path has a name that begins with a dot"};
    }
    if (names.size() == kDepthMax) return Error{ErrorCode::refused, "the path is too deep"};
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> InboxTree::safe_names(const std::string& path,
                                               const std::string& fallback) {
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    // True for an empty name, too.
    const bool only_dots = name.find_first_not_of('.') == std::string::npos;
    if (!only_dots) names.push_back(safe_file_name(name, fallback));
  }
  if (names.empty()) names.push_back(fallback);
  if (names.size() > kDepthMax) names.erase(names.begin(), names.end() - kDepthMax);
  return names;
}

Result<posix::Fd> InboxTree::open_folder(const std::vector<std::string>& names) const {
  posix::Fd folder(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return error_of(errno, "the inbox");
  for (const std::string& name : names) {
    posix::Fd next(
        ::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return error_of(errno, name);
    folder = std::move(next);
  }
  return folder;
}

Result<InboxTree::Place> InboxTree::place_of(const std::string& path) const {
  auto names = names_of(path);
  if (!names) return names.error();
  if (names->empty()) return Error{ErrorCode::refused, "the path names no file"};
  std::string name = std::move(names->back());
  names->pop_back();
  auto folder = open_folder(*names);
  if (!folder) return folder.error();
  return Place{std::move(folder).value(), std::move(name)};
}

Result<std::vector<InboxTree::Entry>> InboxTree::list(const std::string& path) const {
  const auto names = names_of(path);
  if (!names) return names.error();
  auto folder = open_folder(*names);
  if (!folder) return folder.error();
  const posix::Fd again(::openat(folder->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* listing = ::fdopendir(folder->get());
  if (listing == nullptr || !again) return error_of(errno, path);
  folder->release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(listing, &::closedir);
  std::vector<Entry> entries;
  while (const dirent* found = ::readdir(listing)) {
    if (found->d_name[0] == '.') continue;
    struct stat status {};
    if (::fstatat(again.get(), found->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!is_shown(status)) continue;
    if (entries.size() == kEntriesMax) {
      return Error{ErrorCode::too_large,
                   "the folder has more than " + std::to_string(kEntriesMax) + " entries"};
    }
    entries.push_back(entry_of(found->d_name, status));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

Result<InboxTree::Entry> InboxTree::stat(const std::string& path) const {
  const auto place = place_of(path);
  if (!place) return place.error();
  struct stat status {};
  if (::fstatat(place->folder.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return error_of(errno, path);
  }
  if (!is_shown(status)) return error_of(ELOOP, path);
  return entry_of(place->name, status);
}

Result<Bytes> InboxTree::read(const std::string& path, std::size_t octets_max) const {
  Bytes content;
  const auto entry = stat_and_read(path, octets_max, content);
  if (!entry) return entry.error();
  return content;
}

Result<InboxTree::Entry> InboxTree::stat_and_read(const std::string& path, std::size_t octets_max,
                                                  Bytes& content) const {
  const auto place = place_of(path);
  if (!place) return place.error();
  const posix::Fd file(::openat(place->folder.get(), place->name.c_str(),
                                O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return error_of(errno, path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return error_of(errno, path);
  if (!S_ISREG(status.st_mode)) return error_of(ELOOP, path);
  auto octets = read_all(file.get(), octets_max, path);
  if (!octets) return octets.error();
  content = std::move(octets).value();
  return entry_of(place->name, status);
}

Result<void> InboxTree::remove(const std::string& path) const {
  const auto place = place_of(path);
  if (!place) return place.error();
  struct stat status {};
  if (::fstatat(place->folder.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return error_of(errno, path);
  }
  if (!is_shown(status)) return error_of(ELOOP, path);
  const int flags = S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(place->folder.get(), place->name.c_str(), flags) != 0) {
    return error_of(errno, path);
  }
  if (::fsync(place->folder.get()) != 0) return error_of(errno, path);
  return {};
}

}  // namespace s5066::gateways
