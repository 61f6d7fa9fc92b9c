// SPDX-License-Identifier: Apache-2.0
// Makes a folder for one test and removes it at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "s5066d/base/bytes.h"

namespace s5066::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    // The folder is in memory if possible, because synced data must survive only a simulated power
    // cut.
    const std::filesystem::path memory = "/dev/shm";
    const auto base =
        std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    std::string path = (base / "s5066-XXXXXX").string();
    path_ = ::mkdtemp(path.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path() const { return path_; }
  std::string make(const std::string& name) const {
    std::filesystem::create_directory(path_ / name);
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

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
