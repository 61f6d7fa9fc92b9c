#include "modem/tools/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace s5066::modem::tools {
namespace {

Error errno_error(const std::string& path) {
  return Error{ErrorCode::io, path + ": " + std::strerror(errno)};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace

Result<Bytes> read_octets(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) return errno_error(path);
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
  if (std::ferror(file.get()) != 0) return errno_error(path);
  return bytes;
}

Result<void> write_octets(const std::string& path, ByteSpan bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return errno_error(path);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    return errno_error(path);
  }
  if (std::fclose(file.release()) != 0) return errno_error(path);
  return {};
}

}  // namespace s5066::modem::tools
