// SPDX-License-Identifier: Apache-2.0
// Writes configurations: never over another one unless that is wanted, and then with a copy of it.
#pragma once

#include <string>
#include <vector>

#include "config/setup/station_plan.h"
#include "s5066d/base/result.h"

namespace s5066::config {

enum class Written : std::uint8_t { fresh, unchanged, replaced };

struct WrittenFile {
  std::string path;
  Written how = Written::fresh;
  std::string copy;  // path of the copy of the replaced file
};

/// Returns the paths that exist with another content.
Result<std::vector<std::string>> files_in_the_way(const std::vector<PlannedFile>& files);

/// Writes all files, each whole or not at all. A file with another content is replaced, and its
/// copy is called NAME.before-STAMP. The folder is made if it does not exist.
Result<std::vector<WrittenFile>> write_configurations(const std::vector<PlannedFile>& files,
                                                      const std::string& stamp);

}  // namespace s5066::config
