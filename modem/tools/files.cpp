// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/files.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "s5066d/posix/fd.h"

namespace s5066::modem::tools {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace

Result<void> check_apart(const std::string& in, const std::string& out) {
  const std::string source = in == "-" ? "/dev/stdin" : in;
  std::error_code none;  // a file that does not exist is not the same file
  if (!std::filesystem::is_regular_file(source, none)) return {};
  if (!std::filesystem::equivalent(source, out, none)) return {};
  return Error{ErrorCode::bad_field, "--out would overwrite --in"};
}

Result<Bytes> read_octets(const std::string& path) {
  const File file(path == "-" ? ::fdopen(::dup(STDIN_FILENO), "rb")
                              : std::fopen(path.c_str(), "rb"));
  if (!file) return posix::errno_error(path);
  Bytes bytes;
  Bytes portion(1U << 16);
  while (const std::size_t count = std::fread(portion.data(), 1, portion.size(), file.get())) {
    if (bytes.size() + count > kOctetsMax) {
      return Error{ErrorCode::too_large,
                   path + ": more than " + std::to_string(kOctetsMax) + " octets"};
    }
    bytes.insert(bytes.end(), portion.begin(),
                 portion.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (std::ferror(file.get()) != 0) return posix::errno_error(path);
  return bytes;
}

Result<OctetFile> OctetFile::create(const std::string& path) {
  std::FILE* const file =
      path == "-" ? ::fdopen(::dup(STDOUT_FILENO), "wb") : std::fopen(path.c_str(), "wb");
  if (file == nullptr) return posix::errno_error(path);
  return OctetFile(path, file);
}

Result<void> OctetFile::write(ByteSpan bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size() ||
      std::fflush(file_.get()) != 0) {
    return posix::errno_error(path_);
  }
  return {};
}

Result<void> OctetFile::close() {
  if (std::fclose(file_.release()) != 0) return posix::errno_error(path_);
  return {};
}

}  // namespace s5066::modem::tools
