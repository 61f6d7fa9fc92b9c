// SPDX-License-Identifier: Apache-2.0
// Files of octets for the modem tool. Every failure is a Result that names the file and the reason.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// The limit is above the longest useful transmission, so that a wrong path cannot fill the memory.
inline constexpr std::size_t kOctetsMax = 16U << 20;

/// Returns an error when both names are the same file, by any path, because writing would destroy
/// it before it is read. "-" as input is standard input.
Result<void> check_apart(const std::string& in, const std::string& out);

/// The path "-" is standard input.
Result<Bytes> read_octets(const std::string& path);

/// A file to which octets are written at once; it may be a pipe.
class OctetFile {
 public:
  /// Truncates an existing file. "-" is standard output.
  static Result<OctetFile> create(const std::string& path);
  Result<void> write(ByteSpan bytes);
  Result<void> close();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  OctetFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace s5066::modem::tools
