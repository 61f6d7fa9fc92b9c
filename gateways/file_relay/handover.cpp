// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/handover.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>

#include "gateways/common/octet_reader.h"
#include "s5066d/posix/fd.h"
#include "s5066d/posix/os_error.h"

namespace s5066::file_relay {
namespace {

using posix::os_error;

constexpr std::size_t kNameOctetsMax = 255;
constexpr std::size_t kHeaderOctetsMax = 7 + kNameOctetsMax;
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

bool is_word(const std::string& word) {
  return !word.empty() && word.size() <= 32 && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

Result<std::string> Handover::write(const HandedFile& file) const {
  if (file.name.empty() || file.name.size() > kNameOctetsMax) {
    return Error{ErrorCode::bad_field, "the file name is empty or too long"};
  }
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return os_error(folder_);
  struct stat spool {};
  if (::stat((folder_ + "/..").c_str(), &spool) != 0) return os_error(folder_);
  const bool root = ::geteuid() == 0;
  if (root && ::lchown(folder_.c_str(), spool.st_uid, spool.st_gid) != 0) return os_error(folder_);
  std::random_device random;
  const std::string word = std::to_string(random()) + std::to_string(random() % 10000);
  const std::string path = folder_ + "/" + word;
  const posix::Fd out(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return os_error(path);
  if (root && ::fchown(out.get(), spool.st_uid, spool.st_gid) != 0) return os_error(path);
  Bytes octets;
  put_u32(octets, static_cast<std::uint32_t>(std::clamp<std::int64_t>(file.mtime, 0, UINT32_MAX)));
  put_u16(octets, file.mode);
  octets.push_back(static_cast<std::uint8_t>(file.name.size()));
  octets.insert(octets.end(), file.name.begin(), file.name.end());
  append(octets, file.content);
  ByteSpan left = octets;
  while (!left.empty()) {
    const ssize_t written = ::write(out.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error error = os_error(path);
      remove(word);
      return error;
    }
    left = left.subspan(static_cast<std::size_t>(written));
  }
  return word;
}

Result<HandedFile> Handover::read(const std::string& word, std::size_t octets_max) const {
  if (!is_word(word)) return Error{ErrorCode::bad_field, "no file was handed over by this name"};
  const std::string path = folder_ + "/" + word;
  const posix::Fd in(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!in) return os_error(path);
  auto octets = read_whole(in.get(), path, octets_max + kHeaderOctetsMax);
  if (!octets) return octets.error();
  gateways::OctetReader reader{ByteSpan(*octets)};
  HandedFile file;
  file.mtime = reader.u32();
  file.mode = reader.u16() & 0777;
  file.name = reader.text();
  if (!reader.ok()) return Error{ErrorCode::truncated, path};
  file.content = reader.rest();
  return file;
}

void Handover::remove(const std::string& word) const {
  if (is_word(word)) ::unlink((folder_ + "/" + word).c_str());
}

Result<HandedFile> read_file_to_send(const std::string& path, std::size_t octets_max, bool follow) {
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

std::string to_percent(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string word;
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet > 32 && octet < 127 && octet != '%') {
      word += c;
    } else {
      word += '%';
      word += kDigits[octet >> 4];
      word += kDigits[octet & 0xF];
    }
  }
  return word;
}

std::optional<std::string> from_percent(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    const auto octet = from_hex(word.substr(i + 1, 2));
    if (!octet || octet->size() != 1) return std::nullopt;
    text += static_cast<char>((*octet)[0]);
    i += 2;
  }
  return text;
}

}  // namespace s5066::file_relay
