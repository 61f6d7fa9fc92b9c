// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/folder_watch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "s5066d/posix/os_error.h"

namespace s5066::file_relay {
namespace {

using posix::os_error;

namespace fs = std::filesystem;

Result<void> make_folder(const std::string& path) {
  struct stat status {};
  if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) return os_error(path);
  if (::lstat(path.c_str(), &status) != 0) return os_error(path);
  if (!S_ISDIR(status.st_mode)) return Error{ErrorCode::io, path + ": not a folder"};
  return {};
}

/// Makes a folder that only our user may write to, because its files are sent without a look at
/// them. An existing folder with another owner or wider rights is an error.
Result<void> make_own_folder(const std::string& path) {
  if (auto made = make_folder(path); !made) return made;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return os_error(path);
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{ErrorCode::refused, path + ": others may write into it"};
  }
  return {};
}

}  // namespace

/// Returns the regular files, without symbolic links and hidden names.
Result<std::map<std::string, FolderWatch::Seen>> FolderWatch::files_in(
    const std::string& directory) const {
  std::map<std::string, Seen> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    struct stat status {};
    if (name[0] == '.' || ::lstat(entry.path().c_str(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    files[name] = {status.st_size,
                   std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
    if (files.size() == 4 * kFilesPerLook) break;
  }
  if (error) return Error{ErrorCode::io, directory + ": " + error.message()};
  return files;
}

void FolderWatch::tell(const std::string& about, const Result<void>& done,
                       std::vector<std::string>& problems) {
  if (done) {
    told_.erase(about);
    return;
  }
  std::string& last = told_[about];
  if (last == done.error().detail) return;
  last = done.error().detail;
  problems.push_back(last);
}

Result<void> FolderWatch::send(const std::string& name, std::size_t octets_max,
                               const Accept& accept) {
  const std::string taken = folder_.directory + "/.sending/" + name;
  if (!accepted_.contains(name)) {
    const auto file = read_file_to_send(taken, octets_max, false);
    if (!file) return file.error();
    const bool tried = !tried_.insert(name).second;
    if (auto accepted = accept(folder_, *file, !looked_ || tried); !accepted) return accepted;
    tried_.erase(name);
    accepted_.insert(name);
  }
  if (!folder_.keep) {
    if (::unlink(taken.c_str()) != 0) return os_error(taken);
    accepted_.erase(name);
    return {};
  }
  const std::string sent = folder_.directory + "/sent";
  if (auto made = make_folder(sent); !made) return made;
  const std::string kept = sent + "/" + name;
  if (::rename(taken.c_str(), kept.c_str()) != 0) return os_error(kept);
  accepted_.erase(name);
  return {};
}

std::vector<std::string> FolderWatch::look(std::size_t octets_max, const Accept& accept) {
  std::vector<std::string> problems;
  const std::string sending = folder_.directory + "/.sending";
  const auto made = make_own_folder(sending);
  tell("", made, problems);
  if (!made) return problems;
  auto files = files_in(folder_.directory);
  tell("/", files ? Result<void>() : files.error(), problems);
  if (!files) return problems;
  std::size_t taken = 0;
  for (const auto& [name, now] : *files) {
    const auto before = seen_.find(name);
    if (before == seen_.end() || before->second != now || taken == kFilesPerLook) continue;
    const std::string to = sending + "/" + name;
    struct stat status {};
    if (::lstat(to.c_str(), &status) == 0) continue;  // another file of this name goes first
    ++taken;
    if (::rename((folder_.directory + "/" + name).c_str(), to.c_str()) != 0) {
      tell(name, os_error(name), problems);
    }
  }
  seen_ = std::move(files).value();
  const auto waiting = files_in(sending);
  if (!waiting) return problems;
  for (const auto& [name, now] : *waiting) tell(name, send(name, octets_max, accept), problems);
  if (waiting->size() < 4 * kFilesPerLook) {  // the list has all files of the folder
    std::erase_if(tried_, [&](const std::string& name) { return !waiting->contains(name); });
  }
  looked_ = true;
  return problems;
}

}  // namespace s5066::file_relay
