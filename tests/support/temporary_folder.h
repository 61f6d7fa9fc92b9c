// SPDX-License-Identifier: Apache-2.0
// Makes a folder for one test and removes it at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

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
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string make(const std::string& name) const {
    std::filesystem::create_directory(path_ / name);
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace s5066::test
