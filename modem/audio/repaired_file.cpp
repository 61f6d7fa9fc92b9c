// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/repaired_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "modem/audio/file_rate.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kChunkHeader = 8;  // four letters and the size of the content
constexpr std::size_t kRiffHeader = 12;  // a chunk header and "WAVE"
constexpr std::size_t kFormatOctets = 16;
constexpr unsigned kChunksMax = 64;  // number of chunks examined before the samples
constexpr std::uint32_t kUnknownSize = 0xFFFFFFFF;
constexpr std::uint32_t kKnownSizeMax = kUnknownSize - 15;
constexpr std::size_t kTextOctets = 512;

std::uint32_t little_endian(std::span<const std::uint8_t> octets) {
  return static_cast<std::uint32_t>(octets[0]) | static_cast<std::uint32_t>(octets[1]) << 8 |
         static_cast<std::uint32_t>(octets[2]) << 16 | static_cast<std::uint32_t>(octets[3]) << 24;
}

/// A file may be longer than its header can say; the rest of it is not read.
std::uint32_t size_in_header(std::int64_t octets) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(octets, kKnownSizeMax));
}

bool has_letters(std::span<const std::uint8_t> octets, std::string_view letters) {
  return std::equal(letters.begin(), letters.end(), octets.begin());
}

bool is_text_octet(std::uint8_t octet) {
  return (octet >= 0x20 && octet != 0x7F) || octet == '\n' || octet == '\r' || octet == '\t';
}

}  // namespace

Result<RepairedFile> RepairedFile::open(const std::string& path, std::optional<unsigned> rate) {
  posix::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return posix::errno_error(path);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return posix::errno_error(path);
  if (S_ISDIR(about.st_mode)) return Error{ErrorCode::io, path + ": is a folder"};
  if (!S_ISREG(about.st_mode)) {
    return Error{ErrorCode::io, path + ": is not a regular file"};
  }
  if (about.st_size == 0) return Error{ErrorCode::io, path + ": the file is empty"};
  RepairedFile opened(std::move(file), about.st_size);
  opened.look_at_header(rate);
  return opened;
}

void RepairedFile::look_at_header(std::optional<unsigned> rate) {
  std::array<std::uint8_t, kRiffHeader> riff{};
  if (read_at(0, riff) < riff.size() || !has_letters(riff, "RIFF")) return;
  if (!has_letters(std::span(riff).subspan(kChunkHeader), "WAVE")) return;
  const std::uint32_t riff_size = little_endian(std::span(riff).subspan(4));
  auto at = static_cast<std::int64_t>(kRiffHeader);
  for (unsigned n = 0; n < kChunksMax; ++n) {
    std::array<std::uint8_t, kChunkHeader> chunk{};
    if (read_at(at, chunk) < chunk.size()) return;
    const std::uint32_t size = little_endian(std::span(chunk).subspan(4));
    const std::int64_t content = at + static_cast<std::int64_t>(kChunkHeader);
    if (has_letters(chunk, "fmt ") && size >= kFormatOctets && rate) {
      std::array<std::uint8_t, kFormatOctets> format{};
      if (read_at(content, format) < format.size()) return;
      const std::uint32_t octets_per_frame = format[12] | static_cast<unsigned>(format[13]) << 8;
      if (!check_file_rate(little_endian(std::span(format).subspan(4)))) {
        patch(content + 4, *rate);
        patch(content + 8, *rate * octets_per_frame);
      }
    }
    if (has_letters(chunk, "data")) {
      const bool nothing_follows =
          riff_size == 0 || riff_size == kUnknownSize ||
          static_cast<std::int64_t>(riff_size) <= content - static_cast<std::int64_t>(kChunkHeader);
      if (size != 0 || !nothing_follows || content >= size_) return;
      unfinished_ = true;
      patch(4, size_in_header(size_ - static_cast<std::int64_t>(kChunkHeader)));
      return patch(at + 4, size_in_header(size_ - content));
    }
    at = content + size + size % 2;
  }
}

void RepairedFile::patch(std::int64_t at, std::uint32_t value) {
  Patch made{.at = at};
  for (unsigned i = 0; i < 4; ++i) made.octets[i] = static_cast<std::uint8_t>(value >> (8 * i));
  patches_.push_back(made);
}

std::size_t RepairedFile::read_at(std::int64_t at, std::span<std::uint8_t> out) const {
  std::size_t count = 0;
  while (count < out.size()) {
    const ssize_t got = ::pread(file_.get(), out.data() + count, out.size() - count,
                                at + static_cast<std::int64_t>(count));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    count += static_cast<std::size_t>(got);
  }
  return count;
}

bool RepairedFile::is_text() const {
  std::array<std::uint8_t, kTextOctets> beginning{};
  const std::size_t count = read_at(0, beginning);
  return std::all_of(beginning.begin(), beginning.begin() + static_cast<std::ptrdiff_t>(count),
                     is_text_octet);
}

std::int64_t RepairedFile::seek(std::int64_t offset, int whence) {
  const std::int64_t from = whence == SEEK_CUR ? at_ : whence == SEEK_END ? size_ : 0;
  if (from + offset < 0) return -1;
  at_ = from + offset;
  return at_;
}

std::int64_t RepairedFile::read(std::span<std::uint8_t> out) {
  const std::size_t count = read_at(at_, out);
  for (const Patch& patch : patches_) {
    for (std::size_t i = 0; i < patch.octets.size(); ++i) {
      const std::int64_t place = patch.at + static_cast<std::int64_t>(i) - at_;
      if (place >= 0 && place < static_cast<std::int64_t>(count)) {
        out[static_cast<std::size_t>(place)] = patch.octets[i];
      }
    }
  }
  at_ += static_cast<std::int64_t>(count);
  return static_cast<std::int64_t>(count);
}

}  // namespace s5066::modem
