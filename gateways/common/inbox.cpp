// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/inbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "gateways/common/file_name.h"
#include "s5066d/posix/fd.h"
#include "s5066d/posix/os_error.h"

namespace s5066::gateways {
namespace {

using posix::os_error;

constexpr unsigned kSameNameMax = 100000;
constexpr unsigned kTemporaryTries = 1000;

struct Folders {
  posix::Fd inbox;
  posix::Fd temporary;
};

Result<Folders> open_folders(const std::string& directory, bool create_temporary) {
  posix::Fd inbox(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!inbox) return os_error("inbox " + directory);
  if (create_temporary && ::mkdirat(inbox.get(), Inbox::kTemporaryFolder, 0700) != 0 &&
      errno != EEXIST) {
    return os_error("inbox " + directory);
  }
  posix::Fd temporary(::openat(inbox.get(), Inbox::kTemporaryFolder,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!temporary) return os_error("inbox " + directory + "/" + Inbox::kTemporaryFolder);
  return Folders{std::move(inbox), std::move(temporary)};
}

bool write_all(int fd, ByteSpan content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

constexpr mode_t kModeUnknown = 0640;  // mode of a file if its sender does not give one

bool set_attributes(int fd, const Inbox::Attributes& attributes) {
  if (attributes.mode != 0) {
    const auto mode = static_cast<mode_t>((attributes.mode & 0777) | 0600);
    if (::fchmod(fd, mode) != 0) return false;
  }
  if (attributes.mtime == 0) return true;
  const timespec times[2] = {{0, UTIME_NOW}, {attributes.mtime, 0}};
  return ::futimens(fd, times) == 0;
}

/// Splits "a/b/c" into "a/b" and "c".
std::pair<std::string, std::string> split(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {{}, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

/// Opens a folder of the inbox. With `make` it makes those that are missing, and syncs where they
/// are.
Result<posix::Fd> open_inner(int inbox, const std::string& path, bool make) {
  posix::Fd folder(::openat(inbox, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return os_error(path);
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    const bool made = make && ::mkdirat(folder.get(), name.c_str(), 0750) == 0;
    if (made && ::fsync(folder.get()) != 0) return os_error(path);
    posix::Fd next(
        ::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      const bool never = errno == ELOOP || errno == ENOTDIR || errno == ENAMETOOLONG;
      return never ? Error{ErrorCode::unsupported, path + ": not a folder"} : os_error(path);
    }
    folder = std::move(next);
  }
  return folder;
}

// Returns 0, or an errno; EINVAL for a name that the file system refuses. File systems without an
// exclusive rename get a link and an unlink instead; a crash between the two leaves both names, and
// find_temporary then does the second step.
int rename_exclusive(const Folders& folders, const char* from, const char* to) {
  if (::renameat2(folders.temporary.get(), from, folders.inbox.get(), to, RENAME_NOREPLACE) == 0) {
    return 0;
  }
  const int renaming = errno;
  if (renaming == EILSEQ) return EINVAL;
  if (renaming != EINVAL && renaming != ENOSYS) return renaming;
  if (::linkat(folders.temporary.get(), from, folders.inbox.get(), to, 0) != 0) {
    return errno == EPERM ? renaming : errno;  // EPERM means a file system without links
  }
  return ::unlinkat(folders.temporary.get(), from, 0) == 0 ? 0 : errno;
}

}  // namespace

Result<void> Inbox::step(Step step, const std::string& what) {
  const int injected = hook_ ? hook_(step) : 0;
  if (injected != 0) return os_error(what, injected);
  return {};
}

Result<std::string> Inbox::write_temporary(ByteSpan content, const Attributes& attributes) {
  auto folders = open_folders(directory_, true);
  if (!folders) return folders.error();
  std::string name;
  posix::Fd file;
  for (unsigned i = 0; !file && i < kTemporaryTries; ++i) {
    name = std::to_string(next_number_++) + ".part";
    file = posix::Fd(::openat(folders->temporary.get(), name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kModeUnknown));
    if (!file && errno != EEXIST) break;
  }
  const std::string what = "inbox " + directory_;
  if (!file) return os_error(what);

  Result<void> done = step(Step::write, what);
  if (done && !write_all(file.get(), content)) done = os_error(what);
  if (done && !set_attributes(file.get(), attributes)) done = os_error(what);
  if (done) done = step(Step::sync_file, what);
  if (done && ::fsync(file.get()) != 0) done = os_error(what);
  if (done && ::fsync(folders->temporary.get()) != 0) done = os_error(what);
  if (!done) {
    ::unlinkat(folders->temporary.get(), name.c_str(), 0);
    return done.error();
  }
  return name;
}

Result<void> Inbox::set_temporary(const std::string& temporary_name, const Attributes& attributes) {
  auto folders = open_folders(directory_, false);
  if (!folders) return folders.error();
  const posix::Fd file(::openat(folders->temporary.get(), temporary_name.c_str(),
                                O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  const bool reset =
      file && ::fchmod(file.get(), kModeUnknown) == 0 && ::futimens(file.get(), nullptr) == 0;
  if (!reset || !set_attributes(file.get(), attributes) || ::fsync(file.get()) != 0) {
    return os_error("inbox " + directory_);
  }
  return {};
}

Result<Inbox::Temporary> Inbox::find_temporary(const std::string& temporary_name) {
  auto folders = open_folders(directory_, false);
  if (!folders) return folders.error();
  struct stat status {};
  if (::fstatat(folders->temporary.get(), temporary_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) ==
      0) {
    if (status.st_nlink < 2) return Temporary::present;
    // Linked but not unlinked when the power went: finish what rename_exclusive began.
    if (::unlinkat(folders->temporary.get(), temporary_name.c_str(), 0) != 0) {
      return os_error("inbox " + directory_);
    }
    return Temporary::absent;
  }
  if (errno != ENOENT) return os_error("inbox " + directory_);
  return Temporary::absent;
}

Result<std::string> Inbox::publish(const std::string& temporary_name, const std::string& name) {
  if (auto may = step(Step::rename, "inbox " + directory_); !may) return may.error();
  auto published = publish_as(temporary_name, name);
  if (!published && published.error().code == ErrorCode::unsupported) {
    std::string flat = name;
    std::replace(flat.begin(), flat.end(), '/', '_');
    if (flat.size() > kFileNameBytesMax) flat = split(name).second;
    return publish(temporary_name, flat);
  }
  const bool refused = !published && published.error().code == ErrorCode::bad_field;
  const std::string plain = without_colons(name);
  return refused && plain != name ? publish_as(temporary_name, plain) : published;
}

Result<std::string> Inbox::publish_as(const std::string& temporary_name, const std::string& name) {
  auto folders = open_folders(directory_, false);
  if (!folders) return folders.error();
  const std::string what = "inbox " + directory_;
  const auto [folder, own] = split(name);
  auto inner = open_inner(folders->inbox.get(), folder, true);
  if (!inner) return inner.error();
  folders->inbox = std::move(inner).value();
  for (unsigned number = 0; number < kSameNameMax; ++number) {
    const std::string taken = numbered_name(own, number);
    const int injected = name_hook_ ? name_hook_(taken) : 0;
    const int code = injected != 0
                         ? injected
                         : rename_exclusive(*folders, temporary_name.c_str(), taken.c_str());
    if (code == EEXIST) continue;
    if (code == EINVAL) return Error{ErrorCode::bad_field, what + " refuses the name " + taken};
    if (code != 0) return os_error(what, code);
    std::string whole = folder.empty() ? taken : folder + "/" + taken;
    if (auto durable = sync(whole); !durable) return durable.error();
    return whole;
  }
  return Error{ErrorCode::already_exists, what + ": too many files named " + name};
}

Result<void> Inbox::sync(const std::string& name) {
  auto folders = open_folders(directory_, false);
  if (!folders) return folders.error();
  const std::string folder = split(name).first;
  if (!folder.empty()) {
    // A folder that is not there has lost its file to somebody else.
    const auto inner = open_inner(folders->inbox.get(), folder, false);
    if (inner && ::fsync(inner->get()) != 0) return os_error("inbox " + directory_);
  }
  const std::string what = "inbox " + directory_;
  if (auto may = step(Step::sync_folder, what); !may) return may;
  if (::fsync(folders->inbox.get()) != 0) return os_error(what);
  if (::fsync(folders->temporary.get()) != 0) return os_error(what);
  return {};
}

Result<void> Inbox::remove_temporary(const std::string& temporary_name) {
  auto folders = open_folders(directory_, false);
  if (!folders) return folders.error();
  if (::unlinkat(folders->temporary.get(), temporary_name.c_str(), 0) != 0 && errno != ENOENT) {
    return os_error("inbox " + directory_);
  }
  return {};
}

Result<std::vector<std::string>> Inbox::temporaries() {
  auto folders = open_folders(directory_, true);
  if (!folders) return folders.error();
  DIR* listing = ::fdopendir(folders->temporary.get());
  if (listing == nullptr) return os_error("inbox " + directory_);
  folders->temporary.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(listing, &::closedir);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

Result<void> Inbox::check_writable() {
  const auto probe = write_temporary({});
  if (!probe) return probe.error();
  return remove_temporary(*probe);
}

}  // namespace s5066::gateways
