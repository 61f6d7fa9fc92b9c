// SPDX-License-Identifier: Apache-2.0
// A sound file with a corrected header, as libsndfile reads it. The header of a WAV file is
// corrected when a killed recorder left it unfinished, or when it has an impossible rate.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem {

class RepairedFile {
 public:
  /// Opens a file that can be read at any position. `rate` in samples/s replaces a rate in the
  /// header that no file can have. An error says that the file is missing, a directory or empty.
  static Result<RepairedFile> open(const std::string& path, std::optional<unsigned> rate);

  /// Returns true if the header says that no samples follow although there are some, as a killed
  /// recorder leaves it. Everything behind the header then counts as samples.
  bool unfinished() const { return unfinished_; }
  /// Returns true if the file begins like text, which is a frequent mistake.
  bool is_text() const;

  // SF_VIRTUAL_IO calls these; counts are in octets, and -1 is an error.
  std::int64_t length() const { return size_; }
  std::int64_t tell() const { return at_; }
  std::int64_t seek(std::int64_t offset, int whence);
  std::int64_t read(std::span<std::uint8_t> out);

 private:
  struct Patch {
    std::int64_t at = 0;
    std::array<std::uint8_t, 4> octets{};
  };

  RepairedFile(posix::Fd file, std::int64_t size) : file_(std::move(file)), size_(size) {}
  void look_at_header(std::optional<unsigned> rate);
  std::size_t read_at(std::int64_t at, std::span<std::uint8_t> out) const;
  void patch(std::int64_t at, std::uint32_t value);

  posix::Fd file_;
  std::int64_t size_;
  std::int64_t at_ = 0;
  std::vector<Patch> patches_;
  bool unfinished_ = false;
};

}  // namespace s5066::modem
