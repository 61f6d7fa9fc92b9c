// SPDX-License-Identifier: Apache-2.0
// One directory whose files are sent. A file is taken when two looks, a while apart, find it
// unchanged. It is moved into the hidden folder `.sending` before it is read, so that nobody writes
// into it, and deleted, or moved into the folder `sent`, when it is safe in the spool.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gateways/file_relay/handover.h"
#include "gateways/file_relay/relay_config.h"
#include "s5066d/base/result.h"

namespace s5066::file_relay {

class FolderWatch {
 public:
  static constexpr std::size_t kFilesPerLook = 50;
  static constexpr std::chrono::seconds kLookInterval{2};

  /// Puts a file into the spool for all stations of the folder. `maybe_again`: an earlier process
  /// or an earlier try may have done so for some.
  using Accept = std::function<Result<void>(const WatchFolder& folder, const HandedFile& file,
                                            bool maybe_again)>;

  explicit FolderWatch(WatchFolder folder) : folder_(std::move(folder)) {}

  /// Returns problems for the log, each once until it changes.
  std::vector<std::string> look(std::size_t octets_max, const Accept& accept);

 private:
  struct Seen {
    std::int64_t size = 0;
    std::int64_t mtime_ns = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  Result<std::map<std::string, Seen>> files_in(const std::string& directory) const;
  Result<void> send(const std::string& name, std::size_t octets_max, const Accept& accept);
  void tell(const std::string& about, const Result<void>& done, std::vector<std::string>& problems);

  WatchFolder folder_;
  std::map<std::string, Seen> seen_;
  std::map<std::string, std::string> told_;
  /// Names of files that are in the spool and not yet out of the folder.
  std::set<std::string> accepted_;
  std::set<std::string> tried_;  // names of files of which the spool did not take all copies
  bool looked_ = false;
};

}  // namespace s5066::file_relay
