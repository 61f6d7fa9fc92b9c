// SPDX-License-Identifier: Apache-2.0
#include "config/setup/configuration_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "config/load.h"
#include "s5066d/posix/fd.h"

namespace s5066::config {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFreshMode = 0644;  // whatever the umask of the operator is
constexpr mode_t kModeBits = 07777;
constexpr unsigned kCopiesMax = 100;  // limit of copies of one file at one time

Error failed(const std::string& path, int code) {
  return Error{ErrorCode::io, path + ": " + std::strerror(code)};
}

/// Returns the content; nothing if there is no such file.
Result<std::optional<std::string>> content_of(const std::string& path) {
  std::error_code ignored;
  if (fs::symlink_status(path, ignored).type() == fs::file_type::not_found) {
    return std::optional<std::string>();
  }
  if (!fs::is_regular_file(path, ignored)) {
    return Error{ErrorCode::io, path + ": this is no regular file"};
  }
  Problems problems(path);
  auto text = read_file(path, problems);
  if (!text) return Error{ErrorCode::io, to_string(problems.errors().front())};
  return text;
}

/// Gives the file the owner and the mode of the one that it replaces, or the usual mode.
Result<void> take_mode(const posix::Fd& file, const std::string& path,
                       const std::string& replaced) {
  struct stat old {};
  mode_t mode = kFreshMode;
  if (::stat(replaced.c_str(), &old) == 0) {
    mode = old.st_mode & kModeBits;
    if (::fchown(file.get(), old.st_uid, old.st_gid) != 0) return failed(path, errno);
  } else if (errno != ENOENT) {
    return failed(replaced, errno);
  }
  if (::fchmod(file.get(), mode) != 0) return failed(path, errno);
  return {};
}

Result<void> write_whole(const std::string& path, const std::string& text,
                         const std::string& replaced) {
  const posix::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failed(path, errno);
  if (auto taken = take_mode(file, path, replaced); !taken) return taken;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t octets = ::write(file.get(), text.data() + done, text.size() - done);
    if (octets < 0 && errno == EINTR) continue;
    if (octets < 0) return failed(path, errno);
    done += static_cast<std::size_t>(octets);
  }
  if (::fsync(file.get()) != 0) return failed(path, errno);
  return {};
}

/// Gives the file a second name, so that the first one always exists.
Result<std::string> keep_copy(const std::string& path, const std::string& stamp) {
  for (unsigned n = 1; n <= kCopiesMax; ++n) {
    const std::string copy = path + ".before-" + stamp + (n == 1 ? "" : "-" + std::to_string(n));
    if (::link(path.c_str(), copy.c_str()) == 0) return copy;
    if (errno != EEXIST) return failed(copy, errno);
  }
  return Error{ErrorCode::already_exists, path + ": too many copies of this moment"};
}

Result<WrittenFile> write_one(const PlannedFile& file, const std::string& stamp) {
  const auto before = content_of(file.path);
  if (!before) return before.error();
  if (*before == file.text) return WrittenFile{file.path, Written::unchanged, {}};
  const std::string fresh = file.path + ".new";
  ::unlink(fresh.c_str());  // a run that was cut off may have left the file
  if (auto written = write_whole(fresh, file.text, file.path); !written) {
    ::unlink(fresh.c_str());
    return written.error();
  }
  WrittenFile result{file.path, Written::fresh, {}};
  if (*before) {
    auto copy = keep_copy(file.path, stamp);
    if (!copy) {
      ::unlink(fresh.c_str());
      return copy.error();
    }
    result.how = Written::replaced;
    result.copy = *std::move(copy);
  }
  if (::rename(fresh.c_str(), file.path.c_str()) != 0) return failed(file.path, errno);
  return result;
}

}  // namespace

Result<std::vector<std::string>> files_in_the_way(const std::vector<PlannedFile>& files) {
  std::vector<std::string> paths;
  for (const PlannedFile& file : files) {
    const auto before = content_of(file.path);
    if (!before) return before.error();
    if (*before && **before != file.text) paths.push_back(file.path);
  }
  return paths;
}

Result<std::vector<WrittenFile>> write_configurations(const std::vector<PlannedFile>& files,
                                                      const std::string& stamp) {
  std::vector<WrittenFile> written;
  for (const PlannedFile& file : files) {
    std::error_code failure;
    fs::create_directories(fs::path(file.path).parent_path(), failure);
    if (failure) return failed(fs::path(file.path).parent_path().string(), failure.value());
    auto one = write_one(file, stamp);
    if (!one) return one.error();
    written.push_back(*std::move(one));
  }
  return written;
}

}  // namespace s5066::config
