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

/// More than the longest useful transmission; keeps a wrong path from filling the memory.
inline constexpr std::size_t kOctetsMax = 16U << 20;

/// An error where both names are of one file, by whatever path, which writing would destroy before
/// it is read. "-" to read is standard input.
Result<void> check_apart(const std::string& in, const std::string& out);

/// "-" is standard input.
Result<Bytes> read_octets(const std::string& path);

/// A file that holds all it was given, as soon as it was given; it may be a pipe.
class OctetFile {
 public:
  /// Empties what is there. "-" is standard output.
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
