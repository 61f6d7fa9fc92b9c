// SPDX-License-Identifier: Apache-2.0
// The inbox with its folders as another station may see it: paths with '/' between names. No path
// leads out of the inbox: a name that begins with a dot, and a symbolic link anywhere in the path,
// are refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateways/common/inbox_types.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/posix/fd.h"

namespace s5066::gateways {

class InboxTree {
 public:
  using Entry = InboxItem;
  static constexpr std::size_t kDepthMax = 16;
  static constexpr std::size_t kEntriesMax = 100000;  // limit of a folder that is listed

  explicit InboxTree(std::string directory) : directory_(std::move(directory)) {}

  /// Returns files and folders in the order of their names. An empty path is the inbox.
  Result<std::vector<Entry>> list(const std::string& path) const;
  Result<Entry> stat(const std::string& path) const;
  Result<Bytes> read(const std::string& path, std::size_t octets_max) const;
  Result<Entry> stat_and_read(const std::string& path, std::size_t octets_max,
                              Bytes& content) const;
  /// Removes a file, or a folder that is empty.
  Result<void> remove(const std::string& path) const;

  /// Returns the safe names of a path from the air: each as safe_file_name() makes it, at most
  /// kDepthMax, without empty ones. At least one, which is `fallback` if nothing is left.
  static std::vector<std::string> safe_names(const std::string& path, const std::string& fallback);

 private:
  struct Place {
    posix::Fd folder;
    std::string name;
  };
  Result<posix::Fd> open_folder(const std::vector<std::string>& names) const;
  Result<Place> place_of(const std::string& path) const;
  static Result<std::vector<std::string>> names_of(const std::string& path);

  std::string directory_;
};

}  // namespace s5066::gateways
