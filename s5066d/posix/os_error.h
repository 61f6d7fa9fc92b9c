// SPDX-License-Identifier: Apache-2.0
// Errors of system calls.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "s5066d/base/result.h"

namespace s5066::posix {

/// Returns the error `io` of a system call about `what`, such as a path. Call at once after the
/// system call, because errno is read.
inline Error os_error(const std::string& what, int code = errno) {
  return {ErrorCode::io, what + ": " + std::strerror(code)};
}

}  // namespace s5066::posix
