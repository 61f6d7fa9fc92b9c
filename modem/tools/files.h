// Files of octets for the modem tool. Every failure is a Result that names the file and the reason.
#pragma once

#include <cstddef>
#include <string>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// More than the longest useful transmission; keeps a wrong path from filling the memory.
inline constexpr std::size_t kOctetsMax = 16U << 20;

Result<Bytes> read_octets(const std::string& path);
Result<void> write_octets(const std::string& path, ByteSpan bytes);

}  // namespace s5066::modem::tools
