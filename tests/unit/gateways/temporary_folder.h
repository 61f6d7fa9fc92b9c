// SPDX-License-Identifier: Apache-2.0
// Reads the files in the folders of a gateway.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "s5066d/base/bytes.h"
#include "tests/support/temporary_folder.h"

namespace s5066::test {

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Returns the files that an operator sees: names and contents.
inline std::map<std::string, Bytes> visible_files(const std::filesystem::path& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && entry.is_regular_file()) files[name] = read_file(entry.path());
  }
  return files;
}

}  // namespace s5066::test
