// SPDX-License-Identifier: Apache-2.0
// Files on their way from a command to the relay that runs: each lies in a folder of the spool,
// with its name and attributes in front, until the relay has taken it into the spool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::file_relay {

struct HandedFile {
  std::string name;
  std::int64_t mtime = 0;  // UTC seconds
  std::int64_t ctime = 0;  // UTC seconds; when it was renamed or written last
  std::uint16_t mode = 0;
  Bytes content;
};

class Handover {
 public:
  explicit Handover(const std::string& spool_directory) : folder_(spool_directory + "/handover") {}

  /// Writes the file for the owner of the spool, and returns the word by which the relay is told of
  /// it.
  Result<std::string> write(const HandedFile& file) const;
  Result<HandedFile> read(const std::string& word, std::size_t octets_max) const;
  void remove(const std::string& word) const;

 private:
  std::string folder_;
};

/// Reads a regular file. An error if it changes while it is read, or if it is a symbolic link that
/// is not to be followed.
Result<HandedFile> read_file_to_send(const std::string& path, std::size_t octets_max,
                                     bool follow = true);

/// One word of a request for any text, and back. Nothing if the word is no such text.
std::string to_percent(std::string_view text);
std::optional<std::string> from_percent(std::string_view word);

}  // namespace s5066::file_relay
