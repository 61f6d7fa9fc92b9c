// SPDX-License-Identifier: Apache-2.0
// Reads a file that is handed to the relay, by an operator or by a watched directory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::file_relay {

struct HandedFile {
  std::string name;
  std::int64_t mtime = 0;  // UTC seconds
  std::int64_t ctime = 0;  // UTC seconds of the last change of name or content
  std::uint16_t mode = 0;
  Bytes content;
};

/// Reads a regular file. A file that changes while it is read is read again, three times in all;
/// then it is an error, as is a symbolic link that is not to be followed. `was_read` is called
/// after each time, for tests.
Result<HandedFile> read_file_to_send(const std::string& path, std::size_t octets_max,
                                     bool follow = true,
                                     const std::function<void()>& was_read = {});

}  // namespace s5066::file_relay
